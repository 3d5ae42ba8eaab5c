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

/// x / rms(x) in fp32, rounded, times weight (1 + weight before the rounding when `plus_one`, as Gemma does).
[[nodiscard]] at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, bool plus_one,
                                  const Numerics& numerics);

/// Rotates x [n, heads, D] by cos, sin [n, D/2] (fp32): fp32 arithmetic, rounded once.
[[nodiscard]] at::Tensor apply_rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                                    const Numerics& numerics);

/// act(gate) * up of x [n, 2·m] = [gate | up].
[[nodiscard]] at::Tensor gated(const at::Tensor& gate_up, Activation activation, const Numerics& numerics);

/// Causal attention of queries [n, H, D] at positions position .. position + n - 1 over keys and values [position + n,
/// KV, D]; scores and softmax in fp32; bounded scratch memory. Returns [n, H·D].
[[nodiscard]] at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int position, int window,
                                double scale, const Numerics& numerics);

}  // namespace difr::gpu
