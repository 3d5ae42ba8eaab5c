#pragma once
// Fingerprint files (schema: docs/fingerprints.md): safetensors with header metadata, or JSON. The file as a whole is
// refused by difr::Error (bad_input); what is wrong with one request is listed and the others are read.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fingerprint/fingerprint.h"

namespace difr {

struct FingerprintIssue {
  std::string request;  ///< tensor or request name
  std::string message;
};

struct FingerprintFile {
  std::vector<FingerprintClaim> claims;  ///< one per projection in the file
  std::vector<FingerprintIssue> issues;  ///< rejected requests, in file order
};

/// Larger files are refused, since they are read whole: 64 M tokens at k = 8 in bf16.
inline constexpr std::uint64_t kFingerprintFileLimit = std::uint64_t{1} << 30;

/// By content: JSON when the first character is '{', else safetensors.
[[nodiscard]] FingerprintFile read_fingerprints(const std::filesystem::path& path);
[[nodiscard]] FingerprintFile parse_fingerprints(std::span<const std::uint8_t> bytes, const std::string& where);
[[nodiscard]] FingerprintFile parse_fingerprints_safetensors(std::span<const std::uint8_t> bytes,
                                                             const std::string& where);
[[nodiscard]] FingerprintFile parse_fingerprints_json(std::string_view text, const std::string& where);

/// The safetensors form of one claim; values are packed to claim.dtype. Reading it back gives the same claim.
[[nodiscard]] std::vector<std::uint8_t> write_fingerprints(const FingerprintClaim& claim);

/// A projection published as an F32, F16 or BF16 tensor of shape [k, d].
[[nodiscard]] Projection read_projection(const std::filesystem::path& path, const std::string& tensor);

}  // namespace difr
