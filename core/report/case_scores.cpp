#include "core/report/case_scores.h"

#include "core/sampling/profile.h"
#include "core/verdict/case_pipeline.h"

namespace difr::report {

std::optional<TokenScores> decided_scores(const CaseFile& file, std::int64_t run_id, const Claim& claim,
                                          const std::string& sampler, double noise_sigma) {
  ScoreOptions options;
  options.noise_sigma = noise_sigma;
  return claim_scores(file, run_id, claim, find_profile(sampler), options);
}

ScoredProvider scored_provider(const CaseFile& file, std::int64_t run_id, const ProviderRow& provider,
                               const std::string& sampler, double noise_sigma) {
  ScoredProvider scored{provider.id, provider.config.name, sampler, provider.config.sampling, {}, {}};
  file.for_each_claim(provider.id, [&](Claim&& claim) {
    if (auto scores = decided_scores(file, run_id, claim, sampler, noise_sigma)) {
      scored.requests.push_back({claim.id, claim.external_id, std::move(*scores)});
    }
    return true;
  });
  return scored;
}

}  // namespace difr::report
