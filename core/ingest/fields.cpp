#include "core/ingest/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace difr {
namespace {

using simdjson::dom::element_type;

const char* type_name(const JsonElement& element) {
  switch (element.type()) {
    case element_type::ARRAY:
      return "a list";
    case element_type::OBJECT:
      return "an object";
    case element_type::INT64:
    case element_type::UINT64:
      return "an integer";
    case element_type::DOUBLE:
      return "a number with a fraction";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "true or false";
    case element_type::NULL_VALUE:
      return "null";
  }
  return "something else";
}

struct Range {
  double low, high;
  bool low_open;
};

/// One number under any of several names.
bool read_number(const JsonObject& object, std::initializer_list<std::string_view> names, const Range& range,
                 double& into, ReadRecord& out) {
  for (const auto name : names) {
    const auto value = member(object, name);
    if (!value) continue;
    double number = 0;
    if (value->get(number) != simdjson::SUCCESS) {
      out.reject("wrong-type", fmt::format("{} is {}, not a number", in_quotes(name), type_name(*value)),
                 "write the sampling parameters as numbers");
      return false;
    }
    if (!(number <= range.high) || !(range.low_open ? number > range.low : number >= range.low)) {
      out.reject("bad-parameter", fmt::format("{} is {}, outside what an engine accepts", in_quotes(name), number),
                 "correct the parameter to what was really used");
      return false;
    }
    into = number;
    return true;
  }
  return true;
}

bool read_count(const JsonObject& object, std::initializer_list<std::string_view> names, int lowest, int& into,
                ReadRecord& out) {
  for (const auto name : names) {
    const auto value = member(object, name);
    if (!value) continue;
    std::int64_t number = 0;
    if (value->get(number) != simdjson::SUCCESS) {
      out.reject("wrong-type", fmt::format("{} is {}, not an integer", in_quotes(name), type_name(*value)),
                 "write the sampling parameters as numbers");
      return false;
    }
    if (number < lowest || number > std::numeric_limits<int>::max()) {
      out.reject("bad-parameter", fmt::format("{} is {}, outside what an engine accepts", in_quotes(name), number),
                 "correct the parameter to what was really used");
      return false;
    }
    into = static_cast<int>(number);
    return true;
  }
  return true;
}

bool read_bias(const JsonObject& object, SamplingParams& into, ReadRecord& out) {
  const auto bias = object_member(object, "logit_bias");
  if (!bias) return true;
  into.logit_bias.clear();
  for (const auto& [key, value] : *bias) {
    TokenId id = -1;
    double number = 0;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
    if (parsed.ec != std::errc() || parsed.ptr != key.data() + key.size() || id < 0 ||
        value.get(number) != simdjson::SUCCESS) {
      out.reject("bad-parameter",
                 fmt::format("logit_bias has the entry {}, not a token id with a number", in_quotes(key)),
                 "correct the parameter to what was really used");
      return false;
    }
    into.logit_bias.emplace_back(id, number);
  }
  std::sort(into.logit_bias.begin(), into.logit_bias.end());
  return true;
}

bool read_id_list(const JsonObject& object, std::string_view key, std::vector<TokenId>& into, ReadRecord& out) {
  const auto list = member(object, key);
  if (!list) return true;
  auto ids = read_ids(*list, key, 0, out);
  if (!ids) return false;
  into = std::move(*ids);
  return true;
}

/// Stated, and neither null, false, empty nor zero.
bool is_on(const JsonObject& object, std::string_view key) {
  const auto value = member(object, key);
  if (!value) return false;
  switch (value->type()) {
    case element_type::BOOL:
      return bool(*value);
    case element_type::INT64:
      return std::int64_t(*value) != 0;
    case element_type::ARRAY:
      return simdjson::dom::array(*value).size() > 0;
    case element_type::OBJECT:
      return JsonObject(*value).size() > 0;
    case element_type::STRING:
      return !std::string_view(*value).empty();
    default:
      return true;
  }
}

void remark_unmodelled(const JsonObject& object, ReadRecord& out) {
  static constexpr std::array<std::string_view, 16> unmodelled = {
      "bad_words",     "logits_processors", "guided_json",        "guided_regex",
      "guided_choice", "guided_grammar",    "structured_outputs", "use_beam_search",
      "typical_p",     "mirostat",          "xtc_probability",    "dry_multiplier",
      "top_n_sigma",   "dynatemp_range",    "watermark",          "speculative_config"};
  for (const auto key : unmodelled)
    if (is_on(object, key))
      out.remark("unmodelled-parameter", fmt::format("{} changes the sampling and is not modelled", in_quotes(key)),
                 "margins of this request may be large for that reason alone; leave it out or audit it apart");
}

}  // namespace

std::string in_quotes(std::string_view text) {
  return fmt::format("“{}”", text.substr(0, 60));
}

std::optional<JsonElement> member(const JsonObject& object, std::string_view key) {
  JsonElement element;
  if (object[key].get(element) != simdjson::SUCCESS || element.is_null()) return std::nullopt;
  return element;
}

std::optional<JsonObject> object_member(const JsonObject& object, std::string_view key) {
  const auto element = member(object, key);
  JsonObject inner;
  if (!element || element->get(inner) != simdjson::SUCCESS) return std::nullopt;
  return inner;
}

std::optional<std::int64_t> integer_member(const JsonObject& object, std::string_view key) {
  std::int64_t value = 0;
  if (object[key].get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

std::string text_member(const JsonObject& object, std::string_view key) {
  const auto element = member(object, key);
  std::string_view text;
  if (!element || element->get(text) != simdjson::SUCCESS) return {};
  return std::string(text);
}

bool has_list(const JsonObject& object, std::string_view key) {
  const auto element = member(object, key);
  return element && element->is_array();
}

std::optional<std::vector<TokenId>> read_ids(const JsonElement& list, std::string_view field, int vocab,
                                             ReadRecord& out) {
  simdjson::dom::array array;
  if (list.get(array) != simdjson::SUCCESS) {
    out.reject("ids-wrong-type", fmt::format("{} is {}, not a list of token ids", in_quotes(field), type_name(list)),
               "export token ids as a list of integers");
    return std::nullopt;
  }
  std::vector<TokenId> ids;
  ids.reserve(array.size());
  const std::int64_t limit = vocab > 0 ? vocab : std::int64_t{1} << 31;
  for (const JsonElement element : array) {
    std::int64_t id = 0;
    if (element.type() != element_type::INT64) {
      const bool huge = element.type() == element_type::UINT64;
      out.reject(
          huge ? "ids-out-of-range" : "ids-not-integers",
          huge ? fmt::format("{} has the id {} at position {}", in_quotes(field), std::uint64_t(element), ids.size())
               : fmt::format("{} has {} at position {}", in_quotes(field), type_name(element), ids.size()),
          "export the engine's own token ids");
      return std::nullopt;
    }
    id = std::int64_t(element);
    if (id < 0) {
      out.reject("ids-negative", fmt::format("{} has the id {} at position {}", in_quotes(field), id, ids.size()),
                 "export the engine's own token ids; padding and placeholders must be left out");
      return std::nullopt;
    }
    if (id >= limit) {
      out.reject("ids-out-of-range",
                 vocab > 0 ? fmt::format("{} has the id {} at position {}, but the vocabulary ends at {}",
                                         in_quotes(field), id, ids.size(), vocab - 1)
                           : fmt::format("{} has the id {} at position {}", in_quotes(field), id, ids.size()),
                 "check that the log belongs to this model and its tokenizer");
      return std::nullopt;
    }
    ids.push_back(static_cast<TokenId>(id));
  }
  return ids;
}

bool read_sampling(const JsonObject& object, SamplingParams& s, ReadRecord& out) {
  constexpr double most = 1e6;
  bool good = read_number(object, {"temperature", "sampling_temperature"}, {0, most, false}, s.temperature, out);
  good = good && read_number(object, {"top_p", "sampling_top_p"}, {0, 1, true}, s.top_p, out);
  good = good && read_count(object, {"top_k", "sampling_top_k"}, -1, s.top_k, out);
  good = good && read_number(object, {"min_p"}, {0, 1, false}, s.min_p, out);
  good =
      good && read_number(object, {"repetition_penalty", "repeat_penalty"}, {0, most, true}, s.repetition_penalty, out);
  good = good && read_number(object, {"frequency_penalty"}, {-most, most, false}, s.frequency_penalty, out);
  good = good && read_number(object, {"presence_penalty"}, {-most, most, false}, s.presence_penalty, out);
  good = good && read_count(object, {"min_tokens"}, 0, s.min_tokens, out);
  good = good && read_bias(object, s, out);
  good = good && read_id_list(object, "allowed_token_ids", s.allowed_token_ids, out);
  good = good && read_id_list(object, "stop_token_ids", s.stop_token_ids, out);
  s.top_k = std::max(s.top_k, 0);  // -1 is how some engines write "off"
  if (good) remark_unmodelled(object, out);
  return good;
}

bool read_seed(const JsonObject& object, std::string_view key, std::optional<std::int64_t>& into, ReadRecord& out) {
  const auto value = member(object, key);
  if (!value) return true;
  if (value->type() == element_type::UINT64) {
    out.remark("seed-out-of-range",
               fmt::format("{} is {}, above what a signed 64-bit integer holds", in_quotes(key), std::uint64_t(*value)),
               "engines refuse or fold such a seed: log the one that was used");
    into.reset();
    return true;
  }
  std::int64_t seed = 0;
  if (value->get(seed) != simdjson::SUCCESS) {
    out.reject("wrong-type", fmt::format("{} is {}, not an integer", in_quotes(key), type_name(*value)),
               "log the seed as an integer");
    return false;
  }
  if (seed == -1) {
    out.remark("seed-minus-one", "the seed is -1, which means a random one to the engine",
               "send a seed of your own with each request");
    into.reset();
    return true;
  }
  into = seed;
  return true;
}

float read_logprob(const JsonElement& value) {
  double number = 0;
  // vLLM writes -9999 for minus infinity.
  if (value.get(number) != simdjson::SUCCESS || number > 1e-3) return std::numeric_limits<float>::quiet_NaN();
  return number <= -9999 ? -std::numeric_limits<float>::infinity() : static_cast<float>(number);
}

std::vector<float> read_logprobs(const JsonElement& list, std::size_t tokens) {
  simdjson::dom::array array;
  std::vector<float> out;
  if (list.get(array) != simdjson::SUCCESS || array.size() != tokens) return out;
  for (const JsonElement value : array) out.push_back(read_logprob(value));
  return out;
}

ProviderConfig read_config(const JsonObject& config, std::string fallback_name, ReadRecord& out) {
  ProviderConfig c;
  c.name = text_member(config, "provider");
  if (c.name.empty()) c.name = std::move(fallback_name);
  c.model = text_member(config, "model");
  if (c.model.empty()) c.model = text_member(config, "trusted_model_name");
  c.engine = text_member(config, "engine");
  c.engine_version = text_member(config, "engine_version");
  c.sampler = text_member(config, "sampler");
  c.dtype = text_member(config, "dtype");
  read_sampling(config, c.sampling, out);
  if (const auto nested = object_member(config, "sampling_params")) read_sampling(*nested, c.sampling, out);
  c.raw_json = simdjson::minify(config);
  return c;
}

std::optional<std::int64_t> seed_before_choice(std::optional<std::int64_t> own, int choice) {
  if (!own) return own;
  // Wraps as the engine's 64-bit integer would; signed overflow must not happen here.
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(*own) - static_cast<std::uint64_t>(choice));
}

}  // namespace difr
