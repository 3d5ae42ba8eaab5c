#include "core/verdict/calibration_study.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/util/error.h"
#include "core/verdict/case_pipeline.h"
#include "core/verdict/gap_power.h"
#include "core/verdict/sampling_match.h"

namespace difr {
namespace {

constexpr std::array kPromises{0.1, 0.05, 0.02, 0.01, 0.005, 0.001};
// Enough for curves on a screen: the error of a TPR is below two points, and a look must not take minutes.
constexpr int kPools = 1000;
constexpr int kBootstraps = 40;

EnvironmentFacts facts_of(const Calibration& c) {
  EnvironmentFacts facts;
  facts.id = c.id;
  facts.name = c.name;
  facts.environment = c.environment;
  facts.providers = c.providers;
  facts.requests = c.requests();
  facts.tokens = c.tokens();
  facts.clip = c.clip;
  facts.noise_sigma = c.noise_sigma;
  facts.threshold = std::numeric_limits<double>::quiet_NaN();
  return facts;
}

void compare_environments(CalibrationStudy& study, std::span<const Calibration> all, const DecisionOptions& options,
                          const std::stop_token& stop) {
  const Calibration& studied = all.front();
  std::vector<Calibration> comparable;
  for (const Calibration& c : all) {
    EnvironmentFacts facts = facts_of(c);
    facts.studied = &c == &studied;
    if (stop.stop_requested()) return;
    const std::string difference = sampling_difference(c.sampling, studied.sampling);
    if (!difference.empty()) {
      facts.incomparable = "another sampling: " + difference;
    } else {
      comparable.push_back(c);
      if (!facts.studied) facts.drift = check_drift(c, studied, options);
    }
    study.environments.push_back(std::move(facts));
  }
  const MixtureEffect effect = mixture_effect(comparable, studied.requests(), options);
  std::size_t at = 0;
  for (EnvironmentFacts& facts : study.environments)
    if (facts.incomparable.empty()) facts.threshold = effect.alone[at++];
  study.mixture_threshold = comparable.size() > 1 ? effect.mixture : std::numeric_limits<double>::quiet_NaN();
}

/// Budgets beyond what the provider said would only draw the same tokens again.
PowerOptions power_options(std::size_t tokens) {
  PowerOptions power;
  power.pools = kPools;
  power.bootstraps = kBootstraps;
  std::erase_if(power.budgets, [tokens](std::size_t budget) { return budget > tokens; });
  return power;
}

PowerStudy study_power(const CaseFile& file, const RunRow& run, const ProviderRow& provider,
                       const Calibration& calibration, const std::stop_token& stop) {
  PowerStudy power;
  power.provider_id = provider.id;
  power.provider = provider.config.name;
  ScoreOptions score;
  score.noise_sigma = calibration.noise_sigma;
  const ScoredProvider scored = load_scored_provider(file, run, provider, score);
  power.requests = scored.requests.size();
  const std::string difference = sampling_difference(scored.sampling, calibration.sampling);
  power.statistic = difference.empty() ? kClippedMargin : kStandardisedMargin;
  if (stop.stop_requested()) return power;

  // The request scores of a decision, whose permutation tests are not needed here.
  DecisionOptions quick;
  quick.resamples = 99;
  quick.alpha = 0.1;
  const Decisions decisions = decide(calibration, std::span(&scored, 1), quick);
  for (const RequestDecision& request : decisions.requests)
    if (request.tokens > 0) power.request_scores.push_back(request.score);
  power.tokens = decisions.providers.front().tokens;
  if (power.request_scores.empty()) {
    power.refused = "no token of this provider could be judged";
    return power;
  }
  const auto trusted = calibration_request_scores(calibration, power.statistic);
  power.roc = roc_curve(trusted, power.request_scores);
  power.roc_auc = auc(power.roc);
  power.roc_partial_auc = partial_auc(power.roc, 0.01);
  if (!difference.empty()) {
    power.refused = "it declares another sampling than the calibration (" + difference +
                    "), so its margins have another scale; calibrate with its sampling to see power by tokens";
    return power;
  }
  std::vector<JudgedRequest> claimed;
  for (const RequestScores& request : scored.requests)
    claimed.push_back(judged_request(request.scores, calibration.noise_sigma));
  const std::vector<JudgedRequest> honest = judged_requests(calibration);
  const PowerOptions options = power_options(power.tokens);
  if (options.budgets.empty() || stop.stop_requested()) return power;
  power.margin =
      power_by_tokens(margin_features(honest, calibration.clip), margin_features(claimed, calibration.clip), options);
  if (stop.stop_requested()) return power;
  power.gap = power_by_tokens(gap_features(honest, calibration.noise_sigma),
                              gap_features(claimed, calibration.noise_sigma), options, gap_pool_score(calibration));
  return power;
}

}  // namespace

std::vector<Calibration> distinct_calibrations(std::vector<Calibration> by_age) {
  std::vector<Calibration> out;
  for (auto c = by_age.rbegin(); c != by_age.rend(); ++c) {
    const bool again = std::ranges::any_of(out, [&](const Calibration& newer) {
      return newer.name == c->name && newer.environment == c->environment && newer.offsets == c->offsets &&
             newer.margin == c->margin && sampling_difference(newer.sampling, c->sampling).empty();
    });
    if (!again) out.push_back(std::move(*c));
  }
  return out;
}

CalibrationStudy study_calibration(const CaseFile& file, std::int64_t provider_id, const DecisionOptions& options,
                                   std::stop_token stop) {
  const std::vector<Calibration> all = distinct_calibrations(file.calibrations());
  if (all.empty())
    throw bad_input(file.path().string(), "holds no calibration", "import a trusted log as calibration and recompute");
  const Calibration& studied = all.front();
  CalibrationStudy study;
  study.facts = facts_of(studied);
  study.facts.studied = true;
  study.confidence = options.confidence;
  study.noise = check_noise_model(studied);
  if (studied.requests() >= 2) {
    const HoldOut halves = split_calibration(studied);
    study.hold_out = check_drift(halves.even, halves.odd, options);
  }
  compare_environments(study, all, options, stop);
  if (const auto provider = provider_id != 0 ? file.provider(provider_id) : std::nullopt;
      provider && !stop.stop_requested())
    study.power = study_power(file, require_run(file), *provider, studied, stop);
  study.request_scores = calibration_request_scores(studied, study.power ? study.power->statistic : kClippedMargin);
  for (const double alpha : kPromises)
    study.promises.push_back({alpha, upper_tolerance_limit(study.request_scores, alpha, 1 - options.confidence)});
  return study;
}

}  // namespace difr
