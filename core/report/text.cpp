#include "core/report/text.h"

#include <fmt/format.h>

#include <cmath>

namespace difr::report {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

/// Length of the valid sequence at `i`, or 0. Overlong forms, surrogates and values above U+10FFFF are invalid.
std::size_t decode(std::string_view s, std::size_t i, std::uint32_t& c) {
  const auto byte = [&](std::size_t k) -> std::uint32_t { return static_cast<unsigned char>(s[k]); };
  const std::uint32_t b = byte(i);
  if (b < 0x80) {
    c = b;
    return 1;
  }
  std::size_t length = 0;
  std::uint32_t least = 0;
  if (b >= 0xC2 && b <= 0xDF) {
    length = 2, least = 0x80, c = b & 0x1F;
  } else if (b >= 0xE0 && b <= 0xEF) {
    length = 3, least = 0x800, c = b & 0x0F;
  } else if (b >= 0xF0 && b <= 0xF4) {
    length = 4, least = 0x10000, c = b & 0x07;
  } else {
    return 0;
  }
  if (i + length > s.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
    c = (c << 6) | (byte(i + k) & 0x3F);
  }
  if (c < least || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return 0;
  return length;
}

/// Direction overrides can make a line read as what it is not; non-characters are not allowed in XML.
bool deceptive(std::uint32_t c) {
  return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E || c == 0x200F || c == 0x061C ||
         (c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF);
}

std::string clean(std::string_view bytes, bool keep_layout) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    std::uint32_t c = 0;
    const std::size_t length = decode(bytes, i, c);
    if (length == 0 || deceptive(c)) {
      out += replacement;
      i += length == 0 ? 1 : length;
      continue;
    }
    i += length;
    if (c == '\n' || c == '\t') {
      if (keep_layout) {
        out += static_cast<char>(c);
      } else {
        out += c == '\n' ? "↵" : "→";
      }
    } else if (c < 0x20) {
      append_utf8(out, 0x2400 + c);
    } else if (c == 0x7F) {
      append_utf8(out, 0x2421);
    } else if ((c >= 0x80 && c < 0xA0) || c == 0x2028 || c == 0x2029) {
      out += replacement;
    } else {
      append_utf8(out, c);
    }
  }
  return out;
}

}  // namespace

std::string clean_utf8(std::string_view bytes) {
  return clean(bytes, true);
}
std::string visible(std::string_view bytes) {
  return clean(bytes, false);
}

std::string escape_xml(std::string_view clean_text) {
  std::string out;
  out.reserve(clean_text.size() + clean_text.size() / 8);
  for (const char c : clean_text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string shorten(std::string_view text, std::size_t max_chars) {
  std::size_t chars = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
    if (chars == max_chars) return std::string(text.substr(0, i)) + "…";
    ++chars;
  }
  return std::string(text);
}

std::string number(double value, int digits) {
  if (std::isnan(value)) return "–";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  if (value == 0) return "0";
  const double magnitude = std::fabs(value);
  std::string text;
  if (magnitude >= 1e-6 && magnitude < 1e6) {
    const int decimals = std::max(0, digits - 1 - static_cast<int>(std::floor(std::log10(magnitude))));
    text = fmt::format("{:.{}f}", magnitude, decimals);
  } else {
    text = fmt::format("{:.{}e}", magnitude, digits - 1);
  }
  return value < 0 ? "−" + text : text;
}

std::string setting(double value) {
  return std::isfinite(value) ? fmt::format("{:g}", value) : number(value);
}

std::string percent(double share) {
  if (!std::isfinite(share)) return number(share);
  return fmt::format("{:.2f} %", 100 * share);
}

std::string p_text(double p) {
  if (std::isnan(p)) return "–";
  if (p < 1e-4) return "<\u00a00.0001";
  return fmt::format("{:.4f}", p);
}

std::string count(std::size_t n) {
  std::string digits = std::to_string(n);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string plural(std::size_t n, std::string_view one, std::string_view many) {
  return count(n) + " " + std::string(n == 1 ? one : many);
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      word = (word << 8) | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= bytes.size() - i ? alphabet[(word >> (18 - 6 * k)) & 63] : '=';
    }
  }
  return out;
}

}  // namespace difr::report
