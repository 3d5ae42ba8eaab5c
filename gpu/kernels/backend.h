#pragma once
// What runs the passes of gpu/kernels: a device or its twin. Internal to gpu/kernels.

#include <memory>
#include <span>
#include <vector>

#include "gpu/kernels/fused_scorer.h"
#include "gpu/kernels/passes.h"

namespace difr::gpu::kernels {

/// Results of the row pass, one report per task; top_* are tasks x top_m. Valid until the slot is started again.
struct RowResults {
  std::span<const RowReport> reports;
  std::span<const std::int32_t> top_ids;
  std::span<const float> top_logits;
};

/// Results of the cut search, one report per task; windows are tasks x kWindow. Valid until the slot's next search.
struct CutResults {
  std::span<const CutReport> reports;
  std::span<const float> windows;
};

class KernelBackend {
 public:
  virtual ~KernelBackend() = default;
  /// Starts the row pass over a chunk; there is one task per row, and the tasks are copied.
  virtual void start(int slot, const LogitsChunk& chunk, std::span<const RowTask> tasks, int top_m) = 0;
  /// Waits for start().
  virtual RowResults finish(int slot) = 0;
  /// The rest works on the chunk that finish() has returned, and waits.
  virtual CutResults search(int slot, std::span<const CutTask> tasks) = 0;
  virtual std::vector<RowReport> race(int slot, std::span<const RowTask> tasks) = 0;
  virtual std::vector<float> row(int slot, int row) = 0;
};

[[nodiscard]] std::unique_ptr<KernelBackend> make_twin_backend();
/// Throws as make_cuda_scorer() does.
[[nodiscard]] std::unique_ptr<KernelBackend> make_cuda_backend(int device);

}  // namespace difr::gpu::kernels
