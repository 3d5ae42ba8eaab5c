// Noise of SGLang and MLX.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/sampling/counter_hash.h"
#include "core/sampling/counter_noise.h"
#include "core/sampling/noise_rows.h"
#include "core/sampling/noise_sources.h"

namespace difr {
namespace {

/// multinomial_with_seed of SGLang with its murmur hash. h = 2^32 - 1 gives u = 1 and an infinite noise: that column
/// wins whatever the model says, a defect of the engine that is reproduced on purpose.
struct SglangMurmurKernel {
  NoiseKey key;

  [[nodiscard]] std::optional<std::uint32_t> step(int t) const {
    const auto pos = input_position(key, t);
    if (!pos) return std::nullopt;
    return murmur3_prefix(static_cast<std::uint64_t>(key.seed) + static_cast<std::uint64_t>(key.choice),
                          static_cast<std::uint32_t>(*pos), 0);
  }
  [[nodiscard]] static double entry(std::uint32_t prefix, std::uint32_t column) {
    return gumbel(static_cast<double>(murmur3_column(prefix, column)) / 4294967295.0);
  }
  static void fill(std::uint32_t prefix, std::span<double> g) { sglang_row(vector_level(), prefix, g); }
};

struct SglangLegacyKernel {
  NoiseKey key;

  [[nodiscard]] std::optional<std::uint64_t> step(int t) const {
    const auto pos = input_position(key, t);
    if (!pos) return std::nullopt;
    const std::uint64_t seed = static_cast<std::uint64_t>(key.seed) + static_cast<std::uint64_t>(key.choice);
    return (seed * 19349663ULL) ^ (static_cast<std::uint64_t>(*pos) * 73856093ULL);
  }
  [[nodiscard]] static double entry(std::uint64_t step_seed, std::uint32_t column) {
    const std::uint64_t h = (step_seed * 8589934591ULL) ^ (std::uint64_t{column} * 479001599ULL);
    const float u = static_cast<float>(h & 0xffffffU) * 0x1p-24F;
    const float inner = -std::log(u + 1e-9F) + 1e-9F;
    return -std::log(inner);
  }
};

struct MlxState {
  Words2 key;
  std::uint32_t vocab = 0;
};

/// mx.random.seed(seed), then one split per draw; uniform bits of a V-wide row come in pairs (i, i + V/2).
class MlxKernel {
 public:
  explicit MlxKernel(const NoiseKey& key) : key_(key) {
    const std::uint64_t seed = static_cast<std::uint64_t>(key.seed) + static_cast<std::uint64_t>(key.choice);
    chain_ = {static_cast<std::uint32_t>(seed >> 32), static_cast<std::uint32_t>(seed)};
  }
  std::optional<MlxState> step(int t) {
    const int draw = t + key_.shift;
    if (draw < 0) return std::nullopt;
    while (draws_.size() <= static_cast<std::size_t>(draw)) {
      // split(key) is bits({2, 2}): the first row goes on, the second is used.
      const auto even = threefry2x32(chain_, {0, 2}), odd = threefry2x32(chain_, {1, 3});
      chain_ = {even[0], odd[0]};
      draws_.push_back({even[1], odd[1]});
    }
    return MlxState{draws_[static_cast<std::size_t>(draw)], static_cast<std::uint32_t>(key_.vocab)};
  }
  [[nodiscard]] static double entry(const MlxState& s, std::uint32_t i) {
    const std::uint32_t half = s.vocab / 2, odd = s.vocab % 2;
    std::uint32_t bits;
    if (i < half) {
      bits = threefry2x32(s.key, {i, half + odd + i})[0];
    } else if (odd != 0 && i == half) {
      bits = threefry2x32(s.key, {half, 0})[0];
    } else {
      bits = threefry2x32(s.key, {i - half - odd, i})[1];
    }
    const float u = std::min(static_cast<float>(bits) / 4294967295.0F, std::nextafter(1.0F, 0.0F));
    return -std::log(-std::log(u));
  }

 private:
  NoiseKey key_;
  Words2 chain_{};
  std::vector<Words2> draws_;
};

}  // namespace

std::unique_ptr<NoiseSource> make_sglang_murmur_noise(const NoiseKey& key) {
  return std::make_unique<CounterNoise<SglangMurmurKernel>>(SglangMurmurKernel{key});
}
std::unique_ptr<NoiseSource> make_sglang_legacy_noise(const NoiseKey& key) {
  return std::make_unique<CounterNoise<SglangLegacyKernel>>(SglangLegacyKernel{key});
}
std::unique_ptr<NoiseSource> make_mlx_noise(const NoiseKey& key) {
  return std::make_unique<CounterNoise<MlxKernel>>(MlxKernel(key));
}

}  // namespace difr
