#include "core/ingest/record_parser.h"

#include <fmt/format.h>

namespace difr {
namespace {

/// Puts quotes around NaN, Infinity and -Infinity outside strings. False when there are none.
bool quote_non_finite(std::string_view text, std::string& out) {
  out.clear();
  bool in_string = false, found = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < text.size()) out += text[++i];
      in_string = c != '"';
      continue;
    }
    std::string_view word;
    if (c == 'N' || c == 'I' || c == '-')
      for (const std::string_view known : {"-Infinity", "Infinity", "NaN"})
        if (text.substr(i, known.size()) == known) word = known;
    if (word.empty()) {
      in_string = c == '"';
      out += c;
      continue;
    }
    ((out += '"') += word) += '"';
    i += word.size() - 1;
    found = true;
  }
  return found;
}

struct Fault {
  const char *kind, *message, *remedy;
};

Fault fault_of(simdjson::error_code code) {
  switch (code) {
    case simdjson::DEPTH_ERROR:
      return {"nesting-too-deep", "the record is nested more than 1,024 levels deep",
              "no log needs that: check how it was written"};
    case simdjson::UTF8_ERROR:
      return {"invalid-utf8", "the record is not valid UTF-8", "convert the log to UTF-8"};
    case simdjson::NUMBER_ERROR:
      return {"bad-number", "a number is malformed or too large for a double", "write numbers as JSON has them"};
    case simdjson::STRING_ERROR:
    case simdjson::UNESCAPED_CHARS:
      return {"bad-string", "a string has a wrong escape or a control character", "escape strings as JSON wants it"};
    case simdjson::CAPACITY:
    case simdjson::MEMALLOC:
      return {"record-too-long", "the record is too large to parse", "split it"};
    default:
      return {"invalid-json", "the record is not valid JSON",
              "check how the log was written; truncated and interleaved lines are common"};
  }
}

}  // namespace

std::optional<simdjson::dom::element> RecordParser::parse(std::string_view text, bool padded, ReadRecord& out) {
  simdjson::dom::element root;
  auto code = parser_.parse(text.data(), text.size(), !padded).get(root);
  if (code != simdjson::SUCCESS && quote_non_finite(text, rewritten_)) code = parser_.parse(rewritten_).get(root);
  if (code == simdjson::SUCCESS) return root;
  const auto fault = fault_of(code);
  out.reject(fault.kind, fmt::format("{} ({})", fault.message, simdjson::error_message(code)), fault.remedy);
  return std::nullopt;
}

}  // namespace difr
