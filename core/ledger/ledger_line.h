#pragma once
// One line of the capture ledger, to and from bytes.

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "core/util/sha256.h"

namespace difr {

/// SHA-256 over "difr ledger v1", index, the hash before and the body, each with its length before it.
[[nodiscard]] Digest ledger_hash(std::uint64_t index, const Digest& previous, std::string_view body);

/// Without newline.
[[nodiscard]] std::string ledger_line(std::uint64_t index, const Digest& previous, const Digest& hash,
                                      std::string_view body);

struct LedgerLine {
  Digest hash{};
  std::string_view body;
};
/// Checks form, index, chain and hash; the string says what is wrong.
[[nodiscard]] tl::expected<LedgerLine, std::string> parse_ledger_line(std::string_view line, std::uint64_t index,
                                                                      const Digest& previous);

/// Could `bytes` be the start of a ledger's first line, cut off?
[[nodiscard]] bool starts_a_ledger(std::string_view bytes);

}  // namespace difr
