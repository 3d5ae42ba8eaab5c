#pragma once
// Fake quantisation: weights rounded to what a quantised deployment would hold, kept as floats. Includes LibTorch.

#include <ATen/ATen.h>

#include <cstdint>
#include <string_view>

namespace difr::gpu {

enum class WeightRounding : std::uint8_t { none, int4, int8, fp8 };

struct Quantiser {
  WeightRounding rounding = WeightRounding::none;
  int group = 0;  ///< inputs that share a scale; 0: one scale per output channel
  bool kv_fp8 = false;
};

/// empty, int4-g32, int4-g128, int8, fp8, fp8-kv; throws difr::Error (usage) for another name.
[[nodiscard]] Quantiser parse_variant(std::string_view variant);

/// Symmetric round-to-nearest of a weight [out, in], fp32 in and out.
[[nodiscard]] at::Tensor quantise(const at::Tensor& weight, const Quantiser& quantiser);

/// Values rounded through the 8-bit float e4m3 (no infinities, largest 448; larger values saturate), as KV caches do.
[[nodiscard]] at::Tensor round_e4m3(const at::Tensor& x);

}  // namespace difr::gpu
