#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/casefile/case_file.h"
#include "core/verdict/decide.h"

namespace difr::report {

/// The token scores that a decision used. Filtered sampling (top-k, top-p, min-p) is judged from evidence with the
/// calibrated tolerance at the filter's edge; everything else from the exact scores stored at recompute time.
[[nodiscard]] std::optional<TokenScores> decided_scores(const CaseFile& file, std::int64_t run_id, const Claim& claim,
                                                        const std::string& sampler, double noise_sigma);

/// All scored requests of one provider, as a decision reads them; without a caveat.
[[nodiscard]] ScoredProvider scored_provider(const CaseFile& file, std::int64_t run_id, const ProviderRow& provider,
                                             const std::string& sampler, double noise_sigma);

}  // namespace difr::report
