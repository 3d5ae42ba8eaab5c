#pragma once
// Typed access to config.json with errors that name the key. Null counts as absent, as in Hugging Face's own reading.

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/util/error.h"
#include "gpu/model/config.h"

namespace difr::gpu {

class ConfigReader {
 public:
  /// Throws when `json` is no JSON object.
  ConfigReader(std::string_view json, std::string where);

  [[nodiscard]] bool has(std::string_view key) const { return find(key).has_value(); }
  /// `fallback` absent: the key is required.
  [[nodiscard]] int integer(std::string_view key, std::optional<int> fallback, int low, int high) const;
  [[nodiscard]] double number(std::string_view key, std::optional<double> fallback) const;
  [[nodiscard]] bool boolean(std::string_view key, bool fallback) const;
  [[nodiscard]] std::string string(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] std::vector<std::string> strings(std::string_view key) const;
  [[nodiscard]] std::vector<int> integers(std::string_view key) const;
  /// The object under `key`, with errors prefixed by it; absent when missing or null.
  [[nodiscard]] std::optional<ConfigReader> object(std::string_view key) const;

  [[nodiscard]] Error error(std::string_view key, const std::string& what, const std::string& remedy) const;

 private:
  ConfigReader(std::shared_ptr<simdjson::dom::parser> parser, simdjson::dom::object root, std::string where,
               std::string prefix);
  [[nodiscard]] std::optional<simdjson::dom::element> find(std::string_view key) const;

  std::shared_ptr<simdjson::dom::parser> parser_;  // owns what root_ points into
  simdjson::dom::object root_;
  std::string where_;
  std::string prefix_;
};

/// One entry, or for Gemma two: full attention, sliding attention.
[[nodiscard]] std::vector<RopeSpec> read_ropes(const ConfigReader& reader, int max_positions, bool per_layer_type);

}  // namespace difr::gpu
