#include "gpu/model/linear.h"

#include <utility>

#include "gpu/model/cpu_backend.h"

namespace difr::gpu {

Linear::Linear(at::Tensor weight, at::Tensor bias) : weight_(std::move(weight)), bias_(std::move(bias)) {
  static const bool blas = blas_knows_cpu() || !at::globalContext().hasMKLDNN();
  onednn_ = !blas && weight_.is_cpu() && weight_.scalar_type() == at::kFloat;
}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  if (onednn_) return at::mkldnn_linear(x.to_mkldnn(), weight_, bias_).to_dense();
  if (bias_.defined()) return at::linear(x, weight_, bias_);
  return at::linear(x, weight_);
}

}  // namespace difr::gpu
