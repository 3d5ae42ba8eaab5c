#include "core/verdict/environments.h"

#include <algorithm>
#include <limits>

#include "core/util/error.h"
#include "core/verdict/provider_test.h"
#include "core/verdict/sampling_match.h"

namespace difr {

namespace {

std::vector<MarginSums> sums_of(const Calibration& calibration, double clip) {
  std::vector<MarginSums> sums;
  for (const JudgedRequest& request : judged_requests(calibration))
    sums.push_back(margin_sums(request, clip, calibration.noise_sigma));
  return sums;
}

/// Order of favour to the provider: pass, undetermined, fail; then the larger p.
bool more_favourable(const ProviderDecision& a, const ProviderDecision& b) {
  const auto rank = [](Outcome outcome) {
    return outcome == Outcome::pass ? 2 : outcome == Outcome::undetermined ? 1 : 0;
  };
  if (rank(a.verdict) != rank(b.verdict)) return rank(a.verdict) > rank(b.verdict);
  return a.p_value.value_or(0) > b.p_value.value_or(0);
}

void append_requests(Calibration& to, const Calibration& from, std::size_t r) {
  const auto begin = static_cast<std::ptrdiff_t>(from.offsets[r]);
  const auto end = static_cast<std::ptrdiff_t>(from.offsets[r + 1]);
  to.margin.insert(to.margin.end(), from.margin.begin() + begin, from.margin.begin() + end);
  to.gap.insert(to.gap.end(), from.gap.begin() + begin, from.gap.begin() + end);
  to.runner_up.insert(to.runner_up.end(), from.runner_up.begin() + begin, from.runner_up.begin() + end);
  to.offsets.push_back(to.margin.size());
}

}  // namespace

EnvelopeDecisions decide_over_environments(std::span<const Calibration> candidates,
                                           std::span<const ScoredProvider> providers, const DecisionOptions& options) {
  if (candidates.empty())
    throw bad_input("decision", "no calibration", "name the trusted logs of at least one environment");
  EnvelopeDecisions result;
  for (const ScoredProvider& provider : providers) {
    Decisions best;
    std::size_t chosen = 0;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      Decisions decisions = decide(candidates[c], std::span(&provider, 1), options);
      if (best.providers.empty() || more_favourable(decisions.providers[0], best.providers[0])) {
        best = std::move(decisions);
        chosen = c;
      }
    }
    ProviderDecision& decision = best.providers[0];
    if (candidates.size() > 1) {
      decision.reason += " Judged against " + std::to_string(candidates.size()) + " candidate environments; " +
                         candidates[chosen].name + " explains the provider best.";
    }
    result.decisions.providers.push_back(std::move(decision));
    result.decisions.requests.insert(result.decisions.requests.end(), best.requests.begin(), best.requests.end());
    result.calibration.push_back(chosen);
  }
  return result;
}

DriftCheck check_drift(const Calibration& older, const Calibration& newer, const DecisionOptions& options) {
  const std::string difference = sampling_difference(newer.sampling, older.sampling);
  if (!difference.empty()) throw bad_input("drift check", "the calibrations declare different sampling: " + difference);
  const std::vector<MarginSums> first = sums_of(older, older.clip);
  const std::vector<MarginSums> second = sums_of(newer, older.clip);
  const MarginTest up = test_margins(first, second, false, 0, options);
  const MarginTest down = test_margins(second, first, false, 0, options);
  return {up.calibration_score, up.score, std::min(1.0, 2 * std::min(up.p_value, down.p_value))};
}

HoldOut split_calibration(const Calibration& calibration) {
  HoldOut halves{calibration, calibration};
  for (Calibration* half : {&halves.even, &halves.odd}) {
    half->id = 0;
    half->margin.clear();
    half->gap.clear();
    half->runner_up.clear();
    half->offsets.assign(1, 0);
  }
  for (std::size_t r = 0; r < calibration.requests(); ++r)
    append_requests(r % 2 == 0 ? halves.even : halves.odd, calibration, r);
  return halves;
}

MixtureEffect mixture_effect(std::span<const Calibration> environments, std::size_t requests,
                             const DecisionOptions& options) {
  if (environments.empty() || requests == 0)
    throw bad_input("mixture of environments", "needs calibrations and a number of requests");
  MixtureEffect effect;
  double clip = 0;
  for (const Calibration& environment : environments) clip = std::max(clip, environment.clip);
  std::vector<MarginSums> pooled;
  const auto threshold = [&](std::span<const MarginSums> trusted) {
    // Only the number of claimed requests matters to the threshold.
    std::vector<MarginSums> claimed(requests, trusted.front());
    return test_margins(trusted, claimed, false, 0, options)
        .threshold.value_or(std::numeric_limits<double>::infinity());
  };
  for (const Calibration& environment : environments) {
    const std::vector<MarginSums> sums = sums_of(environment, clip);
    if (sums.empty()) throw bad_input("mixture of environments", environment.name + " holds no requests");
    effect.alone.push_back(threshold(sums));
    pooled.insert(pooled.end(), sums.begin(), sums.end());
  }
  effect.mixture = threshold(pooled);
  return effect;
}

}  // namespace difr
