#pragma once
// Base64 (RFC 4648, section 4), strict: what is not exactly base64 is refused, never guessed.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace difr {

[[nodiscard]] std::string base64_encode(std::span<const std::uint8_t> bytes);

/// Empty optional for a foreign character, missing or misplaced padding, or set bits beyond the data.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> base64_decode(std::string_view text);

}  // namespace difr
