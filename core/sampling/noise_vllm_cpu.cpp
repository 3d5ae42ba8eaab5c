// Noise of vLLM's CPU build, model runner V1: one step seed per token from the request's generator.

#include <array>
#include <random>
#include <vector>

#include "core/sampling/counter_hash.h"
#include "core/sampling/counter_noise.h"
#include "core/sampling/mt19937.h"
#include "core/sampling/noise_rows.h"
#include "core/sampling/noise_sources.h"

namespace difr {
namespace {

/// torch.randint(0, 2**31, (1,), generator=g) once per sampled token: two words, the second counts (torch >= 2.13).
class StepSeeds {
 public:
  explicit StepSeeds(const NoiseKey& key)
      : generator_(static_cast<std::uint32_t>(key.seed + key.choice)), shift_(key.shift) {}

  std::optional<std::uint32_t> at(int t) {
    const int step = t + shift_;
    if (step < 0) return std::nullopt;
    while (seeds_.size() <= static_cast<std::size_t>(step)) {
      generator_.discard(1);
      seeds_.push_back(generator_() & 0x7fffffffU);
    }
    return seeds_[static_cast<std::size_t>(step)];
  }

 private:
  Mt19937 generator_;
  int shift_;
  std::vector<std::uint32_t> seeds_;
};

struct SplitmixKernel {
  StepSeeds seeds;

  std::optional<std::uint64_t> step(int t) {
    const auto seed = seeds.at(t);
    return seed ? std::optional(splitmix64_mix(*seed)) : std::nullopt;
  }
  static double entry(std::uint64_t key, std::uint32_t i) {
    const std::uint64_t hash = splitmix64_mix(key + (std::uint64_t{i} + 1) * kSplitmixGamma);
    return gumbel((static_cast<double>(hash >> 11) + 0.5) * 0x1p-53);
  }
  static void fill(std::uint64_t key, std::span<double> g) { splitmix_row(vector_level(), key, g); }
};

class SplitmixNoise final : public CounterNoise<SplitmixKernel> {
 public:
  SplitmixNoise(SplitmixKernel kernel, int vocab)
      : CounterNoise(std::move(kernel)), vocab_(static_cast<std::size_t>(vocab)) {}
  /// The exact maximum of the row: noise is monotone in the hash, so no logarithm is taken.
  double upper_bound(int t) override {
    const auto key = kernel_.step(t);
    if (!key) return kNoNoise;
    return gumbel((static_cast<double>(splitmix_row_max(vector_level(), *key, vocab_)) + 0.5) * 0x1p-53);
  }

 private:
  std::size_t vocab_;
};

constexpr std::size_t kTableSize = 1U << 20;

const std::vector<float>& gumbel_table() {
  static const auto table = [] {
    std::mt19937 generator(42);
    std::uniform_real_distribution<float> uniform(1.0e-7F, 1.0F - 1.0e-7F);
    std::vector<float> out(kTableSize);
    for (float& g : out) g = -std::log(-std::log(uniform(generator)));
    return out;
  }();
  return table;
}

struct TableKernel {
  StepSeeds seeds;

  std::optional<std::uint32_t> step(int t) { return seeds.at(t); }
  static double entry(std::uint32_t seed, std::uint32_t i) { return gumbel_table()[(seed + i) & (kTableSize - 1)]; }
};

}  // namespace

std::unique_ptr<NoiseSource> make_splitmix_noise(const NoiseKey& key) {
  return std::make_unique<SplitmixNoise>(SplitmixKernel{StepSeeds(key)}, key.vocab);
}
std::unique_ptr<NoiseSource> make_table_noise(const NoiseKey& key) {
  return std::make_unique<CounterNoise<TableKernel>>(TableKernel{StepSeeds(key)});
}

}  // namespace difr
