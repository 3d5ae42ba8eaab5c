#pragma once
// A decoder described by data: what config.json (or GGUF metadata) says, normalised over families and spellings.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace difr::gpu {

enum class RopeKind : std::uint8_t { standard, linear, llama3, yarn };
enum class Activation : std::uint8_t { silu, gelu_tanh };

/// Rotary embedding of one layer type; unused fields of a kind keep their defaults.
struct RopeSpec {
  RopeKind kind = RopeKind::standard;
  double theta = 10000;
  double factor = 1;
  double low_freq_factor = 1;   ///< llama3
  double high_freq_factor = 4;  ///< llama3
  int original_positions = 0;   ///< llama3, yarn
  double beta_fast = 32;        ///< yarn
  double beta_slow = 1;         ///< yarn
  bool truncate = true;         ///< yarn: round the correction range to whole dimensions
  std::optional<double> attention_factor, mscale, mscale_all_dim;  ///< yarn
  std::vector<float> frequency_divisors;  ///< one a pair (GGUF's form of llama3 scaling); empty: none

  bool operator==(const RopeSpec&) const = default;
};

struct LayerSpec {
  int window = 0;  ///< a query sees itself and the window - 1 before it; 0: all before it
  int rope = 0;    ///< index into ModelConfig::ropes
  bool moe = false;

  bool operator==(const LayerSpec&) const = default;
};

struct ModelConfig {
  std::string name;
  std::string architecture;
  int vocab = 0;
  int hidden = 0;
  int intermediate = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int max_positions = 0;
  double norm_eps = 1e-6;
  double attention_scale = 0;  ///< multiplies q·k
  double embed_scale = 1;
  Activation activation = Activation::silu;
  bool norm_plus_one = false;   ///< norms multiply by 1 + w (Gemma)
  bool sandwich_norms = false;  ///< norms after attention and MLP, before the residual sum (Gemma)
  bool qk_norm = false;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool tied_head = false;
  int experts = 0;
  int experts_per_token = 0;
  int expert_intermediate = 0;
  bool norm_topk_prob = false;
  std::vector<RopeSpec> ropes;
  std::vector<LayerSpec> layers;

  bool operator==(const ModelConfig&) const = default;
};

/// Reads both spellings of rope settings (rope_theta/rope_scaling and rope_parameters). Throws difr::Error naming the
/// file, the key and the remedy; an unknown architecture is named together with the supported ones.
[[nodiscard]] ModelConfig parse_config(std::string_view json, const std::string& where);
[[nodiscard]] ModelConfig load_config(const std::filesystem::path& file);

/// Supported values of `architectures`, for error texts and `models`.
[[nodiscard]] std::vector<std::string> supported_architectures();

}  // namespace difr::gpu
