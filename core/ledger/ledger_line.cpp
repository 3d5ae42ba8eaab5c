#include "core/ledger/ledger_line.h"

#include <fmt/core.h>

#include <algorithm>

namespace difr {

namespace {

constexpr std::string_view kPrevious = ",\"prev\":\"";
constexpr std::string_view kHash = "\",\"hash\":\"";
constexpr std::string_view kBody = "\",\"body\":";
constexpr std::size_t kHexDigits = 64;

std::string line_start(std::uint64_t index, const Digest& previous) {
  return fmt::format("{{\"n\":{}{}{}{}", index, kPrevious, to_hex(previous), kHash);
}

}  // namespace

Digest ledger_hash(std::uint64_t index, const Digest& previous, std::string_view body) {
  return Sha256()
      .field("difr ledger v1")
      .field(static_cast<std::int64_t>(index))
      .field(std::span<const std::uint8_t>(previous))
      .field(body)
      .finish();
}

std::string ledger_line(std::uint64_t index, const Digest& previous, const Digest& hash, std::string_view body) {
  return fmt::format("{}{}{}{}}}", line_start(index, previous), to_hex(hash), kBody, body);
}

tl::expected<LedgerLine, std::string> parse_ledger_line(std::string_view line, std::uint64_t index,
                                                        const Digest& previous) {
  const std::string number = fmt::format("{{\"n\":{}{}", index, kPrevious);
  if (!line.starts_with(number)) return tl::unexpected(fmt::format("is not the line of record {}", index));
  const std::string start = line_start(index, previous);
  if (!line.starts_with(start)) return tl::unexpected(std::string("does not follow the record before it"));
  const std::string_view rest = line.substr(start.size());
  if (rest.size() < kHexDigits + kBody.size() + 3 || rest.substr(kHexDigits, kBody.size()) != kBody ||
      !rest.ends_with('}'))
    return tl::unexpected(std::string("is not a ledger line"));
  LedgerLine result;
  result.body = rest.substr(kHexDigits + kBody.size());
  result.body.remove_suffix(1);
  result.hash = ledger_hash(index, previous, result.body);
  if (to_hex(result.hash) != rest.substr(0, kHexDigits))
    return tl::unexpected(std::string("was changed: its hash does not fit its body"));
  return result;
}

bool starts_a_ledger(std::string_view bytes) {
  const std::string start = line_start(0, Digest{});
  const std::size_t common = std::min(start.size(), bytes.size());
  return bytes.substr(0, common) == std::string_view(start).substr(0, common);
}

}  // namespace difr
