#include "gpu/model/config_reader.h"

#include <cmath>
#include <memory>
#include <utility>

namespace difr::gpu {

namespace {

constexpr const char* kFetchAgain = "fetch the file again";

}  // namespace

ConfigReader::ConfigReader(std::string_view json, std::string where)
    : parser_(std::make_shared<simdjson::dom::parser>()), where_(std::move(where)) {
  if (const auto code = parser_->parse(simdjson::padded_string(json)).get_object().get(root_))
    throw bad_input(where_, std::string("is not a JSON object: ") + simdjson::error_message(code), kFetchAgain);
}

ConfigReader::ConfigReader(std::shared_ptr<simdjson::dom::parser> parser, simdjson::dom::object root, std::string where,
                           std::string prefix)
    : parser_(std::move(parser)), root_(root), where_(std::move(where)), prefix_(std::move(prefix)) {}

Error ConfigReader::error(std::string_view key, const std::string& what, const std::string& remedy) const {
  return bad_input(where_ + ": " + prefix_ + std::string(key), what, remedy);
}

std::optional<simdjson::dom::element> ConfigReader::find(std::string_view key) const {
  simdjson::dom::element value;
  if (root_.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return value;
}

int ConfigReader::integer(std::string_view key, std::optional<int> fallback, int low, int high) const {
  const auto value = find(key);
  std::int64_t number = 0;
  if (!value) {
    if (!fallback) throw error(key, "is missing", kFetchAgain);
    number = *fallback;
  } else if (value->get_int64().get(number) != simdjson::SUCCESS) {
    throw error(key, "is not a whole number", kFetchAgain);
  }
  if (number < low || number > high)
    throw error(key, "is " + std::to_string(number) + ", outside " + std::to_string(low) + ".." + std::to_string(high),
                kFetchAgain);
  return static_cast<int>(number);
}

double ConfigReader::number(std::string_view key, std::optional<double> fallback) const {
  const auto value = find(key);
  if (!value) {
    if (!fallback) throw error(key, "is missing", kFetchAgain);
    return *fallback;
  }
  double number = 0;
  if (value->get_double().get(number) != simdjson::SUCCESS || !std::isfinite(number))
    throw error(key, "is not a number", kFetchAgain);
  return number;
}

bool ConfigReader::boolean(std::string_view key, bool fallback) const {
  const auto value = find(key);
  if (!value) return fallback;
  bool flag = false;
  if (value->get_bool().get(flag) != simdjson::SUCCESS) throw error(key, "is neither true nor false", kFetchAgain);
  return flag;
}

std::string ConfigReader::string(std::string_view key, std::string_view fallback) const {
  const auto value = find(key);
  if (!value) return std::string(fallback);
  std::string_view text;
  if (value->get_string().get(text) != simdjson::SUCCESS) throw error(key, "is not a string", kFetchAgain);
  return std::string(text);
}

std::vector<std::string> ConfigReader::strings(std::string_view key) const {
  std::vector<std::string> list;
  const auto value = find(key);
  if (!value) return list;
  simdjson::dom::array array;
  if (value->get_array().get(array) != simdjson::SUCCESS) throw error(key, "is not a list", kFetchAgain);
  for (const auto element : array) {
    std::string_view text;
    if (element.get_string().get(text) != simdjson::SUCCESS) throw error(key, "is not a list of strings", kFetchAgain);
    list.emplace_back(text);
  }
  return list;
}

std::vector<int> ConfigReader::integers(std::string_view key) const {
  std::vector<int> list;
  const auto value = find(key);
  if (!value) return list;
  simdjson::dom::array array;
  if (value->get_array().get(array) != simdjson::SUCCESS) throw error(key, "is not a list", kFetchAgain);
  for (const auto element : array) {
    std::int64_t number = 0;
    if (element.get_int64().get(number) != simdjson::SUCCESS || number < 0 || number > (1 << 30))
      throw error(key, "is not a list of small whole numbers", kFetchAgain);
    list.push_back(static_cast<int>(number));
  }
  return list;
}

std::optional<ConfigReader> ConfigReader::object(std::string_view key) const {
  const auto value = find(key);
  if (!value) return std::nullopt;
  simdjson::dom::object child;
  if (value->get_object().get(child) != simdjson::SUCCESS) throw error(key, "is not an object", kFetchAgain);
  return ConfigReader(parser_, child, where_, prefix_ + std::string(key) + ".");
}

namespace {

/// `scaling` carries the kind's settings; theta may lie in it (new spelling) or be given (old spelling).
RopeSpec read_rope(const ConfigReader& scaling, double theta, int max_positions) {
  RopeSpec rope;
  rope.theta = scaling.number("rope_theta", theta);
  if (!(rope.theta > 0)) throw scaling.error("rope_theta", "is not positive", kFetchAgain);
  const auto kind = scaling.string("rope_type", scaling.string("type", "default"));
  if (kind == "default") return rope;
  if (kind == "linear")
    rope.kind = RopeKind::linear;
  else if (kind == "llama3")
    rope.kind = RopeKind::llama3;
  else if (kind == "yarn")
    rope.kind = RopeKind::yarn;
  else
    throw scaling.error("rope_type", "'" + kind + "' is not supported", "supported: default, linear, llama3, yarn");
  rope.factor = scaling.number("factor", std::nullopt);
  if (!(rope.factor >= 1)) throw scaling.error("factor", "is below 1", kFetchAgain);
  rope.original_positions = scaling.integer("original_max_position_embeddings", max_positions, 1, 1 << 30);
  if (rope.kind == RopeKind::llama3) {
    rope.low_freq_factor = scaling.number("low_freq_factor", std::nullopt);
    rope.high_freq_factor = scaling.number("high_freq_factor", std::nullopt);
    if (!(rope.low_freq_factor > 0) || !(rope.high_freq_factor > rope.low_freq_factor))
      throw scaling.error("high_freq_factor", "is not above a positive low_freq_factor", kFetchAgain);
  }
  if (rope.kind == RopeKind::yarn) {
    rope.beta_fast = scaling.number("beta_fast", 32);
    rope.beta_slow = scaling.number("beta_slow", 1);
    if (!(rope.beta_slow > 0) || !(rope.beta_fast >= rope.beta_slow))
      throw scaling.error("beta_fast", "is not above a positive beta_slow", kFetchAgain);
    rope.truncate = scaling.boolean("truncate", true);
    for (auto [key, field] : {std::pair("attention_factor", &rope.attention_factor), std::pair("mscale", &rope.mscale),
                              std::pair("mscale_all_dim", &rope.mscale_all_dim)})
      if (scaling.has(key)) *field = scaling.number(key, std::nullopt);
  }
  return rope;
}

}  // namespace

std::vector<RopeSpec> read_ropes(const ConfigReader& reader, int max_positions, bool per_layer_type) {
  const double theta = reader.number("rope_theta", per_layer_type ? 1e6 : 1e4);
  if (const auto parameters = reader.object("rope_parameters")) {
    if (!per_layer_type) return {read_rope(*parameters, theta, max_positions)};
    const auto full = parameters->object("full_attention");
    const auto sliding = parameters->object("sliding_attention");
    if (!full || !sliding)
      throw reader.error("rope_parameters", "lacks full_attention or sliding_attention", kFetchAgain);
    return {read_rope(*full, theta, max_positions), read_rope(*sliding, 1e4, max_positions)};
  }
  const auto scaling = reader.object("rope_scaling");
  RopeSpec plain;
  plain.theta = theta;
  std::vector<RopeSpec> ropes{scaling ? read_rope(*scaling, theta, max_positions) : plain};
  // The old spelling scales only the full-attention layers.
  if (per_layer_type) {
    RopeSpec local;
    local.theta = reader.number("rope_local_base_freq", 1e4);
    ropes.push_back(local);
  }
  for (const auto& rope : ropes)
    if (!(rope.theta > 0)) throw reader.error("rope_theta", "is not positive", kFetchAgain);
  return ropes;
}

}  // namespace difr::gpu
