#pragma once
// Noise of random-access sources: the whole row and single entries from one per-element function.

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/sampling/profile.h"

namespace difr {

inline double gumbel(double u) {
  return -std::log(-std::log(u));
}

/// `Kernel` has step(t) -> optional<State> (empty before the stream's start), entry(State, column) -> double, and
/// perhaps fill(State, row), vectorised and good to 1e-6 of entry().
template <class Kernel>
class CounterNoise : public NoiseSource {
 public:
  explicit CounterNoise(Kernel kernel) : kernel_(std::move(kernel)) {}

  void row(int t, std::span<double> g) override {
    const auto state = kernel_.step(t);
    if constexpr (requires { kernel_.fill(*state, g); }) {
      if (state) return kernel_.fill(*state, g);
    }
    for (std::size_t i = 0; i < g.size(); ++i)
      g[i] = state ? kernel_.entry(*state, static_cast<std::uint32_t>(i)) : kNoNoise;
  }
  void at(int t, std::span<const TokenId> ids, std::span<double> out) override {
    const auto state = kernel_.step(t);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      out[i] = state ? kernel_.entry(*state, static_cast<std::uint32_t>(ids[i])) : kNoNoise;
    }
  }

 protected:
  static constexpr double kNoNoise = std::numeric_limits<double>::quiet_NaN();
  Kernel kernel_;
};

/// Position of the input token whose logits are sampled; empty when a shift points before the sequence.
inline std::optional<std::int64_t> input_position(const NoiseKey& key, int t) {
  const std::int64_t pos = std::int64_t{key.prompt_len} - 1 + t + key.shift;
  return pos < 0 ? std::nullopt : std::optional(pos);
}

}  // namespace difr
