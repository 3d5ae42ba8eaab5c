#include "core/verdict/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/statistics/multiple_testing.h"
#include "core/util/error.h"
#include "core/verdict/provider_test.h"
#include "core/verdict/reasons.h"
#include "core/verdict/sampling_match.h"

namespace difr {

namespace {

/// What every provider is compared with; computed once.
struct Baseline {
  const Calibration& calibration;
  std::vector<JudgedRequest> requests;
  std::vector<MarginSums> sums;
  NoiseFit fit;
  double mean_expected = 0;  ///< per request; shrinks request ratios so that short requests do not explode
};

double request_score(const MarginSums& sums, bool standardised, double mean_expected) {
  if (!standardised) return sums.tokens > 0 ? sums.observed / sums.tokens : 0;
  return (sums.observed + mean_expected) / (sums.expected + mean_expected);
}

Baseline make_baseline(const Calibration& calibration) {
  Baseline base{calibration, judged_requests(calibration), {}, check_noise_model(calibration), 0};
  for (const JudgedRequest& request : base.requests) {
    base.sums.push_back(margin_sums(request, calibration.clip, calibration.noise_sigma));
    base.mean_expected += base.sums.back().expected;
  }
  if (!base.sums.empty()) base.mean_expected /= static_cast<double>(base.sums.size());
  return base;
}

std::vector<double> sorted_request_scores(const Baseline& base, bool standardised) {
  std::vector<double> scores;
  for (const MarginSums& sums : base.sums) {
    if (sums.tokens > 0) scores.push_back(request_score(sums, standardised, base.mean_expected));
  }
  std::sort(scores.begin(), scores.end());
  return scores;
}

/// Counts over one provider's tokens, into `decision`; and the per-request facts.
void count_tokens(const ScoredProvider& provider, ProviderDecision& decision, std::vector<RequestDecision>& details) {
  std::size_t matches = 0;
  std::size_t judged = 0;
  double log_prob = 0;
  std::size_t log_probs = 0;
  for (const RequestScores& request : provider.requests) {
    RequestDecision detail;
    detail.request_id = request.request_id;
    detail.provider_id = provider.provider_id;
    detail.external_id = request.external_id;
    const TokenScores& scores = request.scores;
    std::size_t request_matches = 0;
    for (std::size_t t = 0; t < scores.size(); ++t) {
      const unsigned flags = scores.flags[t];
      if ((flags & TokenFlag::refused) != 0) {
        ++decision.refused_tokens;
        continue;
      }
      if (std::isfinite(scores.log_prob[t])) {
        log_prob += scores.log_prob[t];
        ++log_probs;
      }
      if ((flags & TokenFlag::no_noise) != 0) continue;
      ++detail.tokens;
      if ((flags & TokenFlag::exact_match) != 0) ++request_matches;
      if ((flags & TokenFlag::filtered) != 0) ++decision.filtered_tokens;
      if ((flags & TokenFlag::filter_edge) != 0) ++decision.edge_tokens;
      if (!std::isnan(scores.margin[t])) detail.max_margin = std::max<double>(detail.max_margin, scores.margin[t]);
    }
    if (detail.tokens > 0)
      detail.exact_match = static_cast<double>(request_matches) / static_cast<double>(detail.tokens);
    matches += request_matches;
    judged += detail.tokens;
    details.push_back(detail);
  }
  decision.tokens = judged;
  if (judged > 0) decision.exact_match = static_cast<double>(matches) / static_cast<double>(judged);
  if (log_probs > 0) decision.cross_entropy = -log_prob / static_cast<double>(log_probs);
}

void judge_requests(const std::vector<double>& calibration_scores, std::span<const MarginSums> sums, bool standardised,
                    double mean_expected, double level, std::span<RequestDecision> details) {
  std::vector<double> p_values;
  std::vector<std::size_t> tested;
  for (std::size_t r = 0; r < details.size(); ++r) {
    if (!(sums[r].tokens > 0)) continue;  // nothing to judge: p stays 1 and takes no part in the correction
    details[r].score = request_score(sums[r], standardised, mean_expected);
    details[r].p_value = conformal_p(calibration_scores, details[r].score);
    p_values.push_back(details[r].p_value);
    tested.push_back(r);
  }
  const std::vector<double> q_values = benjamini_hochberg(p_values);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    details[tested[i]].q_value = q_values[i];
    details[tested[i]].flagged = q_values[i] <= level;
  }
}

ProviderDecision decide_one(const Baseline& base, const ScoredProvider& provider, const DecisionOptions& options,
                            std::vector<RequestDecision>& all_details) {
  const Calibration& calibration = base.calibration;
  ProviderDecision decision;
  decision.provider_id = provider.provider_id;
  decision.name = provider.name;
  decision.sampler = provider.sampler;
  decision.requests = provider.requests.size();
  decision.clip = calibration.clip;
  std::vector<RequestDecision> details;
  count_tokens(provider, decision, details);

  Findings findings;
  findings.sampling_difference = sampling_difference(provider.sampling, calibration.sampling);
  const bool standardised = !findings.sampling_difference.empty();
  decision.statistic = standardised ? kStandardisedMargin : kClippedMargin;
  std::vector<JudgedRequest> claimed;
  std::vector<MarginSums> sums;
  double observed = 0;
  double judged = 0;
  for (const RequestScores& request : provider.requests) {
    claimed.push_back(judged_request(request.scores, calibration.noise_sigma));
    sums.push_back(margin_sums(claimed.back(), calibration.clip, calibration.noise_sigma));
    observed += sums.back().observed;
    judged += sums.back().tokens;
  }
  findings.usable = judged > 0;
  findings.noise = base.fit;
  if (findings.usable) {
    decision.mean_clipped_margin = observed / judged;
    findings.margins = test_margins(base.sums, sums, standardised, options.transfer_tolerance, options);
    const GapTest gaps =
        test_gaps(base.requests, claimed, calibration.noise_sigma, standardised, options.transfer_tolerance, options);
    findings.gap_p_value = gaps.p_value;
    findings.gap_alternative = gaps.alternative;
    decision.score = findings.margins.score;
    decision.threshold = findings.margins.threshold;
    decision.p_value = findings.margins.p_value;
    decision.llr_score = gaps.score;
    decision.llr_p_value = gaps.p_value;
    judge_requests(sorted_request_scores(base, standardised), sums, standardised, base.mean_expected,
                   options.request_alpha, details);
  }
  const Judgement conclusion =
      conclude(decision, findings, provider.caveat, base.sums.size(), calibration.noise_sigma, options);
  decision.verdict = conclusion.outcome;
  decision.reason = conclusion.reason;
  all_details.insert(all_details.end(), details.begin(), details.end());
  return decision;
}

void require_options(const DecisionOptions& options) {
  const auto level = [](double value, const char* name) {
    if (!(value > 0 && value < 1)) throw bad_input(name, "must lie strictly between 0 and 1");
  };
  level(options.alpha, "alpha");
  level(options.request_alpha, "request alpha");
  level(options.confidence, "confidence");
  if (!(options.transfer_tolerance >= 0)) throw bad_input("transfer tolerance", "must not be negative");
}

}  // namespace

Decisions decide(const Calibration& calibration, std::span<const ScoredProvider> providers,
                 const DecisionOptions& options) {
  require_options(options);
  if (calibration.tokens() == 0)
    throw bad_input("calibration " + calibration.name, "holds no scores", "make it from trusted logs");
  const Baseline base = make_baseline(calibration);
  Decisions decisions;
  for (const ScoredProvider& provider : providers) {
    decisions.providers.push_back(decide_one(base, provider, options, decisions.requests));
  }
  return decisions;
}

std::vector<double> calibration_request_scores(const Calibration& calibration, const std::string& statistic) {
  return sorted_request_scores(make_baseline(calibration), statistic == kStandardisedMargin);
}

}  // namespace difr
