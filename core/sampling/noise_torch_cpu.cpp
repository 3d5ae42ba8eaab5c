#include <cmath>
#include <limits>
#include <optional>

#include "core/sampling/mt19937.h"
#include "core/sampling/noise_sources.h"

namespace difr {
namespace {

/// torch.empty(V).exponential_(generator) on the CPU, once per step; noise -log E. The stream is sequential: a step
/// before the last one asked for restarts it.
class TorchCpuExponential final : public NoiseSource {
 public:
  explicit TorchCpuExponential(const NoiseKey& key)
      : seed_(static_cast<std::uint32_t>(key.seed + key.choice)),
        vocab_(key.vocab),
        shift_(key.shift),
        generator_(seed_) {}

  void row(int t, std::span<double> g) override {
    const int step = t + shift_;
    if (step < 0) {
      for (double& v : g) v = std::nan("");
      return;
    }
    if (step < next_) {
      generator_ = Mt19937(seed_);
      next_ = 0;
    }
    const auto words = 2 * static_cast<std::uint64_t>(vocab_);
    generator_.discard(words * static_cast<std::uint64_t>(step - next_));
    for (double& v : g) {
      const double u = static_cast<double>(generator_.next64() & ((1ULL << 53) - 1)) * 0x1p-53;
      const auto e = static_cast<float>(-std::log1p(-u));
      v = -std::log(static_cast<double>(e));
    }
    generator_.discard(words - 2 * g.size());
    next_ = step + 1;
  }

 private:
  std::uint32_t seed_;
  int vocab_, shift_;
  Mt19937 generator_;
  int next_ = 0;
};

}  // namespace

std::unique_ptr<NoiseSource> make_torch_cpu_noise(const NoiseKey& key) {
  return std::make_unique<TorchCpuExponential>(key);
}

}  // namespace difr
