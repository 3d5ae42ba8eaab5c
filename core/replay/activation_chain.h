#pragma once
// A hash chain over the states a sequence went through: two runs that agree in its last link agreed in every bit.

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace difr {

/// link(t) = first 8 bytes of SHA-256(domain, link(t - 1), state(t) as fp32 little-endian bits).
class ActivationChain {
 public:
  void add(std::span<const float> state);
  /// The newest link as 16 hex digits.
  [[nodiscard]] std::string link() const;

 private:
  std::array<std::uint8_t, 8> link_{};
};

}  // namespace difr
