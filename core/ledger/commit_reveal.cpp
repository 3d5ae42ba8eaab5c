#include "core/ledger/commit_reveal.h"

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <unordered_set>

#include "core/util/error.h"

namespace difr {

Secret random_secret() {
  Secret secret{};
  if (RAND_priv_bytes(secret.data(), static_cast<int>(secret.size())) != 1)
    throw environment_error("OpenSSL", "no random numbers are available", "check the system's entropy source");
  return secret;
}

Digest commit(const Secret& secret, std::string_view purpose) {
  return Sha256().field("difr commit v1").field(purpose).field(std::span<const std::uint8_t>(secret)).finish();
}

bool opens(const Digest& commitment, const Secret& secret, std::string_view purpose) {
  const Digest own = commit(secret, purpose);
  return CRYPTO_memcmp(own.data(), commitment.data(), own.size()) == 0;
}

RevealedStream::RevealedStream(const Secret& secret, std::string_view purpose, std::string_view event)
    : secret_(secret), purpose_(purpose), event_(event) {}

std::uint64_t RevealedStream::next() {
  constexpr std::size_t kWords = 4;
  if (used_ == kWords) {
    block_ = Sha256()
                 .field("difr draw v1")
                 .field(purpose_)
                 .field(std::span<const std::uint8_t>(secret_))
                 .field(event_)
                 .field(counter_++)
                 .finish();
    used_ = 0;
  }
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 8; ++i) word |= std::uint64_t{block_[8 * used_ + i]} << (8 * i);
  ++used_;
  return word;
}

std::uint64_t RevealedStream::below(std::uint64_t n) {
  const std::uint64_t reject = (0 - n) % n;  // 2^64 mod n
  for (;;) {
    const std::uint64_t draw = next();
    if (draw >= reject) return draw % n;
  }
}

std::vector<std::uint64_t> draw_sample(RevealedStream stream, std::uint64_t population, std::uint64_t count) {
  if (count > population)
    throw Error(ExitCode::usage, "sample", fmt::format("{} of {} entries asked for", count, population),
                "ask for no more than the ledger holds");
  // Floyd's algorithm: one draw for each entry taken, whatever the population.
  std::unordered_set<std::uint64_t> taken;
  for (std::uint64_t last = population - count; last < population; ++last) {
    const std::uint64_t pick = stream.below(last + 1);
    if (!taken.insert(pick).second) taken.insert(last);
  }
  std::vector<std::uint64_t> sample(taken.begin(), taken.end());
  std::sort(sample.begin(), sample.end());
  return sample;
}

std::uint64_t draw_projection_seed(const Secret& secret, std::string_view event) {
  return RevealedStream(secret, kProjectionPurpose, event).next() & 0xFFFFFFFFu;
}

}  // namespace difr
