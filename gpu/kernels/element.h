#pragma once
// What the fused kernels do to one entry, for the device and for its twin on the CPU: the hashes are core's own
// (core/sampling/counter_hash.h, constexpr), the rest is here. Internal to gpu/kernels.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/sampling/counter_hash.h"

#ifdef __CUDACC__
#define DIFR_HD __host__ __device__
#else
#define DIFR_HD
#endif

namespace difr::gpu::kernels {

/// Counter-based sources that can be evaluated for any entry by itself (core/sampling/registry.cpp names them).
enum class NoiseKind : std::uint8_t {
  none,
  splitmix64,
  philox_fp64_eps,
  philox_fp32_tiny,
  philox_fp32_log1p,
  philox_fp64_two_words,
  murmur_fp32,
  murmur_fp64,
  sglang_murmur,
};

/// Noise of one row. `key`: SplitMix64's stream, Philox's step seed, or murmur's state after seed and position (the
/// second domain's in the high half).
struct NoiseState {
  NoiseKind kind = NoiseKind::none;
  std::uint64_t key = 0;
};

DIFR_HD inline double gumbel_of(double u) {
  return -std::log(-std::log(u));
}
// fp32 engines are taken as the correctly rounded fp64 value, which every libm with an error below 1 ulp yields alike.
DIFR_HD inline float log_fp32(float x) {
  return static_cast<float>(std::log(static_cast<double>(x)));
}
DIFR_HD inline float at_least(float x, float floor) {
  return x < floor ? floor : x;
}
DIFR_HD inline double half_open_53(std::uint64_t hash) {
  return (static_cast<double>(hash >> 11) + 0.5) * 0x1p-53;
}

/// tl.rand's 31-bit uniform.
DIFR_HD inline float triton_uniform_of(std::uint32_t word) {
  const auto x = static_cast<std::int32_t>(word);
  return static_cast<float>(x < 0 ? -x - 1 : x) * 4.6566127342e-10F;
}

DIFR_HD inline double philox_noise(NoiseKind kind, std::uint32_t step_seed, std::uint32_t token) {
  const auto w = philox4x32({token, 0, 0, 0}, step_seed, 0);
  const float r = triton_uniform_of(w[0]);
  switch (kind) {
    case NoiseKind::philox_fp64_eps:
      return static_cast<float>(-std::log(-std::log(static_cast<double>(r) + 1e-20) + 1e-20));
    case NoiseKind::philox_fp32_tiny:
      return -log_fp32(-log_fp32(at_least(r, 1.17549435e-38F)));
    case NoiseKind::philox_fp32_log1p:
      return -log_fp32(-static_cast<float>(std::log1p(-static_cast<double>(at_least(r, 4.6566127342e-10F)))));
    default:
      break;
  }
  const double u = static_cast<double>((std::uint64_t{w[1]} << 32) | w[0]) * 0x1p-64;
  return gumbel_of(u < 2.2250738585072014e-308 ? 2.2250738585072014e-308 : u);
}

DIFR_HD inline double murmur_fp32_noise(std::uint32_t h) {
  const float u = static_cast<float>(h >> 16) * 0x1p-16F + (static_cast<float>(h & 0xffffU) + 0.5F) * 0x1p-32F;
  if (!(u < 0.25F)) return -log_fp32(-log_fp32(at_least(1.0F - u, 0x1p-24F)));
  float series = 1.0F / 8.0F;
  for (int k = 7; k >= 1; --k) series = series * u + 1.0F / static_cast<float>(k);
  return -log_fp32(u * series);
}

/// Gumbel noise of one column; 0 where there is none.
DIFR_HD inline double noise_of(const NoiseState& state, std::uint32_t column) {
  const auto low = static_cast<std::uint32_t>(state.key);
  switch (state.kind) {
    case NoiseKind::none:
      return 0.0;
    case NoiseKind::splitmix64:
      return gumbel_of(half_open_53(splitmix64_mix(state.key + (std::uint64_t{column} + 1) * kSplitmixGamma)));
    case NoiseKind::murmur_fp32:
      return murmur_fp32_noise(murmur3_column(low, column));
    case NoiseKind::murmur_fp64: {
      const std::uint32_t high = murmur3_column(static_cast<std::uint32_t>(state.key >> 32), column);
      return gumbel_of(half_open_53((std::uint64_t{high} << 32) | murmur3_column(low, column)));
    }
    case NoiseKind::sglang_murmur:
      return gumbel_of(static_cast<double>(murmur3_column(low, column)) / 4294967295.0);
    default:
      return philox_noise(state.kind, low, column);
  }
}

/// A logit as stored: fp32, or bf16 in 16 bits.
struct Bf16 {
  std::uint16_t bits = 0;
};
DIFR_HD inline float logit_of(float x) {
  return x;
}
DIFR_HD inline float logit_of(Bf16 x) {
  return std::bit_cast<float>(std::uint32_t{x.bits} << 16);
}

/// Unsigned key in the order of the logits; both zeros share one, since they tie.
DIFR_HD inline std::uint32_t ordered_key(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x + 0.0F);
  return bits ^ ((bits >> 31) != 0 ? 0xffffffffU : 0x80000000U);
}
DIFR_HD inline float ordered_value(std::uint32_t key) {
  return std::bit_cast<float>(key ^ ((key >> 31) != 0 ? 0x80000000U : 0xffffffffU));
}
/// Total order of the entries: larger logit first, lower id first among equals. Never 0 for a logit that is no NaN.
DIFR_HD inline std::uint64_t entry_key(float x, std::uint32_t id) {
  return (std::uint64_t{ordered_key(x)} << 32) | ~id;
}
DIFR_HD inline std::uint32_t entry_id(std::uint64_t key) {
  return ~static_cast<std::uint32_t>(key);
}

DIFR_HD inline bool is_sound(float x) {
  return x < std::numeric_limits<float>::infinity();
}
DIFR_HD inline bool is_finite(float x) {
  return is_sound(x) && x > -std::numeric_limits<float>::infinity();
}
/// Whether the filters keep an entry: at or above the cut, and not masked.
DIFR_HD inline bool is_kept(float x, double keep_min) {
  return static_cast<double>(x) >= keep_min && is_finite(x);
}

/// Mass in fixed point, so that sums do not depend on the order in which threads add: 2^18 entries of mass at most 1
/// fit, and rounding moves a sum by less than 1e-8.
DIFR_HD inline std::uint64_t fixed_mass(double weight) {
  return static_cast<std::uint64_t>(weight * 0x1p44 + 0.5);
}

}  // namespace difr::gpu::kernels
