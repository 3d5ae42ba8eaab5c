// Calibration from trusted runs: the clip Delta, the honest logit noise sigma0, and whether that noise model fits.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/statistics/quantile.h"
#include "core/util/error.h"
#include "core/verdict/decide.h"
#include "core/verdict/noise_model.h"
#include "core/verdict/provider_test.h"
#include "core/verdict/sampling_match.h"

namespace difr {

namespace {

/// Quantile of the trusted margins. A filtered token's +inf cannot be a clip: the largest finite margin stands in.
double clip_of(std::span<const float> margins, double level, double sigma) {
  std::vector<double> values(margins.begin(), margins.end());
  double clip = quantile(values, level);
  if (!std::isfinite(clip)) {
    clip = 0;
    for (const double value : values) {
      if (std::isfinite(value)) clip = std::max(clip, value);
    }
  }
  // Nearly bit-exact trusted runs put the quantile at 0, which would clip every margin away.
  return std::max(clip, sigma);
}

void collect_tokens(Calibration& calibration, std::span<const ScoredProvider> trusted, double sigma) {
  calibration.margin.clear();
  calibration.gap.clear();
  calibration.runner_up.clear();
  calibration.offsets.assign(1, 0);
  for (const ScoredProvider& provider : trusted) {
    for (const RequestScores& request : provider.requests) {
      const JudgedRequest tokens = judged_request(request.scores, sigma);
      if (tokens.empty()) continue;
      for (const JudgedToken& token : tokens) {
        calibration.margin.push_back(static_cast<float>(token.margin));
        calibration.gap.push_back(static_cast<float>(token.gap));
        calibration.runner_up.push_back(static_cast<float>(token.runner_up));
      }
      calibration.offsets.push_back(calibration.margin.size());
    }
  }
}

}  // namespace

Calibration make_calibration(std::string name, std::span<const ScoredProvider> trusted, std::string environment,
                             const DecisionOptions& options) {
  const std::string where = fmt::format("calibration {}", name);
  if (trusted.empty()) throw bad_input(where, "no trusted runs", "name at least one trusted log");
  if (!(options.clip_quantile > 0 && options.clip_quantile <= 1)) {
    throw bad_input(where, "the clip quantile must lie in (0, 1]", "the default is 0.999");
  }
  Calibration result;
  result.name = std::move(name);
  result.environment = std::move(environment);
  result.sampling = trusted.front().sampling;
  for (const ScoredProvider& provider : trusted) {
    const std::string difference = sampling_difference(provider.sampling, result.sampling);
    if (!difference.empty()) {
      throw bad_input(
          where,
          fmt::format("{} and {} declare different sampling: {}", provider.name, trusted.front().name, difference),
          "calibrate each sampling by itself");
    }
    result.providers.push_back(provider.name);
  }
  collect_tokens(result, trusted, 0);
  const auto finite = [](float margin) { return std::isfinite(margin); };
  if (std::none_of(result.margin.begin(), result.margin.end(), finite)) {
    throw bad_input(where, "the trusted runs hold no finite score",
                    "check their seeds and the sampler profile they were scored under");
  }
  result.noise_sigma = fit_noise_sigma(result.gap);
  collect_tokens(result, trusted,
                 result.noise_sigma);  // now tokens at a filter's edge can be told from those beyond it
  result.clip = clip_of(result.margin, options.clip_quantile, result.noise_sigma);
  return result;
}

NoiseFit check_noise_model(const Calibration& calibration) {
  NoiseFit fit;
  const double sigma = calibration.noise_sigma;
  // Near ties and clear wins separately: a noise of the wrong shape is right on average and wrong in both.
  double near_observed = 0;
  double near_expected = 0;
  double far_observed = 0;
  double far_expected = 0;
  for (std::size_t i = 0; i < calibration.tokens(); ++i) {
    const double gap = calibration.runner_up[i];
    const double observed = std::min<double>(calibration.margin[i], calibration.clip);
    const double expected = expected_margin(gap, calibration.clip, sigma).mean;
    if (observed > 0) ++fit.mismatches;
    const bool near = gap < 1.5 * sigma;
    (near ? near_observed : far_observed) += observed;
    (near ? near_expected : far_expected) += expected;
  }
  const double expected = near_expected + far_expected;
  fit.ratio = expected > 0 ? (near_observed + far_observed) / expected : 0;
  if (fit.mismatches < kFewestMismatches) {
    fit.misfit =
        fmt::format("only {} mismatches in the trusted runs, too few to fit the honest noise (at least {} are needed)",
                    fit.mismatches, kFewestMismatches);
    return fit;
  }
  // Two standard errors of a ratio of counts this small, and a factor two that the clipped statistic tolerates.
  const double slack = std::log(2.0) + 2 / std::sqrt(static_cast<double>(fit.mismatches) / 4);
  const double shape = std::log((near_observed + 1e-12) / (near_expected + 1e-12)) -
                       std::log((far_observed + 1e-12) / (far_expected + 1e-12));
  if (!(std::abs(std::log(fit.ratio)) <= std::log(2.0))) {
    fit.misfit = fmt::format("trusted margins are {:.2g} times what normal logit noise of sigma {:.3g} predicts",
                             fit.ratio, sigma);
  } else if (!(std::abs(shape) <= slack)) {
    fit.misfit = fmt::format(
        "trusted margins do not have the shape of normal logit noise (near ties {:.2g}, clear wins {:.2g} times "
        "the prediction)",
        near_observed / near_expected, far_observed / far_expected);
  }
  return fit;
}

}  // namespace difr
