#pragma once
// A provider's activation fingerprints: what is claimed, how the numbers are packed, and what they cost on the wire.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fingerprint/projection.h"

namespace difr {

/// int8: one signed byte per value and one fp16 scale per token; value = byte · scale.
enum class FingerprintDtype : std::uint8_t { fp32, bf16, fp16, int8 };
[[nodiscard]] const char* to_string(FingerprintDtype dtype);
[[nodiscard]] std::optional<FingerprintDtype> parse_fingerprint_dtype(std::string_view name);

/// Bytes sent for one token at k values.
[[nodiscard]] constexpr std::size_t fingerprint_bytes_per_token(FingerprintDtype dtype, int k) {
  const auto values = static_cast<std::size_t>(k);
  switch (dtype) {
    case FingerprintDtype::fp32:
      return 4 * values;
    case FingerprintDtype::bf16:
    case FingerprintDtype::fp16:
      return 2 * values;
    case FingerprintDtype::int8:
      return values + 2;
  }
  return 0;
}

/// Where the provider took the hidden state. Kernels differ, so honest distances do too: a calibration in one mode does
/// not judge claims of the other.
enum class ProviderMode : std::uint8_t {
  unknown,
  prefill,  ///< one pass over prompt and output after generation
  decode,   ///< step by step, while generating
};
[[nodiscard]] const char* to_string(ProviderMode mode);
[[nodiscard]] std::optional<ProviderMode> parse_provider_mode(std::string_view name);

/// What the provider would transmit and the auditor receives: `values` (n×k) after packing. Values beyond a format's
/// range become infinite there, as in hardware; int8 clamps none, since its scale follows the largest.
[[nodiscard]] std::vector<float> pack_and_unpack(std::span<const float> values, int k, FingerprintDtype dtype);

/// The int8 form itself: scales are fp16 bits, one per token; a token that is not finite gets a NaN scale.
struct PackedInt8 {
  std::vector<std::int8_t> values;    ///< n×k
  std::vector<std::uint16_t> scales;  ///< n
};
[[nodiscard]] PackedInt8 pack_int8(std::span<const float> values, int k);
[[nodiscard]] std::vector<float> unpack_int8(std::span<const std::int8_t> values, std::span<const float> scales, int k);

struct RequestFingerprint {
  std::string external_id;    ///< the log's request id
  std::size_t tokens = 0;     ///< n: output tokens; row t belongs to the state that predicts output token t
  std::vector<float> values;  ///< n×k, unpacked
};

/// All fingerprints of one provider under one projection.
struct FingerprintClaim {
  ProjectionKind projection = ProjectionKind::orthogonal;
  std::optional<std::uint64_t> seed;  ///< absent: the projection is given as a matrix elsewhere
  DrawOrder order = DrawOrder::d_by_k;
  RowSigns signs = RowSigns::positive_diagonal;
  int k = 0;
  FingerprintDtype dtype = FingerprintDtype::fp32;
  ProviderMode mode = ProviderMode::unknown;
  std::string layer;            ///< "final_norm" is the one whose distances are comparable
  std::string log;              ///< the log these belong to, as named by the provider
  std::string seed_commitment;  ///< hex, when the seed was committed before it was revealed
  std::vector<RequestFingerprint> requests;

  [[nodiscard]] std::size_t tokens() const;
  [[nodiscard]] std::size_t bytes() const { return tokens() * fingerprint_bytes_per_token(dtype, k); }
};

/// Empty when `claim` can be held against a reference projection; else what differs, in words.
[[nodiscard]] std::string projection_mismatch(const FingerprintClaim& claim, const ProjectionSpec& reference);

}  // namespace difr
