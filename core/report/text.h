#pragma once
// Text that comes from logs is arbitrary bytes: made safe here, once, before any page or file is written.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace difr::report {

/// Valid UTF-8 for display: broken sequences, non-characters and direction overrides become U+FFFD, control characters
/// their visible pictures. Newline and tab are kept.
[[nodiscard]] std::string clean_utf8(std::string_view bytes);

/// As clean_utf8, with newline and tab as visible marks too: for tokens and table cells.
[[nodiscard]] std::string visible(std::string_view bytes);

/// Escapes & < > " ' for XML text and attributes. Input must be clean.
[[nodiscard]] std::string escape_xml(std::string_view clean);

/// Cuts after `max_chars` code points and adds an ellipsis.
[[nodiscard]] std::string shorten(std::string_view clean, std::size_t max_chars);

/// Four significant digits, no exponent between 1e-6 and 1e6; "–" for NaN, "∞" for infinity.
[[nodiscard]] std::string number(double value, int digits = 4);
/// A given parameter, as short as it can be written: 0.001, 1.
[[nodiscard]] std::string setting(double value);
[[nodiscard]] std::string percent(double share);
/// Never "0": "< 0.0001" below that.
[[nodiscard]] std::string p_text(double p);
/// With thin separators: 12,345.
[[nodiscard]] std::string count(std::size_t n);
[[nodiscard]] std::string plural(std::size_t n, std::string_view one, std::string_view many);

[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace difr::report
