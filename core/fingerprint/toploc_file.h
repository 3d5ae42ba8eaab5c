#pragma once
// TOPLOC proof files: JSON lists of base64 proofs with the chunk parameters that the proofs themselves do not carry.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/fingerprint/fingerprint_file.h"
#include "core/fingerprint/toploc.h"

namespace difr {

struct ToplocRequest {
  std::string external_id;  ///< empty when the file holds one unnamed list
  std::vector<std::string> proofs;
};

struct ToplocClaim {
  ToplocSettings settings;
  std::string log;  ///< as named by the provider; may be empty
  std::vector<ToplocRequest> requests;
  std::vector<FingerprintIssue> issues;  ///< requests whose proofs are not a list of strings
};

/// {"config": {"method": "toploc", "decode_batching_size", "topk", "skip_prefill", ...}, "proofs": {request:
/// [base64]}}, or {"proofs": [base64], "decode_batching_size", "topk", "skip_prefill"}. Proofs are not decoded here.
/// Throws difr::Error (bad_input) when a parameter is missing or senseless.
[[nodiscard]] ToplocClaim read_toploc(const std::filesystem::path& path);
[[nodiscard]] ToplocClaim parse_toploc(std::string_view text, const std::string& where);
/// The first of the two forms; reading it back gives the same claim.
[[nodiscard]] std::string write_toploc(const ToplocClaim& claim);

}  // namespace difr
