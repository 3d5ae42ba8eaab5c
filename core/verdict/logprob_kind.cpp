#include "core/verdict/logprob_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/scoring/evidence_view.h"

namespace difr {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
/// Uncertainty of a prediction, from what the evidence does not hold, that still tells the kinds apart.
constexpr double kWidth = 0.02;

/// log of the sum over all entries of exp(x/T), relative to the largest; NaN when the evidence leaves it open.
double processed_log_sum(const EvidenceView& view, double top) {
  double known = 0;
  for (const float x : view.x()) known += std::exp((x - top) / view.temperature());
  const auto rest = view.rest_mass(top, view.temperature());
  const double low = std::log(known + rest.low), high = std::log(known + rest.high);
  return high - low <= kWidth ? 0.5 * (low + high) : kUnknown;
}

/// The same over what the filters keep.
double filtered_log_sum(const EvidenceView& view, double top) {
  if (!view.plan().active()) return processed_log_sum(view, top);
  const auto [loose, strict] = view.cuts({});
  if (loose.needs_more || strict.needs_more || loose.keep_min != strict.keep_min) return kUnknown;
  if (loose.claimed != Membership::inside || loose.keep_min <= view.rest_bound()) return kUnknown;
  double known = 0;
  for (const float x : view.x())
    if (x >= loose.keep_min) known += std::exp((x - top) / view.temperature());
  return std::log(known);
}

double median(std::vector<double> values) {
  if (values.empty()) return kUnknown;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string describe(const LogprobComparison& c) {
  if (c.tokens == 0) return "no token has a log-probability that can be compared";
  if (c.fits.empty())
    return "the stated log-probabilities are neither the reference's raw ones nor processed nor filtered ones";
  if (c.fits.size() == kLogprobKinds) return "the stated log-probabilities agree with the reference's";
  std::string kinds;
  for (const auto kind : c.fits) kinds += (kinds.empty() ? "" : " or ") + std::string(to_string(kind));
  return fmt::format("the stated log-probabilities are {} ones", kinds);
}

}  // namespace

const char* to_string(LogprobKind kind) {
  switch (kind) {
    case LogprobKind::raw:
      return "raw";
    case LogprobKind::processed:
      return "processed";
    case LogprobKind::filtered:
      return "filtered";
  }
  return "unknown";
}

void collect_logprobs(const Claim& claim, const Evidence& evidence, ProcessingOrder order,
                      std::vector<LogprobSample>& into) {
  if (claim.logprobs.size() != evidence.size()) return;
  EvidenceView view(claim, evidence, order, claim.sampling.greedy());
  for (std::size_t t = 0; t < evidence.size(); ++t) {
    if (!view.load(t) || !std::isfinite(claim.logprobs[t])) continue;
    const double own = view.x()[view.claimed()];
    const double top = *std::ranges::max_element(view.x());
    const double at = (own - top) / view.temperature();
    const LogprobSample sample{claim.logprobs[t],
                               {static_cast<double>(evidence.claimed_logit[t]) - evidence.log_sum_exp[t],
                                at - processed_log_sum(view, top), at - filtered_log_sum(view, top)}};
    if (std::ranges::all_of(sample.predicted, [](double p) { return std::isfinite(p); })) into.push_back(sample);
  }
}

LogprobComparison compare_logprobs(std::span<const LogprobSample> samples) {
  constexpr double most = 0.1;
  LogprobComparison result{.tokens = samples.size(), .median_difference = {}, .fits = {}, .text = {}};
  for (std::size_t k = 0; k < kLogprobKinds; ++k) {
    std::vector<double> differences;
    differences.reserve(samples.size());
    for (const auto& sample : samples) differences.push_back(std::abs(sample.stated - sample.predicted[k]));
    result.median_difference[k] = median(std::move(differences));
  }
  const double best = *std::ranges::min_element(result.median_difference);
  for (std::size_t k = 0; k < kLogprobKinds; ++k)
    if (result.median_difference[k] <= std::min(most, 2 * best + 0.005))
      result.fits.push_back(static_cast<LogprobKind>(k));
  result.text = describe(result);
  return result;
}

LogprobComparison stated_logprobs(const CaseFile& file, std::int64_t run_id, std::int64_t provider_id,
                                  ProcessingOrder order) {
  std::vector<LogprobSample> samples;
  file.for_each_claim(provider_id, [&](Claim&& claim) {
    if (claim.logprobs.empty()) return true;
    if (const auto evidence = file.evidence(run_id, claim.id)) collect_logprobs(claim, *evidence, order, samples);
    return true;
  });
  return compare_logprobs(samples);
}

}  // namespace difr
