#include "core/report/case_scores.h"

#include "core/sampling/profile.h"
#include "core/scoring/token_difr.h"

namespace difr::report {
namespace {

bool filters(const SamplingParams& s) {
  return !s.greedy() && (s.top_k > 0 || s.top_p < 1 || s.min_p > 0);
}

}  // namespace

std::optional<TokenScores> decided_scores(const CaseFile& file, std::int64_t run_id, const Claim& claim,
                                          const std::string& sampler, double noise_sigma) {
  const SamplerProfile* profile = find_profile(sampler);
  if (profile && filters(claim.sampling)) {
    if (const auto evidence = file.evidence(run_id, claim.id)) {
      ScoreOptions options;
      options.noise_sigma = noise_sigma;
      return score_evidence(claim, *evidence, *profile, options);
    }
  }
  return file.scores(run_id, claim.id);
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
