#pragma once
// Per-token scores: a pure function of (claim, evidence, sampler profile, parameters). Formulae: DESIGN §3.

#include <cstdint>
#include <vector>

#include "core/domain/claim.h"

namespace difr {

/// Bits of TokenScores::flags.
enum TokenFlag : std::uint8_t {
  exact_match = 1,      ///< the reference under this profile picks the claimed token
  filter_edge = 2,      ///< claimed token lies outside the reference's filter, but within the tolerance: scored as admitted
  filtered = 4,         ///< claimed token lies outside the filter by more than the tolerance: margin is +inf
  interval = 8,         ///< margin is only bounded (top-M certificate failed): [margin, margin_hi]
  refused = 16,         ///< reference row was not finite: no score, excluded from every mean
  robust_differs = 32,  ///< the naive winner sits at the filter edge; margin excludes it (see filter tolerance)
  no_noise = 64,        ///< no seed: margin undefined (NaN), only rank, cross-entropy and plausibility hold
};

/// Structure of arrays over the n output tokens of one claim. Margins and gaps in logit units.
struct TokenScores {
  std::vector<float> margin;           ///< >= 0; +inf when filtered; lower bound when `interval`
  std::vector<float> margin_hi;        ///< equals margin unless `interval`
  std::vector<float> gap;              ///< signed gap gamma; >= 0 iff the claimed token wins
  std::vector<float> log_prob;         ///< log softmax(z)(y), raw logits
  std::vector<std::int32_t> logit_rank;   ///< entries with strictly larger raw logit
  std::vector<std::int32_t> gumbel_rank;  ///< entries with strictly larger perturbed score; -1 when greedy or unknown
  std::vector<TokenId> reference_token;   ///< the reference's own choice; -1 when unknown
  std::vector<float> filter_distance;     ///< logits (processed, T-scaled back) to the filter's cut; 0 when inside
  std::vector<float> runner_up;           ///< gap between the reference's best and second best perturbed score, logit units
  std::vector<std::uint8_t> flags;        ///< TokenFlag bits

  [[nodiscard]] std::size_t size() const { return margin.size(); }
  void resize(std::size_t n) {
    for (auto* v : {&margin, &margin_hi, &gap, &log_prob, &filter_distance, &runner_up}) v->resize(n);
    for (auto* v : {&logit_rank, &gumbel_rank, &reference_token}) v->resize(n);
    flags.resize(n);
  }
};

}  // namespace difr
