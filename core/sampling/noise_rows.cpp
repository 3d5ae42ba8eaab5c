#include "core/sampling/noise_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/sampling/counter_hash.h"

namespace difr {
namespace {

DIFR_INLINE double log_fp32(float x) {
  return static_cast<float>(fast_log(static_cast<double>(x)));
}

/// log1p(-u) for 0 < u < 1, fp32 in and out.
DIFR_INLINE float log1p_fp32(float u32) {
  const double u = static_cast<double>(u32);
  const double series = -u * (1.0 + u * (0.5 + u * (1.0 / 3.0)));
  const double rest = std::max(1.0 - u, 0x1p-60);
  return static_cast<float>(u < 1e-5 ? series : fast_log(rest));
}

DIFR_INLINE float triton_uniform(std::uint32_t word) {
  const auto x = static_cast<std::int32_t>(word);
  return static_cast<float>(x ^ (x >> 31)) * 4.6566127342e-10F;
}

DIFR_INLINE float gumbel_fp32(float log_of_u) {
  return static_cast<float>(-log_fp32(std::max(-log_of_u, 1.17549435e-38F)));
}

}  // namespace

void splitmix_row(VectorLevel level, std::uint64_t key, std::span<double> g) {
  vector_map(
      level,
      [key](std::size_t i) __attribute__((always_inline)) {
        const double u = (top53(splitmix64_mix(key + (i + 1) * kSplitmixGamma)) + 0.5) * 0x1p-53;
        return -fast_log(-fast_log(u));
      },
      g.data(), g.size());
}

void philox_row(VectorLevel level, std::uint32_t step_seed, PhiloxForm form, std::span<double> g) {
  const auto words = [step_seed](std::size_t i) __attribute__((always_inline)) {
    return philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0}, step_seed, 0);
  };
  switch (form) {
    case PhiloxForm::fp64_eps:
      return vector_map(
          level,
          [=](std::size_t i) __attribute__((always_inline)) {
            const double r = static_cast<double>(triton_uniform(words(i)[0]));
            return static_cast<double>(static_cast<float>(-fast_log(-fast_log(r + 1e-20) + 1e-20)));
          },
          g.data(), g.size());
    case PhiloxForm::fp32_tiny:
      return vector_map(
          level,
          [=](std::size_t i) __attribute__((always_inline)) {
            const float u = std::max(triton_uniform(words(i)[0]), 1.17549435e-38F);
            return static_cast<double>(gumbel_fp32(static_cast<float>(log_fp32(u))));
          },
          g.data(), g.size());
    case PhiloxForm::fp32_log1p:
      return vector_map(
          level,
          [=](std::size_t i) __attribute__((always_inline)) {
            return static_cast<double>(
                gumbel_fp32(log1p_fp32(std::max(triton_uniform(words(i)[0]), 4.6566127342e-10F))));
          },
          g.data(), g.size());
    case PhiloxForm::fp64_two_words:
      return vector_map(
          level,
          [=](std::size_t i) __attribute__((always_inline)) {
            const auto w = words(i);
            const double u = static_cast<double>(w[1]) * 0x1p-32 + static_cast<double>(w[0]) * 0x1p-64;
            return -fast_log(std::max(-fast_log(std::max(u, 2.2250738585072014e-308)), 0x1p-60));
          },
          g.data(), g.size());
  }
}

void murmur_row32(VectorLevel level, std::uint32_t prefix, std::span<double> g) {
  vector_map(
      level,
      [prefix](std::size_t i) __attribute__((always_inline)) {
        const std::uint32_t h = murmur3_column(prefix, static_cast<std::uint32_t>(i));
        const float u = static_cast<float>(static_cast<std::int32_t>(h >> 16)) * 0x1p-16F +
                        (static_cast<float>(static_cast<std::int32_t>(h & 0xffffU)) + 0.5F) * 0x1p-32F;
        float series = 1.0F / 8.0F;
        series = series * u + 1.0F / 7.0F;
        series = series * u + 1.0F / 6.0F;
        series = series * u + 1.0F / 5.0F;
        series = series * u + 1.0F / 4.0F;
        series = series * u + 1.0F / 3.0F;
        series = series * u + 1.0F / 2.0F;
        series = series * u + 1.0F;
        const float tail = static_cast<float>(log_fp32(std::max(1.0F - u, 0x1p-24F)));
        return static_cast<double>(gumbel_fp32(u < 0.25F ? -u * series : tail));
      },
      g.data(), g.size());
}

void murmur_row64(VectorLevel level, std::uint32_t low_prefix, std::uint32_t high_prefix, std::span<double> g) {
  vector_map(
      level,
      [=](std::size_t i) __attribute__((always_inline)) {
        const auto token = static_cast<std::uint32_t>(i);
        const std::uint64_t wide =
            (std::uint64_t{murmur3_column(high_prefix, token)} << 32) | murmur3_column(low_prefix, token);
        return -fast_log(-fast_log((top53(wide) + 0.5) * 0x1p-53));
      },
      g.data(), g.size());
}

void sglang_row(VectorLevel level, std::uint32_t prefix, std::span<double> g) {
  vector_map(
      level,
      [prefix](std::size_t i) __attribute__((always_inline)) {
        const std::uint32_t h = murmur3_column(prefix, static_cast<std::uint32_t>(i));
        const double inner = -fast_log(std::max(static_cast<double>(h) / 4294967295.0, 0x1p-1022));
        const double value = -fast_log(std::max(inner, 0x1p-1022));
        const double high = h == 0xffffffffU ? std::numeric_limits<double>::infinity() : value;
        return h == 0 ? -std::numeric_limits<double>::infinity() : high;
      },
      g.data(), g.size());
}

void torch_exponential_row(VectorLevel level, std::span<const std::uint32_t> words, std::span<double> g) {
  const std::uint32_t* w = words.data();
  vector_map(
      level,
      [w](std::size_t i) __attribute__((always_inline)) {
        // 53 bits, first word high; 1 - u is exact, so log1p(-u) is log(1 - u).
        std::uint64_t pair;
        std::memcpy(&pair, w + 2 * i, sizeof pair);
        const std::uint64_t bits = ((pair & 0x1fffffULL) << 32) | (pair >> 32);
        const double rest = 1.0 - top53(bits << 11) * 0x1p-53;
        return -fast_log(std::max(static_cast<double>(static_cast<float>(-fast_log(rest))), 0x1p-1022));
      },
      g.data(), g.size());
}

namespace {

template <class F>
DIFR_INLINE std::uint64_t max_of(F f, std::size_t n) {
  std::uint64_t best = 0;
  for (std::size_t i = 0; i < n; ++i) best = std::max(best, f(i));
  return best;
}
std::uint64_t max_baseline(std::uint64_t key, std::size_t n) {
  return max_of(
      [key](std::size_t i)
          __attribute__((always_inline)) { return splitmix64_mix(key + (i + 1) * kSplitmixGamma) >> 11; },
      n);
}
DIFR_AVX2 std::uint64_t max_avx2(std::uint64_t key, std::size_t n) {
  return max_of(
      [key](std::size_t i)
          __attribute__((always_inline)) { return splitmix64_mix(key + (i + 1) * kSplitmixGamma) >> 11; },
      n);
}
DIFR_AVX512 std::uint64_t max_avx512(std::uint64_t key, std::size_t n) {
  return max_of(
      [key](std::size_t i)
          __attribute__((always_inline)) { return splitmix64_mix(key + (i + 1) * kSplitmixGamma) >> 11; },
      n);
}

}  // namespace

std::uint64_t splitmix_row_max(VectorLevel level, std::uint64_t key, std::size_t n) {
  if (level == VectorLevel::avx512) return max_avx512(key, n);
  return level == VectorLevel::avx2 ? max_avx2(key, n) : max_baseline(key, n);
}

}  // namespace difr
