#pragma once
// Commit and reveal: a party fixes a secret before an event and reveals it afterwards; what is drawn from secret and
// event together neither side could steer. The auditor draws the sample (and may draw the projection's seed) this way.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/util/sha256.h"

namespace difr {

using Secret = std::array<std::uint8_t, 32>;

/// From the operating system. Throws difr::Error (environment) when it has none.
[[nodiscard]] Secret random_secret();

/// SHA-256 over "difr commit v1", the purpose and the secret, each with its length before it. The purpose separates
/// uses: a secret opened for one does not open another's commitment.
[[nodiscard]] Digest commit(const Secret& secret, std::string_view purpose);
[[nodiscard]] bool opens(const Digest& commitment, const Secret& secret, std::string_view purpose);

/// Purposes in use.
inline constexpr std::string_view kSamplePurpose = "audit sample";
inline constexpr std::string_view kProjectionPurpose = "projection seed";

/// Random numbers that are a function of secret, purpose and event (e.g. a checkpoint's root): block i is SHA-256 over
/// "difr draw v1", purpose, secret, event and i.
class RevealedStream {
 public:
  RevealedStream(const Secret& secret, std::string_view purpose, std::string_view event);
  /// 64 bits, little-endian from the block.
  std::uint64_t next();
  /// Uniform on {0, ..., n-1} by rejection; n > 0.
  std::uint64_t below(std::uint64_t n);

 private:
  Secret secret_;
  std::string purpose_;
  std::string event_;
  Digest block_{};
  std::int64_t counter_ = 0;
  std::size_t used_ = 4;  ///< words of the block
};

/// `count` distinct entries of 0..population-1, ascending; every set of that size is equally likely. Throws difr::Error
/// (usage) when count exceeds the population.
[[nodiscard]] std::vector<std::uint64_t> draw_sample(RevealedStream stream, std::uint64_t population,
                                                     std::uint64_t count);

/// The projection's seed: 32 bits, since torch's generator sees no more.
[[nodiscard]] std::uint64_t draw_projection_seed(const Secret& secret, std::string_view event);

}  // namespace difr
