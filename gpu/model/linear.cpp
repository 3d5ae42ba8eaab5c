#include "gpu/model/linear.h"

#include <utility>

namespace difr::gpu {

Linear::Linear(at::Tensor weight, at::Tensor bias) : weight_(std::move(weight)), bias_(std::move(bias)) {}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  if (bias_.defined()) return at::linear(x, weight_, bias_);
  return at::linear(x, weight_);
}

}  // namespace difr::gpu
