#pragma once
// The candidates of every output token, laid out for fast likelihoods: what a diagnosis evaluates thousands of times.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/domain/claim.h"
#include "core/domain/evidence.h"
#include "core/sampling/profile.h"

namespace difr {

/// One request as a diagnosis sees it.
struct DiagnosisRequest {
  const Claim* claim = nullptr;
  const Evidence* evidence = nullptr;
};

/// Claimed token in slot 0, then the reference's top candidates by logit (the claimed one left out). n tokens × m slots.
struct CandidateTable {
  int m = 0;
  std::vector<float> logit;              ///< n×m raw logits; -inf where a slot is empty
  std::vector<float> noise;              ///< n×m Gumbel noise under the hypothesis; empty without noise
  std::vector<float> log_sum_exp;        ///< n
  std::vector<float> tail;               ///< n: mean raw logit of everything outside the top M, -inf when nothing is
  std::vector<std::int32_t> tail_count;  ///< n: entries outside the top M
  std::vector<std::int32_t> rank;        ///< n: raw logit rank of the claimed token
  std::vector<std::int32_t> position;    ///< n: output index t
  std::vector<std::int32_t> request;     ///< n: index into the requests given
  std::vector<const SamplingParams*> sampling;  ///< per request; points into the claims

  [[nodiscard]] std::size_t size() const { return rank.size(); }
  [[nodiscard]] std::span<const float> logits(std::size_t t) const { return {logit.data() + t * m, std::size_t(m)}; }
  [[nodiscard]] std::span<const float> noises(std::size_t t) const { return {noise.data() + t * m, std::size_t(m)}; }
};

/// The seed a hypothesis gives to a request; nullopt: no noise for it.
using SeedRule = std::function<std::optional<std::int64_t>(std::size_t request)>;

/// Rows that the reference refused are left out. Stops after `max_tokens`, whole requests only.
[[nodiscard]] CandidateTable make_candidates(std::span<const DiagnosisRequest> requests, std::size_t max_tokens);

/// Noise of all slots under a profile; `shift` starts the stream so many draws later. Returns n×m values; NaN where the
/// rule gives no seed.
[[nodiscard]] std::vector<float> candidate_noise(const CandidateTable& table, std::span<const DiagnosisRequest> requests,
                                                 const SamplerProfile& profile, const SeedRule& seed, int shift = 0);

}  // namespace difr
