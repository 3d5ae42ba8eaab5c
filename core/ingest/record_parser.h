#pragma once
// One record's text to a JSON tree, with the parser's complaints as findings.

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

#include "core/ingest/format_reader.h"

namespace difr {

class RecordParser {
 public:
  /// `text` must be followed by 64 readable bytes when `padded`. Bare NaN and Infinity, which Python writes, become the
  /// strings "NaN" and "Infinity". Nothing, and a rejection, when it is not JSON. Valid until the next call.
  std::optional<simdjson::dom::element> parse(std::string_view text, bool padded, ReadRecord& out);

 private:
  simdjson::dom::parser parser_;
  std::string rewritten_;
};

}  // namespace difr
