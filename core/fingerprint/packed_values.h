#pragma once
// Fingerprint values as little-endian bytes, as they lie in files.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fingerprint/fingerprint.h"

namespace difr {

/// F32, BF16, F16 or I8.
[[nodiscard]] std::string_view safetensors_dtype(FingerprintDtype dtype);

struct PackedValues {
  std::vector<std::uint8_t> values;
  std::vector<std::uint8_t> scales;  ///< int8 only: fp16 per token
};
[[nodiscard]] PackedValues pack_values(std::span<const float> values, int k, FingerprintDtype dtype);

/// F32, F16 or BF16 bytes as floats; empty for another dtype or a size that is not whole.
[[nodiscard]] std::optional<std::vector<float>> unpack_floats(std::span<const std::uint8_t> bytes,
                                                              std::string_view dtype);

/// Empty, or which token of n×k values is not finite.
[[nodiscard]] std::string not_finite(std::span<const float> values, int k);

}  // namespace difr
