#pragma once
// Entry points of fused_kernels.cu for C++ that knows no CUDA syntax. Internal to gpu/kernels.

#include "gpu/kernels/fused_scorer.h"
#include "gpu/kernels/passes.h"

namespace difr::gpu::kernels {

/// Rows in device memory.
struct DeviceRows {
  const void* data = nullptr;
  int vocab = 0;
  std::int64_t stride = 0;
  LogitsDtype dtype = LogitsDtype::fp32;
};

/// Both queue one block per task on `stream` (a cudaStream_t); all pointers are device memory. They return CUDA's error
/// code of the launch, 0 for success.
[[nodiscard]] int launch_row_pass(const DeviceRows& rows, const RowTask* tasks, int count, int top_m,
                                  RowReport* reports, std::int32_t* top_ids, float* top_logits, void* stream);
[[nodiscard]] int launch_cut_search(const DeviceRows& rows, const CutTask* tasks, int count, CutReport* reports,
                                    float* windows, void* stream);
/// Whether the current device can run the kernels this build holds.
[[nodiscard]] bool kernels_fit_device();

}  // namespace difr::gpu::kernels
