#pragma once
// The table behind sampler_profiles(), make_noise() and make_uniform(); internal to core/sampling.

#include <memory>
#include <span>

#include "core/sampling/profile.h"

namespace difr {

struct RegistryEntry {
  SamplerProfile profile;
  std::unique_ptr<NoiseSource> (*noise)(const NoiseKey&) = nullptr;
  std::unique_ptr<UniformSource> (*uniform)(const NoiseKey&) = nullptr;
};

[[nodiscard]] std::span<const RegistryEntry> registry();

}  // namespace difr
