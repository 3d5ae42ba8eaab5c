#include "gpu/weights/gguf_config.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/util/error.h"

namespace difr::gpu {

namespace {

using nlohmann::json;

constexpr std::array<GgufArchitecture, 5> kArchitectures{{
    {.name = "llama", .hf = "LlamaForCausalLM", .permuted_rope = true},
    {.name = "qwen2", .hf = "Qwen2ForCausalLM", .qkv_bias = true},
    {.name = "qwen3", .hf = "Qwen3ForCausalLM"},
    {.name = "qwen3moe", .hf = "Qwen3MoeForCausalLM"},
    {.name = "gemma3", .hf = "Gemma3ForCausalLM", .norm_plus_one = true},
}};
constexpr std::int64_t kMost = std::int64_t{1} << 30;

/// The decimal that was meant by a 32-bit float: 1e-05, not 9.999999747378752e-06.
double shortest(double value) {
  const auto text = fmt::format("{}", static_cast<float>(value));
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

/// Metadata below "<architecture>."; keys that are required throw when they are missing.
class Keys {
 public:
  Keys(const GgufFile& file, std::string_view architecture) : file_(file), prefix_(std::string(architecture) + ".") {}

  [[nodiscard]] bool has(std::string_view key) const { return file_.has(prefix_ + std::string(key)); }
  [[nodiscard]] std::int64_t integer(std::string_view key) const {
    const auto value = file_.integer(prefix_ + std::string(key), 1, kMost);
    if (!value) throw error(key, "is missing", "the file is incomplete: convert the model again");
    return *value;
  }
  [[nodiscard]] std::optional<std::int64_t> maybe_integer(std::string_view key) const {
    return file_.integer(prefix_ + std::string(key), 0, kMost);
  }
  [[nodiscard]] std::optional<double> maybe_number(std::string_view key) const {
    const auto value = file_.number(prefix_ + std::string(key));
    return value ? std::optional(shortest(*value)) : std::nullopt;
  }
  [[nodiscard]] std::string text(std::string_view key, std::string_view fallback) const {
    return file_.text(prefix_ + std::string(key)).value_or(std::string(fallback));
  }
  /// A count that some architectures store per layer; the same for all layers here.
  [[nodiscard]] std::optional<std::int64_t> uniform(std::string_view key) const {
    const auto values = file_.numbers(prefix_ + std::string(key));
    if (!values || values->empty()) return std::nullopt;
    for (const double v : *values)
      if (v != values->front()) throw error(key, "differs between layers", "this decoder has layers of one kind only");
    const double v = values->front();
    if (!(v >= 1 && v <= double(kMost)) || v != std::floor(v))
      throw error(key, "is not a positive whole number", "the file is damaged: fetch it again");
    return static_cast<std::int64_t>(v);
  }
  [[nodiscard]] Error error(std::string_view key, const std::string& what, const std::string& remedy) const {
    return bad_input(fmt::format("{}: metadata key '{}{}'", file_.file(), prefix_, key), what, remedy);
  }

 private:
  const GgufFile& file_;
  std::string prefix_;
};

std::string block(std::int64_t layer, std::string_view rest) {
  return fmt::format("blk.{}.{}", layer, rest);
}

/// Present in all layers or in none.
bool in_all_layers(const GgufFile& file, std::int64_t layers, std::string_view rest) {
  const bool first = file.find(block(0, rest)) != nullptr;
  for (std::int64_t i = 1; i < layers; ++i)
    if ((file.find(block(i, rest)) != nullptr) != first)
      throw bad_input(file.file() + ": tensor '" + block(first ? i : 0, rest) + "'",
                      "is missing, but other layers have it", "the file is incomplete: convert the model again");
  return first;
}

json rope_scaling(const Keys& keys) {
  const auto type = keys.text("rope.scaling.type", "none");
  for (const char* key :
       {"rope.scaling.yarn_log_multiplier", "rope.scaling.yarn_ext_factor", "rope.scaling.attn_factor"})
    if (keys.has(key)) throw keys.error(key, "is not supported", "use a model without this rope scaling");
  if (type == "none") return nullptr;
  json scaling{{"rope_type", type}, {"factor", keys.maybe_number("rope.scaling.factor").value_or(1.0)}};
  if (type == "yarn") {
    scaling["original_max_position_embeddings"] = keys.integer("rope.scaling.original_context_length");
    if (const auto v = keys.maybe_number("rope.scaling.yarn_beta_fast")) scaling["beta_fast"] = *v;
    if (const auto v = keys.maybe_number("rope.scaling.yarn_beta_slow")) scaling["beta_slow"] = *v;
    // ggml multiplies its own 0.1 ln(factor) + 1 with it.
    if (const auto v = keys.maybe_number("rope.scaling.yarn_attn_factor"))
      scaling["attention_factor"] = *v * (0.1 * std::log(scaling["factor"].get<double>()) + 1.0);
  } else if (type != "linear") {
    throw keys.error("rope.scaling.type", "'" + type + "' is not supported", "supported: none, linear, yarn");
  }
  return scaling;
}

json common_settings(const GgufFile& file, const Keys& keys, const GgufArchitecture& architecture) {
  const auto layers = keys.integer("block_count");
  if (layers > 10000) throw keys.error("block_count", "is out of range", "the file is damaged: fetch it again");
  const auto hidden = keys.integer("embedding_length");
  const auto heads = keys.uniform("attention.head_count");
  if (!heads) throw keys.error("attention.head_count", "is missing", "convert the model again");
  const auto* embedding = file.find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2)
    throw bad_input(file.file() + ": tensor 'token_embd.weight'", "is missing or not a matrix",
                    "convert the model again");
  const auto eps = keys.maybe_number("attention.layer_norm_rms_epsilon");
  if (!eps) throw keys.error("attention.layer_norm_rms_epsilon", "is missing", "convert the model again");
  const auto head_dim = keys.maybe_integer("attention.key_length").value_or(hidden / *heads);
  if (keys.maybe_integer("attention.value_length").value_or(head_dim) != head_dim)
    throw keys.error("attention.value_length", "differs from key_length", "this decoder has heads of one size only");
  if (keys.maybe_integer("rope.dimension_count").value_or(head_dim) != head_dim)
    throw keys.error("rope.dimension_count", "covers only a part of the head",
                     "use a model with full rotary embedding");

  return {{"architectures", {architecture.hf}},
          {"vocab_size", embedding->shape.front()},
          {"hidden_size", hidden},
          {"num_hidden_layers", layers},
          {"intermediate_size", keys.uniform("feed_forward_length").value_or(1)},
          {"num_attention_heads", *heads},
          {"num_key_value_heads", keys.uniform("attention.head_count_kv").value_or(*heads)},
          {"head_dim", head_dim},
          {"max_position_embeddings", keys.integer("context_length")},
          {"rms_norm_eps", *eps},
          {"rope_theta", keys.maybe_number("rope.freq_base").value_or(10000.0)},
          {"rope_scaling", rope_scaling(keys)},
          {"tie_word_embeddings", file.find("output.weight") == nullptr}};
}

void add_experts(json& config, const GgufFile& file, const Keys& keys, std::int64_t layers) {
  config["num_experts"] = keys.integer("expert_count");
  config["num_experts_per_tok"] = keys.integer("expert_used_count");
  config["moe_intermediate_size"] = keys.integer("expert_feed_forward_length");
  // Not stored; llama.cpp always normalises for this architecture.
  config["norm_topk_prob"] = true;
  json dense = json::array();
  for (std::int64_t i = 0; i < layers; ++i)
    if (file.find(block(i, "ffn_gate_exps.weight")) == nullptr) dense.push_back(i);
  config["mlp_only_layers"] = dense;
}

void add_gemma(json& config, const Keys& keys, std::int64_t layers) {
  if (keys.maybe_number("final_logit_softcapping").value_or(0) != 0)
    throw keys.error("final_logit_softcapping", "is not supported", "use a checkpoint without soft-capping");
  // The values that llama.cpp has built in: not in the file.
  const auto head_dim = config["head_dim"].get<std::int64_t>();
  const auto hidden = config["hidden_size"].get<std::int64_t>();
  const auto heads = config["num_attention_heads"].get<std::int64_t>();
  config["query_pre_attn_scalar"] = layers == 62 ? hidden / heads : head_dim;
  config["rope_local_base_freq"] = keys.maybe_number("rope.freq_base_swa").value_or(10000.0);
  config["sliding_window"] = keys.maybe_integer("attention.sliding_window").value_or(0);
  config["sliding_window_pattern"] = 6;
}

/// A per-layer list (true: sliding) or a period.
void add_sliding_pattern(json& config, const GgufFile& file, const Keys& keys, std::int64_t layers) {
  const std::string key = "gemma3.attention.sliding_window_pattern";
  const auto pattern = file.numbers(key);
  if (!pattern) return;
  if (pattern->size() == 1) {
    config["sliding_window_pattern"] = *keys.uniform("attention.sliding_window_pattern");
    return;
  }
  if (pattern->size() != static_cast<std::size_t>(layers))
    throw bad_input(file.file() + ": metadata key '" + key + "'", "has another length than there are layers",
                    "convert the model again");
  json types = json::array();
  for (const double sliding : *pattern) types.push_back(sliding != 0 ? "sliding_attention" : "full_attention");
  config["layer_types"] = types;
}

}  // namespace

const GgufArchitecture& gguf_architecture(const GgufFile& file) {
  const auto name = file.text("general.architecture").value_or("");
  std::string known;
  for (const auto& architecture : kArchitectures) {
    if (architecture.name == name) return architecture;
    known += (known.empty() ? "" : ", ") + std::string(architecture.name);
  }
  throw bad_input(file.file() + ": metadata key 'general.architecture'",
                  name.empty() ? "is missing" : "'" + name + "' is not supported", "supported: " + known);
}

ModelConfig gguf_config(const GgufFile& file) {
  const auto& architecture = gguf_architecture(file);
  const Keys keys(file, architecture.name);
  if (file.integer("split.count", 0, kMost).value_or(1) > 1)
    throw bad_input(file.file(), "is one part of a split model", "join the parts first: llama-gguf-split --merge");
  json settings = common_settings(file, keys, architecture);
  const auto layers = settings["num_hidden_layers"].get<std::int64_t>();
  const auto window = keys.maybe_integer("attention.sliding_window").value_or(0);
  if (architecture.name == "qwen3moe") {
    add_experts(settings, file, keys, layers);
  } else if (keys.maybe_integer("expert_count").value_or(0) > 0) {
    throw keys.error("expert_count", fmt::format("experts are not supported in '{}'", architecture.name),
                     "supported with experts: qwen3moe");
  }
  if (architecture.name == "gemma3") {
    add_gemma(settings, keys, layers);
    if (window > 0) add_sliding_pattern(settings, file, keys, layers);
  } else if (window > 0) {
    // The converter drops Mistral's window; a file that has one means it for all layers.
    if (architecture.name == "llama") settings["architectures"] = {"MistralForCausalLM"};
    settings["use_sliding_window"] = true;
    settings["sliding_window"] = window;
    settings["max_window_layers"] = 0;
  }

  ModelConfig config = parse_config(settings.dump(), file.file() + ": metadata");
  config.name = std::filesystem::path(file.file()).stem().string();
  config.qkv_bias = architecture.qkv_bias || in_all_layers(file, layers, "attn_q.bias");
  config.o_bias = in_all_layers(file, layers, "attn_output.bias");
  config.mlp_bias = architecture.name == "llama" && in_all_layers(file, layers, "ffn_gate.bias");
  return config;
}

}  // namespace difr::gpu
