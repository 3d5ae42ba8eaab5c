#include "core/casefile/sampling_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include "core/util/error.h"

namespace difr {
namespace {

using simdjson::dom::element;

/// Finite doubles with all digits they need; `{}` alone would print 1 for 1.0, which reads back the same.
std::string number(double value) {
  return fmt::format("{}", value);
}

std::string ids(const std::vector<TokenId>& values) {
  return fmt::format("[{}]", fmt::join(values, ","));
}

std::vector<TokenId> read_ids(const element& list) {
  std::vector<TokenId> out;
  for (const element id : list.get_array()) out.push_back(static_cast<TokenId>(std::int64_t(id)));
  return out;
}

[[noreturn]] void unreadable(const std::string& where, const char* why) {
  throw bad_input(where, std::string("stored JSON cannot be read: ") + why, "restore the case file from a copy");
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

std::string to_json(const SamplingParams& s) {
  std::string bias;
  for (const auto& [id, value] : s.logit_bias)
    bias += fmt::format("{}[{},{}]", bias.empty() ? "" : ",", id, number(value));
  return fmt::format(
      R"({{"temperature":{},"top_p":{},"top_k":{},"min_p":{},"repetition_penalty":{},"frequency_penalty":{},)"
      R"("presence_penalty":{},"min_tokens":{},"logit_bias":[{}],"allowed_token_ids":{},"stop_token_ids":{}}})",
      number(s.temperature), number(s.top_p), s.top_k, number(s.min_p), number(s.repetition_penalty),
      number(s.frequency_penalty), number(s.presence_penalty), s.min_tokens, bias, ids(s.allowed_token_ids),
      ids(s.stop_token_ids));
}

SamplingParams sampling_from_json(std::string_view json, const std::string& where) {
  thread_local simdjson::dom::parser parser;
  try {
    const element root = parser.parse(json.data(), json.size());
    SamplingParams s;
    s.temperature = double(root["temperature"]);
    s.top_p = double(root["top_p"]);
    s.top_k = static_cast<int>(std::int64_t(root["top_k"]));
    s.min_p = double(root["min_p"]);
    s.repetition_penalty = double(root["repetition_penalty"]);
    s.frequency_penalty = double(root["frequency_penalty"]);
    s.presence_penalty = double(root["presence_penalty"]);
    s.min_tokens = static_cast<int>(std::int64_t(root["min_tokens"]));
    for (const element pair : root["logit_bias"].get_array())
      s.logit_bias.emplace_back(static_cast<TokenId>(std::int64_t(pair.at(0))), double(pair.at(1)));
    s.allowed_token_ids = read_ids(root["allowed_token_ids"]);
    s.stop_token_ids = read_ids(root["stop_token_ids"]);
    return s;
  } catch (const simdjson::simdjson_error& error) {
    unreadable(where, error.what());
  }
}

std::string to_json(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts) (out += out.empty() ? "" : ",") += json_quoted(text);
  return '[' + out + ']';
}

std::vector<std::string> texts_from_json(std::string_view json, const std::string& where) {
  thread_local simdjson::dom::parser parser;
  try {
    std::vector<std::string> out;
    for (const element text : parser.parse(json.data(), json.size()).get_array())
      out.emplace_back(std::string_view(text));
    return out;
  } catch (const simdjson::simdjson_error& error) {
    unreadable(where, error.what());
  }
}

}  // namespace difr
