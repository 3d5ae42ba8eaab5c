// The passes on a CUDA device: one block of threads for each row. The algorithm is row_pass.h and cut_search.h, which
// the twin runs as well; here is only what a block is.

#include "gpu/kernels/cut_search.h"
#include "gpu/kernels/launch.h"
#include "gpu/kernels/row_pass.h"

namespace difr::gpu::kernels {
namespace {

struct CudaBlock {
  template <class T>
  struct Registers {
    T value;
    __device__ T& operator[](int) { return value; }
  };

  template <class F>
  __device__ void each(F f) {
    f(static_cast<int>(threadIdx.x));
    __syncthreads();
  }
  /// Every thread has read the value before any goes on to change it.
  template <class T>
  __device__ T uniform(const T& shared) {
    const T value = shared;
    __syncthreads();
    return value;
  }
  __device__ int add(int& shared, int amount) { return atomicAdd(&shared, amount); }
  __device__ std::uint32_t add(std::uint32_t& shared, std::uint32_t amount) { return atomicAdd(&shared, amount); }
  __device__ void add(std::uint64_t& shared, std::uint64_t amount) {
    static_assert(sizeof(std::uint64_t) == sizeof(unsigned long long));
    atomicAdd(reinterpret_cast<unsigned long long*>(&shared), static_cast<unsigned long long>(amount));
  }
};

template <class Logit>
__global__ void __launch_bounds__(kThreads) row_kernel(DeviceRows rows, const RowTask* tasks, int top_m,
                                                       RowReport* reports, std::int32_t* top_ids, float* top_logits) {
  // Raw bytes: shared memory may not be initialised, and reports have default values.
  __shared__ alignas(RowShared) unsigned char memory[sizeof(RowShared)];
  auto& shared = *reinterpret_cast<RowShared*>(memory);
  CudaBlock block;
  const RowTask task = tasks[blockIdx.x];
  const auto at = static_cast<std::int64_t>(blockIdx.x) * top_m;
  row_pass(block, shared, static_cast<const Logit*>(rows.data) + task.row * rows.stride, rows.vocab, task, top_m,
           reports[blockIdx.x], top_ids + at, top_logits + at);
}

template <class Logit>
__global__ void __launch_bounds__(kThreads)
    cut_kernel(DeviceRows rows, const CutTask* tasks, CutReport* reports, float* windows) {
  __shared__ alignas(CutShared) unsigned char memory[sizeof(CutShared)];
  auto& shared = *reinterpret_cast<CutShared*>(memory);
  CudaBlock block;
  const CutTask task = tasks[blockIdx.x];
  cut_search(block, shared, static_cast<const Logit*>(rows.data) + task.row * rows.stride, rows.vocab, task,
             reports[blockIdx.x], windows + static_cast<std::int64_t>(blockIdx.x) * kWindow);
}

}  // namespace

int launch_row_pass(const DeviceRows& rows, const RowTask* tasks, int count, int top_m, RowReport* reports,
                    std::int32_t* top_ids, float* top_logits, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  if (rows.dtype == LogitsDtype::fp32) {
    row_kernel<float><<<count, kThreads, 0, queue>>>(rows, tasks, top_m, reports, top_ids, top_logits);
  } else {
    row_kernel<Bf16><<<count, kThreads, 0, queue>>>(rows, tasks, top_m, reports, top_ids, top_logits);
  }
  return cudaGetLastError();
}

int launch_cut_search(const DeviceRows& rows, const CutTask* tasks, int count, CutReport* reports, float* windows,
                      void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  if (rows.dtype == LogitsDtype::fp32) {
    cut_kernel<float><<<count, kThreads, 0, queue>>>(rows, tasks, reports, windows);
  } else {
    cut_kernel<Bf16><<<count, kThreads, 0, queue>>>(rows, tasks, reports, windows);
  }
  return cudaGetLastError();
}

bool kernels_fit_device() {
  cudaFuncAttributes attributes{};
  const bool fit = cudaFuncGetAttributes(&attributes, row_kernel<float>) == cudaSuccess;
  if (!fit) (void)cudaGetLastError();
  return fit;
}

}  // namespace difr::gpu::kernels
