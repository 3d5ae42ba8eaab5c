#include "gpu/weights/weight_source.h"

#include <algorithm>

#include "core/util/sha256.h"

namespace difr::gpu {

std::int64_t TensorInfo::elements() const {
  std::int64_t n = 1;
  for (const auto d : shape) n *= d;
  return n;
}

const TensorInfo* WeightSource::find(std::string_view name) const {
  const auto all = tensors();
  const auto it = std::ranges::lower_bound(all, name, {}, &TensorInfo::name);
  return it != all.end() && it->name == name ? &*it : nullptr;
}

std::string weights_digest(const WeightSource& source) {
  Sha256 sha;
  sha.field(std::string_view("difr-weights-1"));
  for (const auto& tensor : source.tensors()) {
    sha.field(std::string_view(tensor.name)).field(std::string_view(tensor.type));
    sha.field(static_cast<std::int64_t>(tensor.shape.size()));
    for (const auto d : tensor.shape) sha.field(d);
    sha.field(std::span(reinterpret_cast<const std::uint8_t*>(tensor.bytes.data()), tensor.bytes.size()));
  }
  return to_hex(sha.finish());
}

}  // namespace difr::gpu
