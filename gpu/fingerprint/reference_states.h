#pragma once
// Final-norm states of claimed outputs, and what the fingerprint methods make of them (DESIGN §3).

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/domain/claim.h"
#include "core/fingerprint/fingerprint.h"
#include "core/fingerprint/toploc_file.h"
#include "core/fingerprint/toploc_verify.h"
#include "gpu/reference_engine.h"

namespace difr::gpu {

/// States [n, d] of one claim, row t predicting output token t. Claims come one at a time, in any order.
using StateSink = std::function<void(std::size_t claim, std::span<const float> states)>;

/// Teacher-forced states, in one pass (prefill) or step by step with a KV cache (decode; unknown counts as prefill).
/// Holds the states of a few thousand tokens at a time. Returns false when stopped. Throws as ReferenceEngine::score().
bool reference_states(ReferenceEngine& engine, std::span<const Claim> claims, ProviderMode mode, const StateSink& sink,
                      std::stop_token stop);

/// The name under which a claim's fingerprint is kept: its id, with the choice behind it when n > 1.
[[nodiscard]] std::string fingerprint_name(const Claim& claim);

/// Fills `claim.requests` from its projection's k, dtype and mode. Values are packed to the dtype already.
bool fill_fingerprints(ReferenceEngine& engine, std::span<const Claim> claims, const Projection& projection,
                       FingerprintClaim& claim, std::stop_token stop);

/// TOPLOC proofs of the states as bf16, by name. What cannot be encoded is listed in `issues`.
[[nodiscard]] ToplocClaim build_proofs(ReferenceEngine& engine, std::span<const Claim> claims,
                                       const ToplocSettings& settings, ProviderMode mode, std::stop_token stop);

/// One request of a fingerprint file against the reference.
struct FingerprintCheck {
  std::string name;
  std::vector<double> distances;  ///< per token; empty when there is an issue
  std::string issue;              ///< why it could not be compared
};
/// Names without a claim, and claims without a fingerprint, are listed with an issue: what is left out proves nothing.
[[nodiscard]] std::vector<FingerprintCheck> check_fingerprints(ReferenceEngine& engine, std::span<const Claim> claims,
                                                               const FingerprintClaim& fingerprints,
                                                               const Projection& projection, std::stop_token stop);

struct ToplocCheck {
  std::string name;
  ToplocReport report;
  std::string issue;
};
[[nodiscard]] std::vector<ToplocCheck> check_proofs(ReferenceEngine& engine, std::span<const Claim> claims,
                                                    const ToplocClaim& proofs, const ToplocThresholds& thresholds,
                                                    std::stop_token stop);

}  // namespace difr::gpu
