// Noise of vLLM's model runner V2: stateless in (seed, position of the input token, token id).

#include <algorithm>
#include <cmath>

#include "core/sampling/counter_hash.h"
#include "core/sampling/counter_noise.h"
#include "core/sampling/noise_rows.h"
#include "core/sampling/noise_sources.h"

namespace difr {
namespace {

std::uint64_t child_seed(const NoiseKey& key) {
  return static_cast<std::uint64_t>(key.seed) + static_cast<std::uint64_t>(key.choice);
}

/// tl.rand's 31-bit uniform.
float triton_uniform(std::uint32_t word) {
  const auto x = static_cast<std::int32_t>(word);
  return static_cast<float>(x < 0 ? -x - 1 : x) * 4.6566127342e-10F;
}

// fp32 functions are taken as the correctly rounded fp64 value; device and libm versions differ by an ulp.
float log32(float x) {
  return static_cast<float>(std::log(static_cast<double>(x)));
}

float philox_0_16(std::uint32_t w) {
  return static_cast<float>(-std::log(-std::log(static_cast<double>(triton_uniform(w)) + 1e-20) + 1e-20));
}
float philox_0_22(std::uint32_t w) {
  return -log32(-log32(std::max(triton_uniform(w), 1.17549435e-38F)));
}
float philox_log1p(std::uint32_t w) {
  const float u = std::max(triton_uniform(w), 4.6566127342e-10F);
  return -log32(-static_cast<float>(std::log1p(-static_cast<double>(u))));
}

/// Step seed s = tl.randint(seed, pos); entry = f(first words of Philox(key s, counter token)).
struct PhiloxKernel {
  NoiseKey key;
  PhiloxForm form;

  [[nodiscard]] std::optional<std::uint32_t> step(int t) const {
    const auto pos = input_position(key, t);
    if (!pos) return std::nullopt;
    const std::uint64_t seed = child_seed(key);
    const auto p = static_cast<std::uint64_t>(*pos);
    return philox4x32({static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(p >> 32), 0, 0},
                      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32))[0];
  }
  [[nodiscard]] double entry(std::uint32_t step_seed, std::uint32_t token) const {
    const auto w = philox4x32({token, 0, 0, 0}, step_seed, 0);
    switch (form) {
      case PhiloxForm::fp64_eps:
        return philox_0_16(w[0]);
      case PhiloxForm::fp32_tiny:
        return philox_0_22(w[0]);
      case PhiloxForm::fp32_log1p:
        return philox_log1p(w[0]);
      case PhiloxForm::fp64_two_words:
        break;
    }
    const std::uint64_t wide = (std::uint64_t{w[1]} << 32) | w[0];
    return gumbel(std::max(static_cast<double>(wide) * 0x1p-64, 2.2250738585072014e-308));
  }
  void fill(std::uint32_t step_seed, std::span<double> g) const { philox_row(vector_level(), step_seed, form, g); }
};

float murmur_gumbel(std::uint32_t h) {
  const float u = static_cast<float>(h >> 16) * 0x1p-16F + (static_cast<float>(h & 0xffffU) + 0.5F) * 0x1p-32F;
  float log_of_rest;
  if (u < 0.25F) {
    float series = 1.0F / 8.0F;
    for (int k = 7; k >= 1; --k) series = series * u + 1.0F / static_cast<float>(k);
    log_of_rest = -u * series;
  } else {
    log_of_rest = log32(std::max(1.0F - u, 0x1p-24F));
  }
  return -log32(-log_of_rest);
}

struct MurmurState {
  std::uint32_t low = 0, high = 0;
};

struct MurmurKernel {
  NoiseKey key;
  bool fp64;

  [[nodiscard]] std::optional<MurmurState> step(int t) const {
    const auto pos = input_position(key, t);
    if (!pos) return std::nullopt;
    const auto p = static_cast<std::uint32_t>(*pos);
    return MurmurState{murmur3_prefix(child_seed(key), p, 0), murmur3_prefix(child_seed(key), p, 0x9E3779B9U)};
  }
  [[nodiscard]] double entry(const MurmurState& state, std::uint32_t token) const {
    const std::uint32_t low = murmur3_column(state.low, token);
    if (!fp64) return murmur_gumbel(low);
    const std::uint64_t wide = (std::uint64_t{murmur3_column(state.high, token)} << 32) | low;
    return gumbel((static_cast<double>(wide >> 11) + 0.5) * 0x1p-53);
  }
  void fill(const MurmurState& state, std::span<double> g) const {
    fp64 ? murmur_row64(vector_level(), state.low, state.high, g) : murmur_row32(vector_level(), state.low, g);
  }
};

}  // namespace

std::unique_ptr<NoiseSource> make_philox_noise(const NoiseKey& key, PhiloxForm form) {
  return std::make_unique<CounterNoise<PhiloxKernel>>(PhiloxKernel{key, form});
}
std::unique_ptr<NoiseSource> make_murmur_noise(const NoiseKey& key, bool fp64) {
  return std::make_unique<CounterNoise<MurmurKernel>>(MurmurKernel{key, fp64});
}

}  // namespace difr
