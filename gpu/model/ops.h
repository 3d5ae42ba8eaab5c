#pragma once
// Row-wise pieces of the decoder. Includes LibTorch: only for the gpu/ implementation files.

#include <ATen/ATen.h>

#include "gpu/model/config.h"

namespace difr::gpu {

/// How values are held between operations. Half has no CPU arithmetic in LibTorch: it is computed in fp32 and rounded
/// to half after every operation.
struct Numerics {
  at::ScalarType type = at::kFloat;
  bool round_to_half = false;

  [[nodiscard]] at::Tensor stored(at::Tensor x) const { return round_to_half ? x.to(at::kHalf).to(at::kFloat) : x; }
};

struct NormSpec {
  double eps = 0;
  bool plus_one = false;  ///< multiply by 1 + w before rounding (Gemma)
};

/// x / rms(x) in fp32, rounded, times weight; over the last dimension.
[[nodiscard]] at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, NormSpec norm,
                                  const Numerics& numerics);

/// x += delta in place (contiguous rows), returns rms_norm(x).
[[nodiscard]] at::Tensor add_norm(at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, NormSpec norm,
                                  const Numerics& numerics);

/// Norm weights of queries and keys over each head; undefined when the family has none.
struct HeadNorms {
  at::Tensor q, k;
  NormSpec norm;
};

/// Rows of [q | k | v] into q [n, H, D], k and v [n, KV, D] (contiguous, preallocated): queries and keys normed, then
/// rotated by cos, sin [n, D/2] (fp32), rounded once.
void split_heads(const at::Tensor& qkv, const HeadNorms& norms, const at::Tensor& cos, const at::Tensor& sin,
                 at::Tensor& q, at::Tensor& k, at::Tensor& v, const Numerics& numerics);

/// act(gate) * up of x [n, 2·m] = [gate | up].
[[nodiscard]] at::Tensor gated(const at::Tensor& gate_up, Activation activation, const Numerics& numerics);

/// Causal attention of queries [n, H, D] at positions position .. position + n - 1 over keys and values [position + n,
/// KV, D]; scores and softmax in fp32; bounded scratch memory. Returns [n, H·D].
[[nodiscard]] at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int position, int window,
                                double scale, const Numerics& numerics);

}  // namespace difr::gpu
