#pragma once
// Counter-based integer functions, one element at a time. Each is the single definition that scalar, vector and
// device code are held against.

#include <cstdint>

namespace difr {

/// Finaliser of SplitMix64 (Steele, Lea and Flood).
constexpr std::uint64_t splitmix64_mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}
inline constexpr std::uint64_t kSplitmixGamma = 0x9E3779B97F4A7C15ULL;

}  // namespace difr
