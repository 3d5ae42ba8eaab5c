#include "core/fingerprint/fingerprint.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/fingerprint/float_formats.h"

namespace difr {

namespace {

constexpr std::array<std::pair<std::string_view, FingerprintDtype>, 9> kDtypeNames{{
    {"fp32", FingerprintDtype::fp32},
    {"bf16", FingerprintDtype::bf16},
    {"fp16", FingerprintDtype::fp16},
    {"int8", FingerprintDtype::int8},
    {"float32", FingerprintDtype::fp32},
    {"bfloat16", FingerprintDtype::bf16},
    {"float16", FingerprintDtype::fp16},
    {"torch.bfloat16", FingerprintDtype::bf16},
    {"torch.float16", FingerprintDtype::fp16},
}};

}  // namespace

const char* to_string(FingerprintDtype dtype) {
  switch (dtype) {
    case FingerprintDtype::fp32:
      return "fp32";
    case FingerprintDtype::bf16:
      return "bf16";
    case FingerprintDtype::fp16:
      return "fp16";
    case FingerprintDtype::int8:
      return "int8";
  }
  return "unknown";
}

std::optional<FingerprintDtype> parse_fingerprint_dtype(std::string_view name) {
  const auto* const found =
      std::find_if(kDtypeNames.begin(), kDtypeNames.end(), [&](const auto& known) { return known.first == name; });
  if (found == kDtypeNames.end()) return std::nullopt;
  return found->second;
}

const char* to_string(ProviderMode mode) {
  switch (mode) {
    case ProviderMode::unknown:
      return "unknown";
    case ProviderMode::prefill:
      return "prefill";
    case ProviderMode::decode:
      return "decode";
  }
  return "unknown";
}

std::optional<ProviderMode> parse_provider_mode(std::string_view name) {
  if (name == "prefill") return ProviderMode::prefill;
  if (name == "decode") return ProviderMode::decode;
  return std::nullopt;
}

PackedInt8 pack_int8(std::span<const float> values, int k) {
  const auto width = static_cast<std::size_t>(k);
  PackedInt8 packed;
  packed.values.reserve(values.size());
  for (std::size_t begin = 0; begin + width <= values.size(); begin += width) {
    const auto token = values.subspan(begin, width);
    float largest = 0;
    for (const float value : token) largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : INFINITY;
    // The scale is rounded first and the bytes chosen for the rounded one, so its rounding costs no accuracy.
    std::uint16_t bits = float_to_fp16(largest / 127.0F);
    while (std::isfinite(largest) && fp16_to_float(bits) * 127.5F < largest && bits < 0x7BFFu) ++bits;
    const float scale = fp16_to_float(bits);
    if (!std::isfinite(largest) || !std::isfinite(scale)) bits = 0x7E00u;
    packed.scales.push_back(bits);
    for (const float value : token) {
      const bool empty = bits == 0x7E00u || scale == 0;
      packed.values.push_back(
          empty ? std::int8_t{0}
                : static_cast<std::int8_t>(std::clamp(std::nearbyint(value / scale), -127.0F, 127.0F)));
    }
  }
  return packed;
}

std::vector<float> unpack_int8(std::span<const std::int8_t> values, std::span<const float> scales, int k) {
  std::vector<float> result;
  result.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    result.push_back(static_cast<float>(values[i]) * scales[i / static_cast<std::size_t>(k)]);
  return result;
}

std::vector<float> pack_and_unpack(std::span<const float> values, int k, FingerprintDtype dtype) {
  std::vector<float> result(values.begin(), values.end());
  switch (dtype) {
    case FingerprintDtype::fp32:
      break;
    case FingerprintDtype::bf16:
      for (float& value : result) value = bf16_to_float(float_to_bf16(value));
      break;
    case FingerprintDtype::fp16:
      for (float& value : result) value = fp16_to_float(float_to_fp16(value));
      break;
    case FingerprintDtype::int8: {
      const PackedInt8 packed = pack_int8(values, k);
      std::vector<float> scales;
      scales.reserve(packed.scales.size());
      for (const std::uint16_t bits : packed.scales) scales.push_back(fp16_to_float(bits));
      return unpack_int8(packed.values, scales, k);
    }
  }
  return result;
}

std::size_t FingerprintClaim::tokens() const {
  return std::accumulate(requests.begin(), requests.end(), std::size_t{0},
                         [](std::size_t sum, const RequestFingerprint& request) { return sum + request.tokens; });
}

std::string projection_mismatch(const FingerprintClaim& claim, const ProjectionSpec& reference) {
  if (claim.projection != reference.kind)
    return fmt::format("projection {} claimed, the reference used {}", to_string(claim.projection),
                       to_string(reference.kind));
  if (claim.k != reference.k) return fmt::format("k = {} claimed, the reference used {}", claim.k, reference.k);
  if (claim.order != reference.order) return "the matrix is drawn in the other order";
  if (claim.projection == ProjectionKind::orthogonal && claim.signs != reference.signs)
    return "the rows are signed otherwise";
  // Torch's generator sees the low 32 bits only.
  if (claim.seed && static_cast<std::uint32_t>(*claim.seed) != static_cast<std::uint32_t>(reference.seed))
    return fmt::format("projection seed {} claimed, the reference used {}", *claim.seed, reference.seed);
  if (!claim.layer.empty() && claim.layer != "final_norm")
    return fmt::format("fingerprints of layer \"{}\", the reference has those of the final norm", claim.layer);
  return {};
}

}  // namespace difr
