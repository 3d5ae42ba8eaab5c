// Uniform numbers of inverse-CDF samplers: one per sampled token.

#include <vector>

#include "core/sampling/mt19937.h"
#include "core/sampling/uniform_sources.h"

namespace difr {
namespace {

/// std::uniform_real_distribution<double> (and discrete_distribution) of libstdc++ over mt19937: two words, low first.
class LlamaCppUniform final : public UniformSource {
 public:
  explicit LlamaCppUniform(const NoiseKey& key)
      : generator_(static_cast<std::uint32_t>(key.seed + key.choice)), shift_(key.shift) {}

  double at(int t) override {
    const int draw = t + shift_;
    if (draw < 0) return std::numeric_limits<double>::quiet_NaN();
    while (draws_.size() <= static_cast<std::size_t>(draw)) {
      const double low = generator_();
      const double high = generator_();
      const double u = (low + high * 0x1p32) * 0x1p-64;
      draws_.push_back(u < 1.0 ? u : std::nextafter(1.0, 0.0));
    }
    return draws_[static_cast<std::size_t>(draw)];
  }

 private:
  Mt19937 generator_;
  int shift_;
  std::vector<double> draws_;
};

}  // namespace

std::unique_ptr<UniformSource> make_llama_cpp_uniform(const NoiseKey& key) {
  return std::make_unique<LlamaCppUniform>(key);
}

}  // namespace difr
