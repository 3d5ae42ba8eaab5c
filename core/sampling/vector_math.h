#pragma once
// Loops the compiler vectorises, for the processor at hand: the same per-element function compiled for baseline x86-64,
// AVX2 and AVX-512 and chosen at run time, with a scalar twin on other machines. Logarithm and exponential are good to
// a few ulp of fp64; whoever needs a decision to be exact recomputes the contenders with libm.
//
// Hot loops live in files named *_rows.cpp, which the build compiles with -O3 whatever the build type.

#include <bit>
#include <cstddef>
#include <cstdint>

namespace difr {

#define DIFR_INLINE [[gnu::always_inline]] inline

/// Natural logarithm of a positive normal number (fdlibm's reduction and polynomial).
DIFR_INLINE double fast_log(double x) {
  const auto bits = std::bit_cast<std::int64_t>(x);
  // Exponent such that the rest lies in [sqrt(1/2), sqrt(2)); the bias keeps the shifted value positive, because
  // AVX2 has no arithmetic 64-bit shift.
  const std::uint64_t biased = static_cast<std::uint64_t>(bits - 0x3fe6a09e667f3bcdLL) + (std::uint64_t{2048} << 52);
  const auto k = static_cast<std::int64_t>(biased >> 52) - 2048;
  const double e = std::bit_cast<double>(k + 0x4338000000000000LL) - 0x1.8p52;
  const double f = std::bit_cast<double>(bits - static_cast<std::int64_t>(static_cast<std::uint64_t>(k) << 52)) - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s, w = z * z;
  const double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half = 0.5 * f * f;
  return e * 6.93147180369123816490e-01 - ((half - (s * (half + even + odd) + e * 1.90821492927058770002e-10)) - f);
}

/// exp(x) for x <= 0; below -708 the result is 0. x may be -inf.
DIFR_INLINE double fast_exp(double x) {
  const double clipped = x < -708.0 ? -708.0 : x;
  const double shifted = clipped * 1.44269504088896338700 + 0x1.8p52;
  const auto k = std::bit_cast<std::int64_t>(shifted) - 0x4338000000000000LL;
  const double n = shifted - 0x1.8p52;
  const double r = (clipped - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const double scale = std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
  return x < -708.0 ? 0.0 : p * scale;
}

/// The top 53 bits of a hash as an exact double; without the AVX-512 conversion instruction.
DIFR_INLINE double top53(std::uint64_t hash) {
  const std::uint64_t low = (hash >> 11) & 0xffffffffULL, high = hash >> 43;
  return (std::bit_cast<double>(high | 0x4530000000000000ULL) - 0x1p84) +
         (std::bit_cast<double>(low | 0x4330000000000000ULL) - 0x1p52);
}

enum class VectorLevel : std::uint8_t { baseline, avx2, avx512 };

/// What this processor can do.
[[nodiscard]] VectorLevel vector_level();

#if defined(__x86_64__)
#define DIFR_AVX2 [[gnu::target("avx2,fma,bmi,bmi2")]]
#define DIFR_AVX512 [[gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,bmi,bmi2,prefer-vector-width=512")]]
#else
#define DIFR_AVX2
#define DIFR_AVX512
#endif

template <class F, class T>
void map_baseline(F f, T* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = f(i);
}
template <class F, class T>
DIFR_AVX2 void map_avx2(F f, T* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = f(i);
}
template <class F, class T>
DIFR_AVX512 void map_avx512(F f, T* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = f(i);
}

/// out[i] = f(i). `f` must be always_inline and free of branches to be worth it.
template <class F, class T>
void vector_map(VectorLevel level, F f, T* out, std::size_t n) {
  switch (level) {
    case VectorLevel::avx512:
      return map_avx512(f, out, n);
    case VectorLevel::avx2:
      return map_avx2(f, out, n);
    case VectorLevel::baseline:
      return map_baseline(f, out, n);
  }
}

}  // namespace difr
