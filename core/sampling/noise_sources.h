#pragma once
// Constructors of the noise sources behind make_noise(); internal to core/sampling.

#include <memory>

#include "core/sampling/profile.h"

namespace difr {

[[nodiscard]] std::unique_ptr<NoiseSource> make_splitmix_noise(const NoiseKey& key);
[[nodiscard]] std::unique_ptr<NoiseSource> make_torch_cpu_noise(const NoiseKey& key);

}  // namespace difr
