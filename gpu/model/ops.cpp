#include "gpu/model/ops.h"

#include <ATen/Parallel.h>

#include <limits>

#include "gpu/model/cpu_rows.h"

namespace difr::gpu {

namespace {

constexpr std::int64_t kRowGrain = 64;

/// The fused kernels know fp32 and bf16 on the host; everything else goes through LibTorch.
bool fused(const at::Tensor& x, const Numerics& numerics) {
  return x.is_cpu() && !numerics.round_to_half && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

rows::NormOptions row_options(NormSpec norm) {
  return {static_cast<float>(norm.eps), norm.plus_one};
}

template <class T>
T* data(const at::Tensor& x) {
  return x.defined() ? static_cast<T*>(x.data_ptr()) : nullptr;
}

/// Calls f with a null pointer of the kernels' storage type.
template <class F>
void with_type(const at::Tensor& x, F&& f) {
  if (x.scalar_type() == at::kFloat)
    f(static_cast<float*>(nullptr));
  else
    f(static_cast<rows::Bf16*>(nullptr));
}

at::Tensor plain_norm(const at::Tensor& x, const at::Tensor& weight, NormSpec norm, const Numerics& numerics) {
  const auto wide = x.to(at::kFloat);
  const auto normed = wide * at::rsqrt(wide.square().mean(-1, true) + norm.eps);
  if (norm.plus_one) return numerics.stored((normed * (weight.to(at::kFloat) + 1)).to(x.scalar_type()));
  return numerics.stored(numerics.stored(normed.to(x.scalar_type())) * weight);
}

at::Tensor plain_rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, const Numerics& numerics) {
  const auto half = x.size(-1) / 2;
  const auto wide = x.to(at::kFloat);
  const auto a = wide.narrow(-1, 0, half);
  const auto b = wide.narrow(-1, half, half);
  const auto c = cos.unsqueeze(1);
  const auto s = sin.unsqueeze(1);
  return numerics.stored(at::cat({a * c - b * s, b * c + a * s}, -1).to(x.scalar_type()));
}

/// Attention probabilities from raw scores [KV, G, count, keys], whose columns are positions begin, begin + 1, ...
at::Tensor probabilities(at::Tensor scores, const at::Tensor& q, std::int64_t position, std::int64_t begin, int window,
                         double scale, const Numerics& numerics) {
  const auto count = scores.size(2);
  const auto keys = scores.size(3);
  if (fused(q, numerics)) {
    auto out = at::empty(scores.sizes(), q.options());
    const float* const from = scores.data_ptr<float>();
    with_type(q, [&]<class T>(T*) {
      at::parallel_for(0, scores.size(0) * scores.size(1) * count, kRowGrain, [&](std::int64_t row, std::int64_t end) {
        for (; row < end; ++row) {
          const std::int64_t last = position + row % count - begin + 1;
          const std::int64_t first = window > 0 ? std::max<std::int64_t>(0, last - window) : 0;
          rows::softmax(from + row * keys, data<T>(out) + row * keys, keys, first, last, static_cast<float>(scale));
        }
      });
    });
    return out;
  }
  const auto index = at::TensorOptions().dtype(at::kLong).device(q.device());
  const auto key_positions = at::arange(begin, begin + keys, index).unsqueeze(0);
  const auto query_positions = at::arange(position, position + count, index).unsqueeze(1);
  auto hidden = key_positions > query_positions;
  if (window > 0) hidden = hidden.logical_or(key_positions <= query_positions - window);
  scores.mul_(scale).masked_fill_(hidden, -std::numeric_limits<float>::infinity());
  return numerics.stored(at::softmax(scores, -1).to(q.scalar_type()));
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, NormSpec norm, const Numerics& numerics) {
  if (!fused(x, numerics)) return plain_norm(x, weight, norm, numerics);
  const auto from = x.contiguous();
  auto out = at::empty_like(from);
  const auto d = x.size(-1);
  with_type(x, [&]<class T>(T*) {
    at::parallel_for(0, from.numel() / d, kRowGrain, [&](std::int64_t row, std::int64_t end) {
      rows::norm(data<T>(from) + row * d, data<T>(weight), data<T>(out) + row * d, end - row, d, row_options(norm));
    });
  });
  return out;
}

at::Tensor add_norm(at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, NormSpec norm,
                    const Numerics& numerics) {
  if (!fused(x, numerics)) {
    x.copy_(numerics.stored(x + delta));
    return plain_norm(x, weight, norm, numerics);
  }
  const auto more = delta.contiguous();
  auto out = at::empty(x.sizes(), x.options());
  const auto d = x.size(-1);
  with_type(x, [&]<class T>(T*) {
    at::parallel_for(0, x.numel() / d, kRowGrain, [&](std::int64_t row, std::int64_t end) {
      rows::add_norm(data<T>(x) + row * d, data<T>(more) + row * d, data<T>(weight), data<T>(out) + row * d, end - row,
                     d, row_options(norm));
    });
  });
  return out;
}

void split_heads(const at::Tensor& qkv, const HeadNorms& norms, const at::Tensor& cos, const at::Tensor& sin,
                 at::Tensor& q, at::Tensor& k, at::Tensor& v, const Numerics& numerics) {
  const rows::HeadLayout layout{q.size(1), k.size(1), q.size(2)};
  const auto n = q.size(0);
  if (fused(qkv, numerics) && layout.dim <= rows::kMaxHeadDim) {
    const auto from = qkv.contiguous();
    const auto width = (layout.heads + 2 * layout.kv_heads) * layout.dim;
    const auto q_width = layout.heads * layout.dim;
    const auto kv_width = layout.kv_heads * layout.dim;
    with_type(qkv, [&]<class T>(T*) {
      at::parallel_for(0, n, kRowGrain, [&](std::int64_t row, std::int64_t end) {
        const auto angle = row * (layout.dim / 2);
        rows::split_heads(data<T>(from) + row * width, data<T>(norms.q), data<T>(norms.k), row_options(norms.norm),
                          data<float>(cos) + angle, data<float>(sin) + angle, layout, end - row,
                          data<T>(q) + row * q_width, data<T>(k) + row * kv_width, data<T>(v) + row * kv_width);
      });
    });
    return;
  }
  const auto heads = qkv.view({n, layout.heads + 2 * layout.kv_heads, layout.dim});
  auto queries = heads.narrow(1, 0, layout.heads);
  auto keys = heads.narrow(1, layout.heads, layout.kv_heads);
  if (norms.q.defined()) {
    queries = plain_norm(queries, norms.q, norms.norm, numerics);
    keys = plain_norm(keys, norms.k, norms.norm, numerics);
  }
  q.copy_(plain_rope(queries, cos, sin, numerics));
  k.copy_(plain_rope(keys, cos, sin, numerics));
  v.copy_(heads.narrow(1, layout.heads + layout.kv_heads, layout.kv_heads));
}

at::Tensor gated(const at::Tensor& gate_up, Activation activation, const Numerics& numerics) {
  const auto m = gate_up.size(-1) / 2;
  if (fused(gate_up, numerics) && activation == Activation::silu) {
    const auto from = gate_up.contiguous();
    auto out = at::empty({from.size(0), m}, from.options());
    with_type(from, [&]<class T>(T*) {
      at::parallel_for(0, from.size(0), kRowGrain, [&](std::int64_t row, std::int64_t end) {
        rows::silu_gate(data<T>(from) + row * 2 * m, data<T>(out) + row * m, end - row, m);
      });
    });
    return out;
  }
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
  // Scores of one block stay below 16 M entries (64 MiB).
  const std::int64_t block = std::clamp<std::int64_t>((std::int64_t{1} << 24) / (heads * k.size(0)), 1, 128);
  const auto wide_k = k.to(at::kFloat);
  auto result = at::empty({n, heads, dim}, q.options());
  for (std::int64_t first = 0; first < n; first += block) {
    const auto count = std::min(block, n - first);
    const auto end = position + first + count;
    const auto begin = window > 0 ? std::max<std::int64_t>(0, position + first - window + 1) : 0;
    // [KV, group·count, D] × [KV, D, keys]: the queries of a group share their key head.
    const auto queries = q.narrow(0, first, count)
                             .view({count, kv_heads, group, dim})
                             .permute({1, 2, 0, 3})
                             .to(at::kFloat)
                             .reshape({kv_heads, group * count, dim});
    const auto keys = wide_k.narrow(0, begin, end - begin).permute({1, 2, 0});
    const auto values = v.narrow(0, begin, end - begin).permute({1, 0, 2});
    const auto scores = at::bmm(queries, keys).view({kv_heads, group, count, end - begin});
    const auto weights = probabilities(scores, q, position + first, begin, window, scale, numerics)
                             .view({kv_heads, group * count, end - begin});
    result.narrow(0, first, count)
        .view({count, kv_heads, group, dim})
        .permute({1, 2, 0, 3})
        .copy_(at::bmm(weights, values).view({kv_heads, group, count, dim}));
  }
  return numerics.stored(result.view({n, heads * dim}));
}

}  // namespace difr::gpu
