#pragma once
// Normalizers and pre-tokenizers of a tokenizer.json: text to the pieces that byte-pair encoding works on. Internal to
// core/tokenizer.

#include <simdjson.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace difr::tokenizer {

/// Changes a text.
using Normalizer = std::function<std::string(std::string)>;
/// Splits a list of pieces further. `first`: the list begins at the beginning of the whole text.
using PreTokenizer = std::function<std::vector<std::string>(std::vector<std::string>, bool first)>;

/// Both throw difr::Error naming `where` and the type when it is not supported. An absent or null element changes
/// nothing.
[[nodiscard]] Normalizer make_normalizer(simdjson::simdjson_result<simdjson::dom::element> from,
                                         const std::string& where);
[[nodiscard]] PreTokenizer make_pre_tokenizer(simdjson::simdjson_result<simdjson::dom::element> from,
                                              const std::string& where);

}  // namespace difr::tokenizer
