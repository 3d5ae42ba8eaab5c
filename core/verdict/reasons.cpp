#include "core/verdict/reasons.h"

#include <fmt/format.h>

#include <cmath>

#include "core/statistics/permutation.h"

namespace difr {

namespace {

std::string probability(double p) {
  return p < 0.001 ? fmt::format("{:.1e}", p) : fmt::format("{:.2g}", p);
}

/// Calibration requests that would make alpha reachable for a provider of this size; 0: no number would.
std::size_t needed_requests(std::size_t provider_requests, double alpha) {
  if (provider_requests == 0) return 0;
  for (std::size_t n = 1; n <= 100'000'000; n += 1 + n / 64) {
    if (log_choose(n + provider_requests, provider_requests) >= -std::log(alpha)) return n;
  }
  return 0;
}

std::string facts(const ProviderDecision& d, const Findings& f, double sigma, const DecisionOptions& options) {
  std::string text;
  const char* unit = "";
  if (f.sampling_difference.empty()) {
    text = fmt::format("Mean clipped margin {:.3g} logits over {} tokens in {} requests (trusted runs: {:.3g})",
                       d.score, d.tokens, d.requests, f.margins.calibration_score);
    unit = " logits";
  } else {
    text = fmt::format(
        "Declared sampling differs from the calibration's ({}), so margins are judged against what honest logit noise "
        "(sigma {:.3g}) predicts at each position: {:.3g} times the prediction over {} tokens in {} requests "
        "(trusted runs: {:.3g}; {:.0f} % above that is tolerated)",
        f.sampling_difference, sigma, d.score, d.tokens, d.requests, f.margins.calibration_score,
        100 * options.transfer_tolerance);
  }
  if (d.threshold) {
    text += fmt::format("; about a share {:g} of honest runs of this size would exceed {:.3g}{}", options.alpha,
                        *d.threshold, unit);
  }
  text += fmt::format("; p = {}.", probability(f.margins.p_value));
  if (d.filtered_tokens > 0) text += fmt::format(" {} tokens lie outside the declared filter.", d.filtered_tokens);
  if (d.refused_tokens > 0) text += fmt::format(" {} tokens could not be scored.", d.refused_tokens);
  return text;
}

}  // namespace

Judgement conclude(const ProviderDecision& decision, const Findings& findings, const std::string& caveat,
                    std::size_t calibration_requests, double noise_sigma, const DecisionOptions& options) {
  if (!findings.usable) {
    return {Outcome::undetermined, caveat.empty() ? "No output token could be judged: no usable scores."
                                                  : fmt::format("No output token could be judged: {}.", caveat)};
  }
  const MarginTest& test = findings.margins;
  const std::string text = facts(decision, findings, noise_sigma, options);
  const auto undetermined = [&](const std::string& why) { return Judgement{Outcome::undetermined, text + " " + why}; };

  if (!caveat.empty()) return undetermined(fmt::format("Undetermined whatever the numbers say: {}.", caveat));
  if (!findings.sampling_difference.empty() && !findings.noise.misfit.empty()) {
    return undetermined(fmt::format(
        "Undetermined: the calibration cannot be carried over to other sampling, for {}; calibrate with the "
        "declared sampling.",
        findings.noise.misfit));
  }
  if (test.smallest_p > options.alpha) {
    const std::size_t needed = needed_requests(decision.requests, options.alpha);
    return undetermined(fmt::format(
        "Undetermined: {} calibration requests against {} give no p-value below {}, so the promised "
        "false-alarm rate {:g} is out of reach; about {} calibration requests or more requests of the provider "
        "would do.",
        calibration_requests, decision.requests, probability(test.smallest_p), options.alpha, needed));
  }
  const bool above = decision.threshold && test.score > *decision.threshold;
  if (test.p_value <= options.alpha && above) {
    return {
        Outcome::fail,
        text + " The declared model, weights and sampling do not explain these tokens; the numbers do not say why."};
  }
  if (test.p_value <= options.alpha || above) {
    return undetermined(
        "Undetermined: the permutation test and the threshold disagree, so the case is at the border; more tokens "
        "would decide.");
  }
  if (test.p_value_hi <= options.warn_alpha && test.p_value > options.warn_alpha) {
    return undetermined(fmt::format(
        "Undetermined: some margins are only bounded, and their upper ends give p = {}; recompute with the full "
        "vocabulary.",
        probability(test.p_value_hi)));
  }
  if (test.p_value <= options.warn_alpha) {
    return undetermined(fmt::format(
        "Undetermined: below the warning level {:g}, but not below the promised {:g}; more tokens would decide.",
        options.warn_alpha, options.alpha));
  }
  if (findings.gap_p_value <= options.alpha) {
    return undetermined(fmt::format(
        "Undetermined: the mean clipped margin sees nothing, but the signed-gap likelihood ratio does (p = {}, "
        "closest to {}).",
        probability(findings.gap_p_value), findings.gap_alternative));
  }
  return {Outcome::pass, text + " No more mismatch than the trusted runs show; smaller deviations may go unseen."};
}

}  // namespace difr
