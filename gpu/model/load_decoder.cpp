#include <algorithm>
#include <set>

#include "core/util/error.h"
#include "gpu/model/decoder.h"
#include "gpu/model/quantise.h"

namespace difr::gpu {

namespace {

std::string layer_name(std::size_t layer, std::string_view rest) {
  return "model.layers." + std::to_string(layer) + "." + std::string(rest);
}

void want_mlp(std::vector<WantedTensor>& list, const std::string& prefix, std::int64_t hidden, std::int64_t inner,
              bool bias) {
  for (const char* part : {"gate_proj", "up_proj"}) {
    list.push_back({prefix + part + ".weight", {inner, hidden}});
    if (bias) list.push_back({prefix + part + ".bias", {inner}});
  }
  list.push_back({prefix + "down_proj.weight", {hidden, inner}});
  if (bias) list.push_back({prefix + "down_proj.bias", {hidden}});
}

void want_layer(std::vector<WantedTensor>& list, const ModelConfig& config, std::size_t i) {
  const std::int64_t hidden = config.hidden;
  const std::int64_t dim = config.head_dim;
  const auto add = [&](std::string_view rest, std::vector<std::int64_t> shape) {
    list.push_back({layer_name(i, rest), std::move(shape)});
  };
  add("input_layernorm.weight", {hidden});
  add("post_attention_layernorm.weight", {hidden});
  if (config.sandwich_norms) {
    add("pre_feedforward_layernorm.weight", {hidden});
    add("post_feedforward_layernorm.weight", {hidden});
  }
  for (const auto& [part, heads] :
       {std::pair("q", config.heads), std::pair("k", config.kv_heads), std::pair("v", config.kv_heads)}) {
    const std::string name = std::string("self_attn.") + part + "_proj";
    add(name + ".weight", {heads * dim, hidden});
    if (config.qkv_bias) add(name + ".bias", {heads * dim});
  }
  add("self_attn.o_proj.weight", {hidden, config.heads * dim});
  if (config.o_bias) add("self_attn.o_proj.bias", {hidden});
  if (config.qk_norm) {
    add("self_attn.q_norm.weight", {dim});
    add("self_attn.k_norm.weight", {dim});
  }
  if (!config.layers[i].moe) {
    want_mlp(list, layer_name(i, "mlp."), hidden, config.intermediate, config.mlp_bias);
    return;
  }
  add("mlp.gate.weight", {config.experts, hidden});
  for (int e = 0; e < config.experts; ++e)
    want_mlp(list, layer_name(i, "mlp.experts." + std::to_string(e) + "."), hidden, config.expert_intermediate, false);
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

class Loader {
 public:
  Loader(const ModelConfig& config, const WeightSource& weights, const DecoderLoadOptions& options)
      : config_(config), weights_(weights), options_(options), quantiser_(parse_variant(options.variant)) {}

  Decoder load() {
    std::vector<DecoderLayer> layers;
    for (std::size_t i = 0; i < config_.layers.size(); ++i) layers.push_back(layer(i));
    const auto embedding = place(read("model.embed_tokens.weight"));
    // Quantisers leave embedding and head alone, as the engines do.
    Linear head(config_.tied_head ? embedding : place(read("lm_head.weight")), {});
    auto decoder = options_.decoder;
    decoder.kv_fp8 = quantiser_.kv_fp8;
    return {config_, std::move(layers), embedding, place(read("model.norm.weight")), std::move(head), decoder};
  }

 private:
  /// Values in fp32 on the host, read in pieces so that the page cache can be dropped behind us.
  at::Tensor read(const std::string& name) const {
    const auto* info = weights_.find(name);
    auto tensor = at::empty(info->shape, at::kFloat);
    weights_.read(*info, 0, {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())});
    return tensor;
  }

  at::Tensor place(const at::Tensor& tensor) const {
    const auto& numerics = options_.decoder.numerics;
    return numerics.stored(tensor.to(numerics.type)).to(options_.decoder.device);
  }

  /// Several projections of the same input as one matrix.
  Linear linear(const std::vector<std::string>& names, bool bias, bool quantised = true) const {
    std::vector<at::Tensor> weights;
    std::vector<at::Tensor> biases;
    for (const auto& name : names) {
      auto weight = read(name + ".weight");
      // The trusted weights are what the declared dtype holds; quantisation starts from there.
      if (quantised) weight = quantise(weight.to(stored_type()).to(at::kFloat), quantiser_);
      weights.push_back(place(weight));
      if (bias) biases.push_back(place(read(name + ".bias")));
    }
    return {weights.size() == 1 ? weights[0] : at::cat(weights, 0), biases.empty() ? at::Tensor() : at::cat(biases, 0)};
  }

  at::ScalarType stored_type() const {
    return options_.decoder.numerics.round_to_half ? at::kHalf : options_.decoder.numerics.type;
  }

  Mlp mlp(const std::string& prefix, bool bias) const {
    return {linear({prefix + "gate_proj", prefix + "up_proj"}, bias), linear({prefix + "down_proj"}, bias)};
  }

  DecoderLayer layer(std::size_t i) const {
    const auto name = [i](std::string_view rest) { return layer_name(i, rest); };
    const auto norm = [&](std::string_view rest) { return place(read(name(rest))); };
    DecoderLayer layer;
    layer.spec = config_.layers[i];
    layer.input_norm = norm("input_layernorm.weight");
    if (config_.sandwich_norms) {
      layer.attention_norm = norm("post_attention_layernorm.weight");
      layer.mlp_norm = norm("pre_feedforward_layernorm.weight");
      layer.output_norm = norm("post_feedforward_layernorm.weight");
    } else {
      layer.mlp_norm = norm("post_attention_layernorm.weight");
    }
    if (config_.qk_norm) {
      layer.q_norm = norm("self_attn.q_norm.weight");
      layer.k_norm = norm("self_attn.k_norm.weight");
    }
    layer.qkv =
        linear({name("self_attn.q_proj"), name("self_attn.k_proj"), name("self_attn.v_proj")}, config_.qkv_bias);
    layer.o = linear({name("self_attn.o_proj")}, config_.o_bias);
    if (!layer.spec.moe) {
      layer.mlp = mlp(name("mlp."), config_.mlp_bias);
      return layer;
    }
    layer.router = linear({name("mlp.gate")}, false, false);
    for (int e = 0; e < config_.experts; ++e)
      layer.experts.push_back(mlp(name("mlp.experts." + std::to_string(e) + "."), false));
    return layer;
  }

  const ModelConfig& config_;
  const WeightSource& weights_;
  const DecoderLoadOptions& options_;
  Quantiser quantiser_;
};

}  // namespace

std::vector<WantedTensor> wanted_tensors(const ModelConfig& config) {
  std::vector<WantedTensor> list;
  list.push_back({"model.embed_tokens.weight", {config.vocab, config.hidden}});
  list.push_back({"model.norm.weight", {config.hidden}});
  if (!config.tied_head) list.push_back({"lm_head.weight", {config.vocab, config.hidden}});
  for (std::size_t i = 0; i < config.layers.size(); ++i) want_layer(list, config, i);
  return list;
}

void check_tensors(const ModelConfig& config, const WeightSource& weights) {
  std::set<std::string> known;
  const std::string file = weights.tensors().empty() ? "weights" : weights.tensors().front().file;
  for (const auto& wanted : wanted_tensors(config)) {
    const auto* info = weights.find(wanted.name);
    if (info == nullptr)
      throw bad_input(file + ": tensor '" + wanted.name + "'", "is missing for " + config.architecture,
                      "config.json and weights do not belong together, or a shard is missing");
    if (info->shape != wanted.shape)
      throw bad_input(
          info->file + ": tensor '" + wanted.name + "'",
          "has shape " + shape_text(info->shape) + " where the configuration needs " + shape_text(wanted.shape),
          "config.json and weights do not belong together");
    known.insert(wanted.name);
  }
  for (const auto& info : weights.tensors()) {
    const bool harmless =
        info.name.ends_with("rotary_emb.inv_freq") || (config.tied_head && info.name == "lm_head.weight");
    // A tensor that would silently be left out (a bias, an adapter) makes another model than the declared one.
    if (!harmless && !known.contains(info.name))
      throw bad_input(
          info.file + ": tensor '" + info.name + "'",
          "is not part of " + config.architecture + " as config.json describes it",
          "config.json and weights do not belong together, or the architecture has a part that is not supported");
  }
}

Decoder load_decoder(const ModelConfig& config, const WeightSource& weights, const DecoderLoadOptions& options) {
  check_tensors(config, weights);
  return Loader(config, weights, options).load();
}

}  // namespace difr::gpu
