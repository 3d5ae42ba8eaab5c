#pragma once
// Which library multiplies fp32 matrices on this CPU. No LibTorch in this header.

namespace difr::gpu {

/// True when LibTorch's BLAS has kernels for this CPU. OpenBLAS falls back to SSE kernels on CPUs it does not know
/// (four times slower); oneDNN, which looks at the instruction set, is then used instead. A fact of the machine, not a
/// measurement, so that two runs take the same path.
[[nodiscard]] bool blas_knows_cpu();

/// OpenBLAS keeps a thread pool of its own beside LibTorch's; the engine spreads whole passes over threads instead.
void set_blas_threads(int threads);

/// Keeps freed scratch memory in the process: passes allocate the same sizes over and over.
void keep_scratch_memory();

}  // namespace difr::gpu
