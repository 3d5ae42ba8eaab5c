#include "gpu/model/config.h"

#include <simdjson.h>

#include <array>
#include <cmath>
#include <fstream>
#include <sstream>

#include "core/util/error.h"
#include "gpu/model/config_reader.h"

namespace difr::gpu {

namespace {

enum class BiasRule : std::uint8_t { never, always, from_config };
enum class WindowRule : std::uint8_t { none, all_layers, upper_layers, pattern };

/// What distinguishes the families; everything else is read from the configuration alike.
struct Family {
  std::string_view architecture;
  BiasRule qkv_bias = BiasRule::never;
  BiasRule o_bias = BiasRule::never;
  BiasRule mlp_bias = BiasRule::never;
  WindowRule window = WindowRule::none;
  bool qk_norm = false;
  bool moe = false;
  bool gemma = false;
};

constexpr std::array<Family, 6> kFamilies{{
    {.architecture = "LlamaForCausalLM",
     .qkv_bias = BiasRule::from_config,
     .o_bias = BiasRule::from_config,
     .mlp_bias = BiasRule::from_config},
    {.architecture = "MistralForCausalLM", .window = WindowRule::all_layers},
    {.architecture = "Qwen2ForCausalLM", .qkv_bias = BiasRule::always, .window = WindowRule::upper_layers},
    {.architecture = "Qwen3ForCausalLM",
     .qkv_bias = BiasRule::from_config,
     .o_bias = BiasRule::from_config,
     .window = WindowRule::upper_layers,
     .qk_norm = true},
    {.architecture = "Qwen3MoeForCausalLM",
     .qkv_bias = BiasRule::from_config,
     .o_bias = BiasRule::from_config,
     .window = WindowRule::upper_layers,
     .qk_norm = true,
     .moe = true},
    {.architecture = "Gemma3ForCausalLM",
     .qkv_bias = BiasRule::from_config,
     .o_bias = BiasRule::from_config,
     .window = WindowRule::pattern,
     .qk_norm = true,
     .gemma = true},
}};

const Family& find_family(const ConfigReader& reader) {
  const auto names = reader.strings("architectures");
  const std::string name = names.empty() ? "" : names.front();
  for (const auto& family : kFamilies)
    if (family.architecture == name) return family;
  std::string known;
  for (const auto& family : kFamilies) known += (known.empty() ? "" : ", ") + std::string(family.architecture);
  throw reader.error("architectures", name.empty() ? "names no architecture" : "'" + name + "' is not supported",
                     "supported: " + known);
}

bool bias(BiasRule rule, const ConfigReader& reader, std::string_view key) {
  return rule == BiasRule::always || (rule == BiasRule::from_config && reader.boolean(key, false));
}

Activation activation(const ConfigReader& reader, bool gemma) {
  const std::string key = gemma ? "hidden_activation" : "hidden_act";
  const auto name = reader.string(key, gemma ? "gelu_pytorch_tanh" : "silu");
  if (name == "silu" || name == "swish") return Activation::silu;
  if (name == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  throw reader.error(key, "'" + name + "' is not supported", "supported: silu, gelu_pytorch_tanh");
}

/// Which layers slide: an explicit layer_types wins over the family's rule.
std::vector<bool> sliding_layers(const Family& family, const ConfigReader& reader, int layers, int window) {
  std::vector<bool> sliding(static_cast<std::size_t>(layers), false);
  const auto types = reader.strings("layer_types");
  if (!types.empty()) {
    if (types.size() != sliding.size())
      throw reader.error("layer_types", "has another length than num_hidden_layers", "fetch the file again");
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (types[i] != "sliding_attention" && types[i] != "full_attention")
        throw reader.error("layer_types", "'" + types[i] + "' is not supported",
                           "supported: full_attention, sliding_attention");
      sliding[i] = types[i] == "sliding_attention";
    }
    return sliding;
  }
  if (window == 0) return sliding;
  const int period =
      family.window == WindowRule::pattern
          ? reader.integer("sliding_window_pattern", reader.integer("_sliding_window_pattern", 6, 1, 1000), 1, 1000)
          : 1;
  const int first = family.window == WindowRule::upper_layers ? reader.integer("max_window_layers", 0, 0, 100000) : 0;
  for (int i = 0; i < layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    switch (family.window) {
      case WindowRule::none:
        break;
      case WindowRule::all_layers:
        sliding[at] = true;
        break;
      case WindowRule::upper_layers:
        sliding[at] = i >= first;
        break;
      case WindowRule::pattern:
        sliding[at] = (i + 1) % period != 0;
        break;
    }
  }
  return sliding;
}

void read_layers(ModelConfig& config, const Family& family, const ConfigReader& reader) {
  const int layers = reader.integer("num_hidden_layers", std::nullopt, 1, 10000);
  int window = family.window == WindowRule::none ? 0 : reader.integer("sliding_window", 0, 0, 1 << 30);
  if (family.window == WindowRule::upper_layers && !reader.boolean("use_sliding_window", false)) window = 0;
  const auto sliding = sliding_layers(family, reader, layers, window);
  for (const bool slides : sliding) {
    if (slides && window == 0)
      throw reader.error("sliding_window", "is missing, but layer_types names sliding layers", "fetch the file again");
    config.layers.push_back({.window = slides ? window : 0, .rope = family.gemma && slides ? 1 : 0, .moe = false});
  }
}

void read_experts(ModelConfig& config, const ConfigReader& reader) {
  config.experts = reader.integer("num_experts", reader.integer("num_local_experts", 0, 0, 1 << 16), 1, 1 << 16);
  config.experts_per_token = reader.integer("num_experts_per_tok", std::nullopt, 1, config.experts);
  config.expert_intermediate = reader.integer("moe_intermediate_size", std::nullopt, 1, 1 << 24);
  config.norm_topk_prob = reader.boolean("norm_topk_prob", false);
  const int step = reader.integer("decoder_sparse_step", 1, 1, 100000);
  const auto dense = reader.integers("mlp_only_layers");
  for (int i = 0; i < static_cast<int>(config.layers.size()); ++i)
    config.layers[static_cast<std::size_t>(i)].moe = std::ranges::find(dense, i) == dense.end() && (i + 1) % step == 0;
}

/// Settings that change the numbers and that this decoder does not have.
void refuse_unsupported(const ConfigReader& reader) {
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (reader.has(key)) throw reader.error(key, "is not supported", "use a checkpoint without soft-capping");
  if (reader.boolean("use_bidirectional_attention", false))
    throw reader.error("use_bidirectional_attention", "is not supported", "only causal language models can be audited");
  if (reader.has("quantization_config"))
    throw reader.error("quantization_config", "names a quantised checkpoint",
                       "give the unquantised weights, and a variant (int4-g32, fp8, ...) where one is to be compared");
  if (std::abs(reader.number("partial_rotary_factor", 1.0) - 1.0) > 1e-9)
    throw reader.error("partial_rotary_factor", "other than 1 is not supported",
                       "use a checkpoint with full rotary embedding");
}

}  // namespace

std::vector<std::string> supported_architectures() {
  std::vector<std::string> names;
  for (const auto& family : kFamilies) names.emplace_back(family.architecture);
  return names;
}

ModelConfig parse_config(std::string_view json, const std::string& where) {
  const ConfigReader reader(json, where);
  const Family& family = find_family(reader);
  refuse_unsupported(reader);

  ModelConfig config;
  config.architecture = family.architecture;
  config.vocab = reader.integer("vocab_size", std::nullopt, 1, 1 << 28);
  config.hidden = reader.integer("hidden_size", std::nullopt, 1, 1 << 20);
  config.intermediate = reader.integer("intermediate_size", std::nullopt, 1, 1 << 24);
  config.heads = reader.integer("num_attention_heads", std::nullopt, 1, 1 << 16);
  config.kv_heads = reader.integer("num_key_value_heads", config.heads, 1, config.heads);
  if (config.heads % config.kv_heads != 0)
    throw reader.error("num_key_value_heads", "does not divide num_attention_heads", "fetch the file again");
  if (!reader.has("head_dim") && config.hidden % config.heads != 0)
    throw reader.error("num_attention_heads", "does not divide hidden_size, and there is no head_dim",
                       "fetch the file again");
  config.head_dim = reader.integer(
      "head_dim", family.gemma && !reader.has("head_dim") ? 256 : config.hidden / config.heads, 2, 1 << 16);
  if (config.head_dim % 2 != 0) throw reader.error("head_dim", "is odd", "rotary embedding needs an even head_dim");
  config.max_positions = reader.integer("max_position_embeddings", 2048, 1, 1 << 30);
  config.norm_eps = reader.number("rms_norm_eps", 1e-6);
  if (!(config.norm_eps >= 0)) throw reader.error("rms_norm_eps", "is negative", "fetch the file again");
  config.activation = activation(reader, family.gemma);
  config.norm_plus_one = family.gemma;
  config.sandwich_norms = family.gemma;
  config.qk_norm = family.qk_norm;
  config.qkv_bias = bias(family.qkv_bias, reader, "attention_bias");
  config.o_bias = bias(family.o_bias, reader, "attention_bias");
  config.mlp_bias = bias(family.mlp_bias, reader, "mlp_bias");
  config.tied_head = reader.boolean("tie_word_embeddings", family.gemma);
  config.embed_scale = family.gemma ? std::sqrt(static_cast<double>(config.hidden)) : 1.0;
  const double scale_base = family.gemma ? reader.number("query_pre_attn_scalar", 256) : config.head_dim;
  if (!(scale_base > 0)) throw reader.error("query_pre_attn_scalar", "is not positive", "fetch the file again");
  config.attention_scale = 1.0 / std::sqrt(scale_base);
  read_layers(config, family, reader);
  if (family.moe) read_experts(config, reader);
  config.ropes = read_ropes(reader, config.max_positions, family.gemma);
  return config;
}

ModelConfig load_config(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw bad_input(file.string(), "cannot be read", "give the folder of a Hugging Face checkpoint with config.json");
  std::ostringstream text;
  text << stream.rdbuf();
  auto config = parse_config(text.str(), file.string());
  const auto folder = std::filesystem::absolute(file).parent_path();
  config.name = folder.filename().string();
  return config;
}

}  // namespace difr::gpu
