#pragma once
// y = x·Wᵀ + b with the weight kept as the backend likes it best. Includes LibTorch.

#include <ATen/ATen.h>

namespace difr::gpu {

class Linear {
 public:
  Linear() = default;
  /// `weight` [out, in] and `bias` [out] (may be undefined) in the decoder's arithmetic type, on its device.
  Linear(at::Tensor weight, at::Tensor bias);

  /// x [n, in] → [n, out].
  [[nodiscard]] at::Tensor operator()(const at::Tensor& x) const;

 private:
  at::Tensor weight_;
  at::Tensor bias_;
  bool onednn_ = false;
};

}  // namespace difr::gpu
