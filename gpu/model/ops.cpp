#include "gpu/model/ops.h"

#include <algorithm>
#include <limits>

namespace difr::gpu {

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, bool plus_one,
                    const Numerics& numerics) {
  const auto wide = x.to(at::kFloat);
  const auto normed = wide * at::rsqrt(wide.square().mean(-1, true) + eps);
  if (plus_one) return numerics.stored((normed * (weight.to(at::kFloat) + 1)).to(x.scalar_type()));
  return numerics.stored(numerics.stored(normed.to(x.scalar_type())) * weight);
}

at::Tensor apply_rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, const Numerics& numerics) {
  const auto half = x.size(-1) / 2;
  const auto wide = x.to(at::kFloat);
  const auto a = wide.narrow(-1, 0, half);
  const auto b = wide.narrow(-1, half, half);
  const auto c = cos.unsqueeze(1);
  const auto s = sin.unsqueeze(1);
  return numerics.stored(at::cat({a * c - b * s, b * c + a * s}, -1).to(x.scalar_type()));
}

at::Tensor gated(const at::Tensor& gate_up, Activation activation, const Numerics& numerics) {
  const auto m = gate_up.size(-1) / 2;
  const auto gate = gate_up.narrow(-1, 0, m);
  const auto up = gate_up.narrow(-1, m, m);
  const auto active = activation == Activation::silu ? at::silu(gate) : at::gelu(gate, "tanh");
  return numerics.stored(numerics.stored(active) * up);
}

at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int position, int window, double scale,
                  const Numerics& numerics) {
  const auto n = q.size(0);
  const auto heads = q.size(1);
  const auto dim = q.size(2);
  const auto kv_heads = k.size(1);
  const auto group = heads / kv_heads;
  const auto context = k.size(0);
  // Scores of one block stay below 16 M entries (64 MiB).
  const std::int64_t block = std::clamp<std::int64_t>((std::int64_t{1} << 24) / (heads * context), 1, 256);
  const auto index = at::TensorOptions().dtype(at::kLong).device(q.device());
  auto result = at::empty({n, heads, dim}, q.options());
  for (std::int64_t first = 0; first < n; first += block) {
    const auto count = std::min(block, n - first);
    const auto end = position + first + count;
    const auto begin = window > 0 ? std::max<std::int64_t>(0, position + first - window + 1) : 0;
    // [KV, group·count, D] × [KV, D, keys]: the queries of a group share their key head.
    const auto queries = q.narrow(0, first, count)
                             .view({count, kv_heads, group, dim})
                             .permute({1, 2, 0, 3})
                             .reshape({kv_heads, group * count, dim});
    const auto keys = k.narrow(0, begin, end - begin).permute({1, 2, 0});
    const auto values = v.narrow(0, begin, end - begin).permute({1, 0, 2});
    auto scores =
        at::bmm(queries.to(at::kFloat), keys.to(at::kFloat)).mul_(scale).view({kv_heads, group, count, end - begin});
    const auto key_positions = at::arange(begin, end, index).unsqueeze(0);
    const auto query_positions = at::arange(position + first, end, index).unsqueeze(1);
    auto hidden = key_positions > query_positions;
    if (window > 0) hidden = hidden.logical_or(key_positions <= query_positions - window);
    scores.masked_fill_(hidden, -std::numeric_limits<float>::infinity());
    const auto weights =
        numerics.stored(at::softmax(scores, -1).to(q.scalar_type())).view({kv_heads, group * count, end - begin});
    const auto mixed =
        at::bmm(weights, values).view({kv_heads, group, count, dim}).permute({2, 0, 1, 3}).reshape({count, heads, dim});
    result.narrow(0, first, count).copy_(mixed);
  }
  return numerics.stored(result.view({n, heads * dim}));
}

}  // namespace difr::gpu
