#pragma once
// Constructors of the noise sources behind make_noise(); internal to core/sampling.

#include <cstdint>
#include <memory>

#include "core/sampling/profile.h"

namespace difr {

/// How vLLM's Philox family turned words into noise, by version.
enum class PhiloxForm : std::uint8_t { fp64_eps, fp64_two_words, fp32_tiny, fp32_log1p };

[[nodiscard]] std::unique_ptr<NoiseSource> make_splitmix_noise(const NoiseKey& key);
[[nodiscard]] std::unique_ptr<NoiseSource> make_table_noise(const NoiseKey& key);
[[nodiscard]] std::unique_ptr<NoiseSource> make_philox_noise(const NoiseKey& key, PhiloxForm form);
[[nodiscard]] std::unique_ptr<NoiseSource> make_murmur_noise(const NoiseKey& key, bool fp64);
[[nodiscard]] std::unique_ptr<NoiseSource> make_torch_cpu_noise(const NoiseKey& key);
[[nodiscard]] std::unique_ptr<NoiseSource> make_torch_mkl_noise(const NoiseKey& key);
[[nodiscard]] std::unique_ptr<NoiseSource> make_torch_cuda_noise(const NoiseKey& key);
[[nodiscard]] std::unique_ptr<NoiseSource> make_sglang_murmur_noise(const NoiseKey& key);
[[nodiscard]] std::unique_ptr<NoiseSource> make_sglang_legacy_noise(const NoiseKey& key);
[[nodiscard]] std::unique_ptr<NoiseSource> make_mlx_noise(const NoiseKey& key);

}  // namespace difr
