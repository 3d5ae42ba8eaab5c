// Runs the kernels on a device; without CUDA in the build, says that there is none.

#include "gpu/kernels/backend.h"

#ifdef DIFR_CUDA

#include <array>
#include <cstring>
#include <memory>

#include "gpu/kernels/cuda_memory.h"
#include "gpu/kernels/launch.h"

namespace difr::gpu::kernels {
namespace {

/// A stream with its own buffers, so that the copies of one chunk run beside the kernels of another.
struct CudaSlot {
  CudaStream stream;
  CudaEvent produced;
  DeviceRows rows;
  std::size_t tasks = 0, top = 0;
  MirroredBuffer<std::byte> staged;  ///< rows that came from the host
  MirroredBuffer<RowTask> row_tasks, race_tasks;
  MirroredBuffer<RowReport> row_reports, race_reports;
  MirroredBuffer<std::int32_t> top_ids;
  MirroredBuffer<float> top_logits, windows;
  MirroredBuffer<CutTask> cut_tasks;
  MirroredBuffer<CutReport> cut_reports;
};

/// Makes a device current for a scope: the rest of the process may use another.
class DeviceScope {
 public:
  explicit DeviceScope(int device) {
    check_cuda(cudaGetDevice(&before_), "asking for the device");
    check_cuda(cudaSetDevice(device), "choosing the device");
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope() { cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

std::size_t width_of(LogitsDtype dtype) {
  return dtype == LogitsDtype::fp32 ? sizeof(float) : sizeof(Bf16);
}

template <class T>
void send(MirroredBuffer<T>& buffer, std::span<const T> items, cudaStream_t stream) {
  std::memcpy(buffer.reserve(items.size()), items.data(), items.size_bytes());
  buffer.to_device(items.size(), stream);
}

class CudaBackend final : public KernelBackend {
 public:
  explicit CudaBackend(int device) : device_(device) {
    const DeviceScope scope(device_);
    for (auto& slot : slots_) slot = std::make_unique<CudaSlot>();
  }
  ~CudaBackend() override {
    cudaSetDevice(device_);
    // Kernels in flight still write to the buffers.
    for (auto& slot : slots_) cudaStreamSynchronize(slot->stream.get());
  }
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  void start(int slot, const LogitsChunk& chunk, std::span<const RowTask> tasks, int top_m) override {
    const DeviceScope scope(device_);
    CudaSlot& s = at(slot);
    const cudaStream_t stream = s.stream.get();
    s.tasks = tasks.size();
    s.top = tasks.size() * static_cast<std::size_t>(top_m);
    if (s.tasks == 0) return;
    bring(s, chunk);
    send(s.row_tasks, tasks, stream);
    s.row_reports.reserve(s.tasks);
    s.top_ids.reserve(s.top);
    s.top_logits.reserve(s.top);
    check_cuda(launch_row_pass(s.rows, s.row_tasks.device(), static_cast<int>(s.tasks), top_m, s.row_reports.device(),
                               s.top_ids.device(), s.top_logits.device(), stream),
               "starting the row pass");
    s.row_reports.to_host(s.tasks, stream);
    s.top_ids.to_host(s.top, stream);
    s.top_logits.to_host(s.top, stream);
  }
  RowResults finish(int slot) override {
    const DeviceScope scope(device_);
    const CudaSlot& s = at(slot);
    s.stream.wait();
    return {s.row_reports.host(s.tasks), s.top_ids.host(s.top), s.top_logits.host(s.top)};
  }
  CutResults search(int slot, std::span<const CutTask> tasks) override {
    const DeviceScope scope(device_);
    CudaSlot& s = at(slot);
    const cudaStream_t stream = s.stream.get();
    send(s.cut_tasks, tasks, stream);
    s.cut_reports.reserve(tasks.size());
    s.windows.reserve(tasks.size() * kWindow);
    check_cuda(launch_cut_search(s.rows, s.cut_tasks.device(), static_cast<int>(tasks.size()), s.cut_reports.device(),
                                 s.windows.device(), stream),
               "starting the cut search");
    s.cut_reports.to_host(tasks.size(), stream);
    s.windows.to_host(tasks.size() * kWindow, stream);
    s.stream.wait();
    return {s.cut_reports.host(tasks.size()), s.windows.host(tasks.size() * kWindow)};
  }
  std::vector<RowReport> race(int slot, std::span<const RowTask> tasks) override {
    const DeviceScope scope(device_);
    CudaSlot& s = at(slot);
    send(s.race_tasks, tasks, s.stream.get());
    s.race_reports.reserve(tasks.size());
    check_cuda(launch_row_pass(s.rows, s.race_tasks.device(), static_cast<int>(tasks.size()), 0,
                               s.race_reports.device(), s.top_ids.device(), s.top_logits.device(), s.stream.get()),
               "starting the race");
    s.race_reports.to_host(tasks.size(), s.stream.get());
    s.stream.wait();
    const auto reports = s.race_reports.host(tasks.size());
    return {reports.begin(), reports.end()};
  }
  std::vector<float> row(int slot, int row) override {
    const DeviceScope scope(device_);
    const CudaSlot& s = at(slot);
    const std::size_t width = width_of(s.rows.dtype);
    std::vector<std::byte> bytes(static_cast<std::size_t>(s.rows.vocab) * width);
    const auto* from =
        static_cast<const std::byte*>(s.rows.data) + row * s.rows.stride * static_cast<std::int64_t>(width);
    check_cuda(cudaMemcpyAsync(bytes.data(), from, bytes.size(), cudaMemcpyDeviceToHost, s.stream.get()),
               "copying a row from the device");
    s.stream.wait();
    std::vector<float> out(static_cast<std::size_t>(s.rows.vocab));
    if (s.rows.dtype == LogitsDtype::fp32) {
      std::memcpy(out.data(), bytes.data(), bytes.size());
    } else {
      for (std::size_t i = 0; i < out.size(); ++i) {
        Bf16 x;
        std::memcpy(&x, bytes.data() + i * width, width);
        out[i] = logit_of(x);
      }
    }
    return out;
  }

 private:
  CudaSlot& at(int slot) { return *slots_[static_cast<std::size_t>(slot)]; }

  /// Host rows go through pinned memory, packed: from there alone the copy runs beside the kernels.
  static void bring(CudaSlot& s, const LogitsChunk& chunk) {
    s.rows = {chunk.data, chunk.vocab, chunk.stride, chunk.dtype};
    if (chunk.on_device) {
      s.produced.order(static_cast<cudaStream_t>(chunk.producer_stream), s.stream.get());
      return;
    }
    const std::size_t width = width_of(chunk.dtype), row = width * static_cast<std::size_t>(chunk.vocab);
    const std::size_t step = width * static_cast<std::size_t>(chunk.stride);
    const auto rows = static_cast<std::size_t>(chunk.rows);
    std::byte* const pinned = s.staged.reserve(rows * row);
    for (std::size_t i = 0; i < rows; ++i)
      std::memcpy(pinned + i * row, static_cast<const std::byte*>(chunk.data) + i * step, row);
    s.staged.to_device(rows * row, s.stream.get());
    s.rows.data = s.staged.device();
    s.rows.stride = chunk.vocab;
  }

  int device_;
  std::array<std::unique_ptr<CudaSlot>, FusedScorer::kSlots> slots_;
};

}  // namespace

bool cuda_scorer_available() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0 && kernels_fit_device();
}

std::unique_ptr<KernelBackend> make_cuda_backend(int device) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
  if (device < 0 || device >= devices)
    throw environment_error("cuda:" + std::to_string(device), "this machine has no such device", "use --device cpu");
  return std::make_unique<CudaBackend>(device);
}

}  // namespace difr::gpu::kernels

#else

#include "core/util/error.h"

namespace difr::gpu::kernels {

bool cuda_scorer_available() {
  return false;
}
std::unique_ptr<KernelBackend> make_cuda_backend(int device) {
  throw environment_error("cuda:" + std::to_string(device), "this build has no CUDA kernels",
                          "build with the cuda preset, or use --device cpu");
}

}  // namespace difr::gpu::kernels

#endif
