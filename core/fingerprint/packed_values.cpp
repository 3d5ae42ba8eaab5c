#include "core/fingerprint/packed_values.h"

#include <fmt/core.h>

#include <bit>
#include <cmath>

#include "core/fingerprint/float_formats.h"

namespace difr {

namespace {

void put16(std::vector<std::uint8_t>& bytes, std::uint16_t word) {
  bytes.push_back(static_cast<std::uint8_t>(word));
  bytes.push_back(static_cast<std::uint8_t>(word >> 8));
}

}  // namespace

std::string_view safetensors_dtype(FingerprintDtype dtype) {
  switch (dtype) {
    case FingerprintDtype::fp32:
      return "F32";
    case FingerprintDtype::bf16:
      return "BF16";
    case FingerprintDtype::fp16:
      return "F16";
    case FingerprintDtype::int8:
      return "I8";
  }
  return "";
}

PackedValues pack_values(std::span<const float> values, int k, FingerprintDtype dtype) {
  PackedValues packed;
  switch (dtype) {
    case FingerprintDtype::fp32:
      for (const float value : values) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        put16(packed.values, static_cast<std::uint16_t>(bits));
        put16(packed.values, static_cast<std::uint16_t>(bits >> 16));
      }
      break;
    case FingerprintDtype::bf16:
      for (const float value : values) put16(packed.values, float_to_bf16(value));
      break;
    case FingerprintDtype::fp16:
      for (const float value : values) put16(packed.values, float_to_fp16(value));
      break;
    case FingerprintDtype::int8: {
      const PackedInt8 bytes = pack_int8(values, k);
      for (const std::int8_t value : bytes.values) packed.values.push_back(static_cast<std::uint8_t>(value));
      for (const std::uint16_t scale : bytes.scales) put16(packed.scales, scale);
      break;
    }
  }
  return packed;
}

std::optional<std::vector<float>> unpack_floats(std::span<const std::uint8_t> bytes, std::string_view dtype) {
  const std::size_t width = dtype == "F32" ? 4 : dtype == "F16" || dtype == "BF16" ? 2 : 0;
  if (width == 0 || bytes.size() % width != 0) return std::nullopt;
  std::vector<float> values;
  values.reserve(bytes.size() / width);
  for (std::size_t i = 0; i < bytes.size(); i += width) {
    const auto low = static_cast<std::uint16_t>(bytes[i] | (bytes[i + 1] << 8));
    if (width == 4) {
      const auto high = static_cast<std::uint32_t>(bytes[i + 2] | (bytes[i + 3] << 8));
      values.push_back(std::bit_cast<float>((high << 16) | low));
    } else {
      values.push_back(dtype == "F16" ? fp16_to_float(low) : bf16_to_float(low));
    }
  }
  return values;
}

std::string not_finite(std::span<const float> values, int k) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      return fmt::format("token {} holds a value that is not finite", i / static_cast<std::size_t>(k));
  return {};
}

}  // namespace difr
