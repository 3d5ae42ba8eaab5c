#pragma once
// CUDA's resources under RAII. Internal to gpu/kernels, and only where the build has CUDA.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "core/util/error.h"

namespace difr::gpu::kernels {

inline void check_cuda(int code, const char* what) {
  if (code == cudaSuccess) return;
  throw environment_error("CUDA", std::string(what) + " failed: " + cudaGetErrorString(static_cast<cudaError_t>(code)),
                          "use --device cpu, or smaller chunks when memory ran out");
}

enum class MemoryPlace : std::uint8_t { device, pinned };

/// Grows, never shrinks; what it held is lost when it grows.
template <class T, MemoryPlace place>
class CudaBuffer {
 public:
  CudaBuffer() = default;
  CudaBuffer(CudaBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}
  CudaBuffer& operator=(CudaBuffer&&) = delete;
  ~CudaBuffer() { release(); }

  T* reserve(std::size_t count) {
    if (count <= capacity_) return data_;
    release();
    void* memory = nullptr;
    if constexpr (place == MemoryPlace::device) {
      check_cuda(cudaMalloc(&memory, count * sizeof(T)), "allocating device memory");
    } else {
      check_cuda(cudaMallocHost(&memory, count * sizeof(T)), "allocating pinned memory");
    }
    data_ = static_cast<T*>(memory);
    capacity_ = count;
    return data_;
  }
  [[nodiscard]] T* data() const { return data_; }

 private:
  void release() {
    if constexpr (place == MemoryPlace::device) {
      cudaFree(data_);
    } else {
      cudaFreeHost(data_);
    }
    data_ = nullptr;
    capacity_ = 0;
  }
  T* data_ = nullptr;
  std::size_t capacity_ = 0;
};

/// The same records on both sides.
template <class T>
class MirroredBuffer {
 public:
  /// Room on both sides; returns the pinned one.
  T* reserve(std::size_t count) {
    device_.reserve(count);
    return pinned_.reserve(count);
  }
  void to_device(std::size_t count, cudaStream_t stream) {
    check_cuda(cudaMemcpyAsync(device_.data(), pinned_.data(), count * sizeof(T), cudaMemcpyHostToDevice, stream),
               "copying to the device");
  }
  void to_host(std::size_t count, cudaStream_t stream) {
    check_cuda(cudaMemcpyAsync(pinned_.data(), device_.data(), count * sizeof(T), cudaMemcpyDeviceToHost, stream),
               "copying from the device");
  }
  [[nodiscard]] T* device() const { return device_.data(); }
  [[nodiscard]] T* pinned() const { return pinned_.data(); }
  [[nodiscard]] std::span<const T> host(std::size_t count) const { return {pinned_.data(), count}; }

 private:
  CudaBuffer<T, MemoryPlace::device> device_;
  CudaBuffer<T, MemoryPlace::pinned> pinned_;
};

class CudaStream {
 public:
  CudaStream() { check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() { cudaStreamDestroy(stream_); }
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void wait() const { check_cuda(cudaStreamSynchronize(stream_), "waiting for the device"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class CudaEvent {
 public:
  CudaEvent() { check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "creating an event"); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() { cudaEventDestroy(event_); }
  /// What is queued on `first` so far comes before what is queued on `then` from now on.
  void order(cudaStream_t first, cudaStream_t then) const {
    check_cuda(cudaEventRecord(event_, first), "recording an event");
    check_cuda(cudaStreamWaitEvent(then, event_, 0), "waiting for an event");
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace difr::gpu::kernels
