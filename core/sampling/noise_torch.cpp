// Noise of PyTorch's exponential_: CPU, CPU with MKL, and CUDA.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/sampling/counter_hash.h"
#include "core/sampling/counter_noise.h"
#include "core/sampling/mt19937.h"
#include "core/sampling/noise_rows.h"
#include "core/sampling/noise_sources.h"

namespace difr {
namespace {

/// torch.empty(V).exponential_(generator) once per step. The stream is sequential: a step before the last one asked
/// for restarts it.
class TorchCpuExponential final : public NoiseSource {
 public:
  explicit TorchCpuExponential(const NoiseKey& key)
      : seed_(static_cast<std::uint32_t>(key.seed + key.choice)),
        vocab_(static_cast<std::size_t>(std::max(key.vocab, 0))),
        shift_(key.shift),
        generator_(seed_) {}

  void row(int t, std::span<double> g) override {
    if (!seek(t)) {
      std::ranges::fill(g, std::numeric_limits<double>::quiet_NaN());
      return;
    }
    words_.resize(2 * g.size());
    generator_.fill(words_);
    torch_exponential_row(vector_level(), words_, g);
    leave(g.size());
  }
  void at(int t, std::span<const TokenId> ids, std::span<double> out) override {
    if (!seek(t)) {
      std::ranges::fill(out, std::numeric_limits<double>::quiet_NaN());
      return;
    }
    std::vector<std::size_t> order(ids.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return ids[i]; });
    std::size_t drawn = 0;
    for (std::size_t n = 0; n < order.size(); ++n) {
      const auto id = static_cast<std::size_t>(ids[order[n]]);
      if (n > 0 && ids[order[n]] == ids[order[n - 1]]) {
        out[order[n]] = out[order[n - 1]];
        continue;
      }
      generator_.discard(2 * (id - drawn));
      const double u = static_cast<double>(generator_.next64() & ((1ULL << 53) - 1)) * 0x1p-53;
      out[order[n]] = -std::log(static_cast<double>(static_cast<float>(-std::log1p(-u))));
      drawn = id + 1;
    }
    leave(drawn);
  }

 private:
  bool seek(int t) {
    const int step = t + shift_;
    if (step < 0) return false;
    if (step < next_) {
      generator_ = Mt19937(seed_);
      next_ = 0;
    }
    generator_.discard(2 * vocab_ * static_cast<std::size_t>(step - next_));
    next_ = step + 1;
    return true;
  }
  void leave(std::size_t drawn) { generator_.discard(2 * (vocab_ - std::min(drawn, vocab_))); }

  std::uint32_t seed_;
  std::size_t vocab_;
  int shift_;
  Mt19937 generator_;
  int next_ = 0;
  std::vector<std::uint32_t> words_;
};

/// MKL's vsRngExponential on MCG31m1, seeded with one mt19937 word per call.
struct MklKernel {
  NoiseKey key;
  static constexpr std::uint64_t kModulus = 2147483647ULL;  // 2^31 - 1
  static constexpr std::uint64_t kMultiplier = 1132489760ULL;

  [[nodiscard]] std::optional<std::uint64_t> step(int t) const {
    const int call = t + key.shift;
    if (call < 0) return std::nullopt;
    Mt19937 generator(static_cast<std::uint32_t>(key.seed + key.choice));
    generator.discard(static_cast<std::uint64_t>(call));
    const std::uint64_t x = generator() % kModulus;
    return x == 0 ? 1 : x;
  }
  [[nodiscard]] static double gumbel_of(std::uint64_t x) {
    const float u = static_cast<float>(x) * 0x1p-31F;
    const auto e = static_cast<float>(-std::log(static_cast<double>(u)));
    return -std::log(static_cast<double>(std::max(e, std::numeric_limits<float>::min())));
  }
  /// Multiplicative generator: entry i is x0 * a^i, so any entry can be asked alone.
  [[nodiscard]] static double entry(std::uint64_t x0, std::uint32_t i) {
    std::uint64_t x = x0, factor = kMultiplier;
    for (; i != 0; i >>= 1, factor = factor * factor % kModulus) {
      if (i & 1U) x = x * factor % kModulus;
    }
    return gumbel_of(x);
  }
};

class MklNoise final : public CounterNoise<MklKernel> {
 public:
  using CounterNoise::CounterNoise;
  void row(int t, std::span<double> g) override {
    auto x = kernel_.step(t);
    for (double& v : g) {
      v = x ? MklKernel::gumbel_of(*x) : kNoNoise;
      if (x) *x = *x * MklKernel::kMultiplier % MklKernel::kModulus;
    }
  }
};

/// exponential_ on CUDA: thread idx of `threads` draws four words per round; element idx + threads * j takes word j.
struct CudaKernel {
  NoiseKey key;
  std::uint64_t threads = 0, rounds = 0;

  explicit CudaKernel(const NoiseKey& k) : key(k) {
    const auto v = static_cast<std::uint64_t>(std::max(k.vocab, 1));
    const std::uint64_t blocks = (v + 255) / 256;
    threads = 256 * (k.cuda_blocks > 0 ? std::min(blocks, static_cast<std::uint64_t>(k.cuda_blocks)) : blocks);
    rounds = (v - 1) / (4 * threads) + 1;
  }
  [[nodiscard]] std::optional<std::uint64_t> step(int t) const {
    const std::int64_t call = std::int64_t{t} + key.shift;
    return call < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(call) * rounds);
  }
  [[nodiscard]] double entry(std::uint64_t offset, std::uint32_t i) const {
    const std::uint64_t seed = static_cast<std::uint64_t>(key.seed) + static_cast<std::uint64_t>(key.choice);
    const std::uint64_t round = i / (4 * threads), thread = i % threads;
    const std::size_t word = i / threads % 4;
    const std::uint64_t block = offset + round;
    const auto words = philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                   static_cast<std::uint32_t>(thread), static_cast<std::uint32_t>(thread >> 32)},
                                  static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
    const float u = static_cast<float>(words[word]) * 0x1p-32F + 0x1p-33F;
    constexpr float kHalfEpsilon = std::numeric_limits<float>::epsilon() / 2;
    const float e = u >= 1.0F - kHalfEpsilon ? kHalfEpsilon : static_cast<float>(-std::log(static_cast<double>(u)));
    return -std::log(static_cast<double>(e));
  }
};

class CudaNoise final : public CounterNoise<CudaKernel> {
 public:
  using CounterNoise::CounterNoise;
  /// The device's fast logarithm errs by up to 2^-21.41 absolutely on [0.5, 2] (CUDA's documentation), which is
  /// relatively large where E is small and g decides.
  [[nodiscard]] double uncertainty(double g) const override {
    constexpr double kError = 3.6e-7;
    const double e = std::exp(-g);
    return std::log(e + kError) - std::log(std::max(e - kError, 0x1p-25));
  }
};

}  // namespace

std::unique_ptr<NoiseSource> make_torch_cpu_noise(const NoiseKey& key) {
  return std::make_unique<TorchCpuExponential>(key);
}
std::unique_ptr<NoiseSource> make_torch_mkl_noise(const NoiseKey& key) {
  return std::make_unique<MklNoise>(MklKernel{key});
}
std::unique_ptr<NoiseSource> make_torch_cuda_noise(const NoiseKey& key) {
  return std::make_unique<CudaNoise>(CudaKernel(key));
}

}  // namespace difr
