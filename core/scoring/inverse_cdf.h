#pragma once
// Inverse-CDF samplers: one uniform number against the cumulative probabilities. Internal to scoring.

#include <span>

#include "core/domain/token_scores.h"
#include "core/sampling/filter.h"
#include "core/scoring/token_race.h"

namespace difr {

struct CdfResult {
  TokenId winner = -1;
  double margin = 0.0;     ///< distance of u to the claimed token's interval; 0 inside
  double gap = 0.0;        ///< to the nearest end when inside, -margin outside
  double runner_up = 0.0;  ///< distance of u to the nearest end of the winner's interval
};

/// `rest_mass` (units exp(s - max s) over the kept entries) follows all entries. Kept entries in descending order of
/// logit when `by_value`, else by id.
[[nodiscard]] CdfResult invert_cdf(const RaceEntries& entries, std::size_t claimed, const FilterCut& cut, double u,
                                   bool by_value, double rest_mass);

void append_cdf_scores(TokenScores& scores, const RawMetrics& raw, const FilterCut& cut, const CdfResult& result,
                       TokenId claimed);

}  // namespace difr
