#include "core/replay/generation_log.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/util/error.h"
#include "core/util/read_file.h"

namespace difr {

namespace {

using Json = nlohmann::ordered_json;

/// The log is held whole, in memory about ten times its size.
constexpr std::uint64_t kLargestLog = std::uint64_t{1} << 29;

Json to_json(const GenerationEnvironment& e) {
  return {{"model", e.engine.model_name},
          {"weights_digest", e.engine.weights_digest},
          {"dtype", e.engine.dtype},
          {"variant", e.engine.variant},
          {"device", e.engine.device},
          {"hardware", e.hardware},
          {"engine_build", e.engine.engine_build},
          {"threads", e.engine.threads},
          {"batch_tokens", e.engine.batch_tokens},
          {"group", e.group},
          {"max_tokens", e.max_tokens},
          {"end_tokens", e.end_tokens}};
}

/// Reads typed fields of one object; every fault names file, place and field.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) throw bad_input(where_, "is not an object", kRemedy);
  }
  [[nodiscard]] const Json* find(const char* key) const {
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  [[nodiscard]] std::string text(const char* key) const {
    const auto* value = find(key);
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    if (value->is_number_integer()) return std::to_string(value->get<std::int64_t>());
    throw wrong(key, "is not a string");
  }
  [[nodiscard]] double real(const char* key, double otherwise) const {
    const auto* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_number()) throw wrong(key, "is not a number");
    return value->get<double>();
  }
  [[nodiscard]] int whole(const char* key, int otherwise, int low, int high) const {
    const auto value = big(key);
    if (!value) return otherwise;
    if (*value < low || *value > high) throw wrong(key, fmt::format("lies outside {}..{}", low, high));
    return static_cast<int>(*value);
  }
  [[nodiscard]] std::optional<std::int64_t> big(const char* key) const {
    const auto* value = find(key);
    if (value == nullptr) return std::nullopt;
    const bool fits = value->is_number_unsigned() ? value->get<std::uint64_t>() >> 63 == 0 : value->is_number_integer();
    if (!fits) throw wrong(key, "is not a whole number of 64 bits");
    return value->get<std::int64_t>();
  }
  [[nodiscard]] std::vector<TokenId> ids(const char* key) const {
    std::vector<TokenId> out;
    const auto* value = find(key);
    if (value == nullptr) return out;
    if (!value->is_array()) throw wrong(key, "is not a list");
    for (const auto& id : *value) {
      if (!id.is_number_integer() || id < 0 || id > std::numeric_limits<TokenId>::max())
        throw wrong(key, fmt::format("holds something that is no token id at place {}", out.size()));
      out.push_back(id.get<TokenId>());
    }
    return out;
  }
  [[nodiscard]] std::vector<std::string> strings(const char* key) const {
    std::vector<std::string> out;
    const auto* value = find(key);
    if (value == nullptr) return out;
    if (!value->is_array()) throw wrong(key, "is not a list");
    for (const auto& text : *value) {
      if (!text.is_string()) throw wrong(key, fmt::format("holds something that is no string at place {}", out.size()));
      out.push_back(text.get<std::string>());
    }
    return out;
  }
  [[nodiscard]] Error wrong(const char* key, const std::string& what) const {
    return bad_input(where_, fmt::format("\"{}\" {}", key, what), kRemedy);
  }

 private:
  static constexpr const char* kRemedy = "replay reads logs of `difr-audit generate` and DiFR samples logs: docs/json.md";
  const Json& object_;
  std::string where_;
};

GenerationEnvironment read_environment(const Json& json, const std::string& where) {
  constexpr int most = std::numeric_limits<int>::max();
  const Fields f(json, where + ": config.environment");
  GenerationEnvironment e;
  e.engine.model_name = f.text("model");
  e.engine.weights_digest = f.text("weights_digest");
  e.engine.dtype = f.text("dtype");
  e.engine.variant = f.text("variant");
  e.engine.device = f.text("device");
  e.engine.engine_build = f.text("engine_build");
  e.engine.threads = f.whole("threads", 0, 0, most);
  e.engine.batch_tokens = f.whole("batch_tokens", 0, 0, most);
  e.hardware = f.text("hardware");
  e.group = f.whole("group", 0, 0, most);
  e.max_tokens = f.whole("max_tokens", 0, 0, most);
  e.end_tokens = f.ids("end_tokens");
  return e;
}

GeneratedSample read_sample(const Json& json, std::size_t index, const std::string& file) {
  std::string where = fmt::format("{}: sample {}", file, index);
  const Fields f(json, where);
  GeneratedSample s;
  s.id = f.text("id");
  if (s.id.empty()) s.id = fmt::format("#{}", index);
  s.prompt = f.ids("prompt_token_ids");
  s.seed = f.big("seed");
  const auto* outputs = f.find("outputs");
  if (outputs == nullptr || !outputs->is_array() || outputs->size() != 1)
    throw f.wrong("outputs", "does not hold exactly one output");
  const Fields out((*outputs)[0], where + ": output");
  s.output = out.ids("token_ids");
  s.finish_reason = out.text("finish_reason");
  s.links = out.strings("activation_links");
  if (!s.links.empty() && s.links.size() != s.output.size())
    throw out.wrong("activation_links", fmt::format("has {} links for {} tokens", s.links.size(), s.output.size()));
  return s;
}

}  // namespace

std::string write_generation_log(const GenerationLog& log) {
  Json config{{"provider", log.provider},
              {"model", log.model},
              {"engine", log.engine},
              {"engine_version", log.engine_version},
              {"sampler", log.sampler},
              {"temperature", log.sampling.temperature},
              {"top_p", log.sampling.top_p},
              {"top_k", log.sampling.top_k},
              {"min_p", log.sampling.min_p}};
  if (log.environment) {
    config["dtype"] = log.environment->engine.dtype;
    config["environment"] = to_json(*log.environment);
  }
  // One sample a line: such a log can be looked at and compared with everyday tools.
  std::string text = fmt::format("{{\"config\": {}, \"samples\": [", config.dump());
  for (std::size_t i = 0; i < log.samples.size(); ++i) {
    const auto& s = log.samples[i];
    Json output{{"token_ids", s.output}, {"finish_reason", s.finish_reason}};
    if (!s.links.empty()) output["activation_links"] = s.links;
    Json sample{{"id", s.id}, {"prompt_token_ids", s.prompt}};
    if (s.seed) sample["seed"] = *s.seed;
    sample["outputs"] = Json::array({std::move(output)});
    text += (i == 0 ? "\n" : ",\n") + sample.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return text + "\n]}\n";
}

GenerationLog parse_generation_log(std::string_view text, const std::string& where) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw bad_input(where, fmt::format("is not JSON: byte {}", error.byte), "give the log as `generate` wrote it");
  }
  const Fields top(json, where);
  const auto* config_json = top.find("config");
  const auto* samples = top.find("samples");
  if (config_json == nullptr) throw top.wrong("config", "is missing");
  if (samples == nullptr || !samples->is_array()) throw top.wrong("samples", "is missing or not a list");
  const Fields config(*config_json, where + ": config");
  GenerationLog log;
  log.provider = config.text("provider");
  log.model = config.text("model");
  log.engine = config.text("engine");
  log.engine_version = config.text("engine_version");
  log.sampler = config.text("sampler");
  log.sampling.temperature = config.real("temperature", 1);
  log.sampling.top_p = config.real("top_p", 1);
  log.sampling.top_k = config.whole("top_k", 0, -1, 1 << 24);
  log.sampling.min_p = config.real("min_p", 0);
  if (log.sampling.top_k < 0) log.sampling.top_k = 0;
  const auto& s = log.sampling;
  if (!(s.temperature >= 0)) throw config.wrong("temperature", "is negative");
  if (!(s.top_p > 0 && s.top_p <= 1)) throw config.wrong("top_p", "lies outside (0, 1]");
  if (!(s.min_p >= 0 && s.min_p <= 1)) throw config.wrong("min_p", "lies outside [0, 1]");
  if (const auto* e = config.find("environment")) log.environment = read_environment(*e, where);
  std::set<std::string> ids;
  for (const auto& sample : *samples) {
    log.samples.push_back(read_sample(sample, log.samples.size(), where));
    if (!ids.insert(log.samples.back().id).second)
      throw bad_input(fmt::format("{}: sample {}", where, log.samples.size() - 1),
                      "has the id of an earlier one: " + log.samples.back().id, "give every sample its own id");
  }
  return log;
}

GenerationLog read_generation_log(const std::filesystem::path& path) {
  const auto bytes = read_file_bytes(path, kLargestLog);
  return parse_generation_log({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
}

}  // namespace difr
