#pragma once
// Counter-based integer functions, one element at a time. Each is the single definition that row, vector and device
// code are held against.

#include <array>
#include <bit>
#include <cstdint>

namespace difr {

/// Finaliser of SplitMix64 (Steele, Lea and Flood).
constexpr std::uint64_t splitmix64_mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}
inline constexpr std::uint64_t kSplitmixGamma = 0x9E3779B97F4A7C15ULL;

using Words4 = std::array<std::uint32_t, 4>;

/// Philox4x32 (Salmon et al., Random123). Ten rounds unless asked otherwise.
constexpr Words4 philox4x32(Words4 c, std::uint32_t k0, std::uint32_t k1, int rounds = 10) {
  for (int i = 0; i < rounds; ++i) {
    const std::uint64_t a = std::uint64_t{0xD2511F53U} * c[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(a)};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

/// One block of MurmurHash3_x86_32.
constexpr std::uint32_t murmur3_block(std::uint32_t h, std::uint32_t k) {
  k = std::rotl(k * 0xCC9E2D51U, 15) * 0x1B873593U;
  return std::rotl(h ^ k, 13) * 5U + 0xE6546B64U;
}
constexpr std::uint32_t murmur3_final(std::uint32_t h, std::uint32_t length) {
  h ^= length;
  h = (h ^ (h >> 16)) * 0x85EBCA6BU;
  h = (h ^ (h >> 13)) * 0xC2B2AE35U;
  return h ^ (h >> 16);
}
/// State after seed and position; the column (token id or rank) is the last block. `domain` separates streams.
constexpr std::uint32_t murmur3_prefix(std::uint64_t seed, std::uint32_t pos, std::uint32_t domain) {
  std::uint32_t h = murmur3_block(domain, static_cast<std::uint32_t>(seed));
  h = murmur3_block(h, static_cast<std::uint32_t>(seed >> 32));
  return murmur3_block(h, pos);
}
constexpr std::uint32_t murmur3_column(std::uint32_t prefix, std::uint32_t column) {
  return murmur3_final(murmur3_block(prefix, column), 16);
}

using Words2 = std::array<std::uint32_t, 2>;

/// Threefry2x32, 20 rounds (Random123), as JAX and MLX use it.
constexpr Words2 threefry2x32(Words2 key, Words2 x) {
  constexpr std::array<int, 8> rotations{13, 15, 26, 6, 17, 29, 16, 24};
  const std::array<std::uint32_t, 3> ks{key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAU};
  x[0] += ks[0];
  x[1] += ks[1];
  for (std::uint32_t group = 0; group < 5; ++group) {
    for (std::size_t r = 0; r < 4; ++r) {
      x[0] += x[1];
      x[1] = std::rotl(x[1], rotations[(group % 2) * 4 + r]) ^ x[0];
    }
    x[0] += ks[(group + 1) % 3];
    x[1] += ks[(group + 2) % 3] + group + 1;
  }
  return x;
}

}  // namespace difr
