#pragma once
// Constructors of the uniform sources behind make_uniform(); internal to core/sampling.

#include <cmath>
#include <limits>
#include <memory>

#include "core/sampling/profile.h"

namespace difr {

[[nodiscard]] std::unique_ptr<UniformSource> make_llama_cpp_uniform(const NoiseKey& key);

}  // namespace difr
