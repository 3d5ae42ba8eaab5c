#include "core/sampling/vector_math.h"

namespace difr {

VectorLevel vector_level() {
#if defined(__x86_64__)
  static const VectorLevel level = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw")) {
      return VectorLevel::avx512;
    }
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? VectorLevel::avx2 : VectorLevel::baseline;
  }();
  return level;
#else
  return VectorLevel::baseline;
#endif
}

}  // namespace difr
