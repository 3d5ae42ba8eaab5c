#include "gpu/model/decoder.h"

#include <utility>

#include "gpu/model/quantise.h"

namespace difr::gpu {

Decoder::Decoder(ModelConfig config, std::vector<DecoderLayer> layers, at::Tensor embedding, at::Tensor final_norm,
                 Linear head, DecoderOptions options)
    : config_(std::move(config)),
      layers_(std::move(layers)),
      embedding_(std::move(embedding)),
      final_norm_(std::move(final_norm)),
      head_(std::move(head)),
      options_(options) {
  for (const auto& spec : config_.ropes) ropes_.push_back(make_rope(spec, config_.head_dim));
}

at::Tensor Decoder::norm(const at::Tensor& x, const at::Tensor& weight) const {
  return rms_norm(x, weight, norm_spec(), options_.numerics);
}

at::Tensor Decoder::final_norm(const at::Tensor& rows) const {
  return norm(rows, final_norm_);
}

at::Tensor Decoder::logits(const at::Tensor& normed) const {
  return options_.numerics.stored(head_(normed)).to(at::kFloat);
}

Decoder::Positions Decoder::rotate_table(const PackedPlan& plan) const {
  Positions table;
  const auto rows = static_cast<std::int64_t>(plan.positions.size());
  const std::int64_t half = config_.head_dim / 2;
  for (const auto& rope : ropes_) {
    auto cos = at::empty({rows, half}, at::kFloat);
    auto sin = at::empty({rows, half}, at::kFloat);
    for (std::int64_t row = 0; row < rows; ++row)
      rope_row(rope, plan.positions[static_cast<std::size_t>(row)], cos.data_ptr<float>() + row * half,
               sin.data_ptr<float>() + row * half);
    // Engines keep the table in the model's dtype; that rounding is part of the declared model.
    const auto type = options_.numerics.round_to_half ? at::kHalf : options_.numerics.type;
    table.cos.push_back(cos.to(type).to(at::kFloat).to(options_.device));
    table.sin.push_back(sin.to(type).to(at::kFloat).to(options_.device));
  }
  return table;
}

at::Tensor Decoder::attention(const DecoderLayer& layer, const at::Tensor& x, const PackedPlan& plan,
                              const Chunk& chunk, const Positions& positions, KeyValues& buffer,
                              bool cached) const {
  const std::int64_t n = x.size(0);
  const std::int64_t heads = config_.heads;
  const std::int64_t dim = config_.head_dim;
  const auto rope = static_cast<std::size_t>(layer.spec.rope);
  auto q = at::empty({n, heads, dim}, x.options());
  const auto own = cached ? make_buffer(n) : KeyValues{};
  auto k = cached ? own.k : buffer.k.narrow(0, chunk.rows.first, n);
  auto v = cached ? own.v : buffer.v.narrow(0, chunk.rows.first, n);
  split_heads(options_.numerics.stored(layer.qkv(x)), {layer.q_norm, layer.k_norm, norm_spec()},
              positions.cos[rope].narrow(0, chunk.rows.first, n), positions.sin[rope].narrow(0, chunk.rows.first, n), q,
              k, v, options_.numerics);
  if (options_.kv_fp8) {
    k.copy_(round_e4m3(k));
    v.copy_(round_e4m3(v));
  }

  auto mixed = at::empty({n, heads * dim}, x.options());
  const auto gather = [](const at::Tensor& rows, const std::vector<RowRange>& ranges) {
    if (ranges.size() == 1) return rows.narrow(0, ranges[0].first, ranges[0].count);
    std::vector<at::Tensor> parts;
    for (const auto& range : ranges) parts.push_back(rows.narrow(0, range.first, range.count));
    return at::cat(parts, 0);
  };
  for (std::size_t s = chunk.first_segment; s < chunk.first_segment + chunk.segments; ++s) {
    const auto& segment = plan.segments[s];
    const auto at_row = segment.rows.first - chunk.rows.first;
    if (cached) {
      buffer.k.narrow(0, segment.stored, segment.rows.count).copy_(k.narrow(0, at_row, segment.rows.count));
      buffer.v.narrow(0, segment.stored, segment.rows.count).copy_(v.narrow(0, at_row, segment.rows.count));
    }
    mixed.narrow(0, at_row, segment.rows.count)
        .copy_(attend(q.narrow(0, at_row, segment.rows.count), gather(buffer.k, segment.context),
                      gather(buffer.v, segment.context), segment.position, layer.spec.window, config_.attention_scale,
                      options_.numerics));
  }
  return options_.numerics.stored(layer.o(mixed));
}

at::Tensor Decoder::mlp(const Mlp& mlp, const at::Tensor& x) const {
  const auto gate_up = options_.numerics.stored(mlp.gate_up(x));
  return options_.numerics.stored(mlp.down(gated(gate_up, config_.activation, options_.numerics)));
}

at::Tensor Decoder::experts(const DecoderLayer& layer, const at::Tensor& x) const {
  const auto scores = at::softmax(options_.numerics.stored(layer.router(x)).to(at::kFloat), -1);
  auto [weights, chosen] = at::topk(scores, config_.experts_per_token, -1);
  if (config_.norm_topk_prob) weights = weights / weights.sum(-1, true);
  weights = options_.numerics.stored(weights.to(x.scalar_type()));
  auto sum = at::zeros_like(x);
  for (std::int64_t e = 0; e < config_.experts; ++e) {
    const auto where = at::nonzero(chosen == e);  // [hits, 2]: row, slot
    if (where.size(0) == 0) continue;
    const auto rows = where.select(1, 0).contiguous();
    const auto share = weights.index({rows, where.select(1, 1)}).unsqueeze(1);
    sum.index_add_(
        0, rows,
        options_.numerics.stored(mlp(layer.experts[static_cast<std::size_t>(e)], x.index_select(0, rows)) * share));
  }
  return options_.numerics.stored(sum);
}

KeyValues Decoder::make_buffer(std::int64_t rows) const {
  const auto options = embedding_.options();
  return {at::empty({rows, config_.kv_heads, config_.head_dim}, options),
          at::empty({rows, config_.kv_heads, config_.head_dim}, options)};
}

KeyValueCache Decoder::make_cache(std::int64_t rows) const {
  KeyValueCache cache;
  for (std::size_t i = 0; i < layers_.size(); ++i) cache.push_back(make_buffer(rows));
  return cache;
}

at::Tensor Decoder::forward(const PackedPlan& plan, const LayerProbe& probe) const {
  return run_layers(plan, probe, nullptr);
}

at::Tensor Decoder::forward(const PackedPlan& plan, KeyValueCache& cache) const {
  return run_layers(plan, {}, &cache);
}

at::Tensor Decoder::run_layers(const PackedPlan& plan, const LayerProbe& probe, KeyValueCache* cache) const {
  const auto& numerics = options_.numerics;
  const auto rows = static_cast<std::int64_t>(plan.tokens.size());
  const auto ids = at::empty({rows}, at::kLong);
  std::copy(plan.tokens.begin(), plan.tokens.end(), ids.data_ptr<std::int64_t>());
  auto x = embedding_.index_select(0, ids.to(options_.device));
  // The scale itself is rounded to the model's dtype, as Gemma's own code does.
  if (config_.embed_scale != 1)
    x = numerics.stored(x * numerics.stored(at::scalar_tensor(config_.embed_scale, x.options())));
  if (probe) probe(0, x);

  const auto positions = rotate_table(plan);
  KeyValues buffer = cache != nullptr ? KeyValues{} : make_buffer(rows);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto& layer = layers_[i];
    for (const auto& chunk : plan.chunks) {
      auto part = x.narrow(0, chunk.rows.first, chunk.rows.count);
      auto mixed = attention(layer, norm(part, layer.input_norm), plan, chunk, positions,
                             cache != nullptr ? (*cache)[i] : buffer, cache != nullptr);
      if (config_.sandwich_norms) mixed = norm(mixed, layer.attention_norm);
      const auto normed = add_norm(part, mixed, layer.mlp_norm, norm_spec(), numerics);
      auto out = layer.spec.moe ? experts(layer, normed) : mlp(layer.mlp, normed);
      if (config_.sandwich_norms) out = norm(out, layer.output_norm);
      numerics.round_to_half ? part.copy_(numerics.stored(part + out)) : part.add_(out);
    }
    if (probe) probe(static_cast<int>(i) + 1, x);
  }
  return x;
}

}  // namespace difr::gpu
