#include "gpu/model/cpu_backend.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace difr::gpu {

namespace {

template <class Function>
Function* blas_symbol(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

}  // namespace

bool blas_knows_cpu() {
#if defined(__x86_64__)
  if (at::hasMKL()) return true;
  auto* const core_name = blas_symbol<char*()>("openblas_get_corename");
  if (core_name == nullptr) return false;
  const std::string_view core = core_name();
  static constexpr std::array kAvx512{"SkylakeX", "Cooperlake", "SapphireRapids"};
  static constexpr std::array kAvx2{"Haswell", "Zen", "Excavator"};
  if (std::ranges::find(kAvx512, core) != kAvx512.end()) return true;
  return !__builtin_cpu_supports("avx512f") && std::ranges::find(kAvx2, core) != kAvx2.end();
#else
  return true;
#endif
}

void set_blas_threads(int threads) {
  if (auto* const set = blas_symbol<void(int)>("openblas_set_num_threads")) set(threads);
}

void keep_scratch_memory() {
#if defined(__GLIBC__)
  // The largest threshold glibc accepts; one arena, because the per-thread ones cannot hold blocks of this size.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 512 << 20);
  ::mallopt(M_ARENA_MAX, 1);
#endif
}

}  // namespace difr::gpu
