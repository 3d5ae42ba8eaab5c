#pragma once
// Counter-based random numbers: draw i of stream (seed, stream, index) is a pure function of those four integers, so
// a resampling result does not depend on the order or the number of threads that computed it.

#include <cstdint>

namespace difr {

/// splitmix64 over a keyed counter (Steele, Lea, Flood 2014). Not for cryptography.
class CounterRng {
 public:
  CounterRng(std::uint64_t seed, std::uint64_t stream, std::uint64_t index)
      : key_(mix(mix(mix(seed) ^ (stream * 0xD1342543DE82EF95ULL)) + index * 0x9E3779B97F4A7C15ULL)) {}

  std::uint64_t next() { return mix(key_ + (++counter_) * 0x9E3779B97F4A7C15ULL); }
  /// Uniform on [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Uniform on {0, ..., n-1}, without modulo bias; n > 0.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t reject = (0 - n) % n;  // 2^64 mod n
    for (;;) {
      const std::uint64_t draw = next();
      if (draw >= reject) return draw % n;
    }
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace difr
