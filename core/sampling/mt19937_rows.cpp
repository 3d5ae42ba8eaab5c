#include "core/sampling/mt19937.h"

namespace difr {
namespace {

constexpr int kShift = 397;

std::uint32_t twist(std::uint32_t high, std::uint32_t low, std::uint32_t far) {
  const std::uint32_t y = (high & 0x80000000U) | (low & 0x7fffffffU);
  return far ^ (y >> 1) ^ ((0U - (y & 1U)) & 0x9908b0dfU);
}

}  // namespace

void Mt19937::renew() {
  std::uint32_t* s = state_.data();
  for (int i = 0; i < kWords - kShift; ++i) s[i] = twist(s[i], s[i + 1], s[i + kShift]);
  for (int i = kWords - kShift; i < kWords - 1; ++i) s[i] = twist(s[i], s[i + 1], s[i + kShift - kWords]);
  s[kWords - 1] = twist(s[kWords - 1], s[0], s[kShift - 1]);
  for (int i = 0; i < kWords; ++i) {
    std::uint32_t y = s[i];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    words_[static_cast<std::size_t>(i)] = y ^ (y >> 18);
  }
  index_ = 0;
}

}  // namespace difr
