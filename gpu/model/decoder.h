#pragma once
// The decoder: one implementation for all families, steered by ModelConfig. Includes LibTorch.

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

#include "gpu/model/config.h"
#include "gpu/model/linear.h"
#include "gpu/model/ops.h"
#include "gpu/model/plan.h"
#include "gpu/model/rope.h"
#include "gpu/weights/weight_source.h"

namespace difr::gpu {

struct Mlp {
  Linear gate_up;  ///< [2·m, d]: gate rows, then up rows
  Linear down;
};

struct DecoderLayer {
  LayerSpec spec;
  at::Tensor input_norm, attention_norm, mlp_norm, output_norm;  ///< attention_norm, output_norm: sandwich norms only
  at::Tensor q_norm, k_norm;
  Linear qkv;  ///< [(H + 2·KV)·D, d]
  Linear o;
  Mlp mlp;
  Linear router;
  std::vector<Mlp> experts;
};

/// Keys and values of one layer by row: [rows, KV, D]. A pass over whole sequences uses one buffer for all layers in
/// turn; step-by-step generation keeps one per layer and plans its rows into it.
struct KeyValues {
  at::Tensor k, v;
};
using KeyValueCache = std::vector<KeyValues>;  // by layer

struct DecoderOptions {
  Numerics numerics;
  at::Device device = at::kCPU;
  bool kv_fp8 = false;  ///< keys and values are rounded through e4m3 as they enter the buffer
};

class Decoder {
 public:
  Decoder(ModelConfig config, std::vector<DecoderLayer> layers, at::Tensor embedding, at::Tensor final_norm,
          Linear head, DecoderOptions options);

  [[nodiscard]] const ModelConfig& config() const { return config_; }
  [[nodiscard]] const DecoderOptions& options() const { return options_; }

  /// Called with the layer (0: embedding, i: after layer i) and the residual rows [T, d].
  using LayerProbe = std::function<void(int layer, const at::Tensor& rows)>;

  /// Residual rows [T, d] after the last layer, for every row of the plan. Memory: T·(d + 2·KV·D) plus one chunk.
  [[nodiscard]] at::Tensor forward(const PackedPlan& plan, const LayerProbe& probe = {}) const;
  /// The same with keys and values read from and written to `cache`, where the plan's segments say.
  [[nodiscard]] at::Tensor forward(const PackedPlan& plan, KeyValueCache& cache) const;
  [[nodiscard]] KeyValueCache make_cache(std::int64_t rows) const;
  /// Final norm; rows [n, d].
  [[nodiscard]] at::Tensor final_norm(const at::Tensor& rows) const;
  /// Logits of normed rows [n, V], fp32.
  [[nodiscard]] at::Tensor logits(const at::Tensor& normed) const;

 private:
  struct Positions {
    std::vector<at::Tensor> cos, sin;  // per rope: [T, D/2]
  };
  [[nodiscard]] Positions rotate_table(const PackedPlan& plan) const;
  [[nodiscard]] KeyValues make_buffer(std::int64_t rows) const;
  [[nodiscard]] at::Tensor run_layers(const PackedPlan& plan, const LayerProbe& probe, KeyValueCache* cache) const;
  [[nodiscard]] NormSpec norm_spec() const { return {config_.norm_eps, config_.norm_plus_one}; }
  [[nodiscard]] at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) const;
  [[nodiscard]] at::Tensor attention(const DecoderLayer& layer, const at::Tensor& x, const PackedPlan& plan,
                                     const Chunk& chunk, const Positions& positions, KeyValues& buffer,
                                     bool cached) const;
  [[nodiscard]] at::Tensor mlp(const Mlp& mlp, const at::Tensor& x) const;
  [[nodiscard]] at::Tensor experts(const DecoderLayer& layer, const at::Tensor& x) const;

  ModelConfig config_;
  std::vector<DecoderLayer> layers_;
  at::Tensor embedding_;
  at::Tensor final_norm_;
  Linear head_;
  DecoderOptions options_;
  std::vector<RopeTable> ropes_;
};

struct DecoderLoadOptions {
  DecoderOptions decoder;
  std::string variant;  ///< fake quantisation of the linear layers, see quantise.h
};

/// Checks that exactly the tensors that the configuration needs are there, with the right shapes, then loads them.
[[nodiscard]] Decoder load_decoder(const ModelConfig& config, const WeightSource& weights,
                                   const DecoderLoadOptions& options);

/// Tensors that the configuration needs, with their shapes.
struct WantedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
};
[[nodiscard]] std::vector<WantedTensor> wanted_tensors(const ModelConfig& config);
/// Throws difr::Error naming file, tensor and remedy unless `weights` holds exactly the wanted tensors.
void check_tensors(const ModelConfig& config, const WeightSource& weights);

}  // namespace difr::gpu
