#include "core/verdict/noise_model.h"

#include <algorithm>
#include <array>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/statistics/normal.h"
#include "core/util/error.h"

namespace difr {

namespace {

constexpr double kMinLogSigma = -16.0;  // 1e-7 logits: below the fp32 resolution of any logit
constexpr double kMaxLogSigma = 3.0;    // 20 logits: wider than any vocabulary's spread

double win_probability(double gap, double sigma) {
  return normal_cdf(gap / (std::numbers::sqrt2 * sigma));
}

double negative_log_likelihood(std::span<const double> gaps, double log_sigma, const OutlierModel& outliers) {
  const double sigma = std::exp(log_sigma);
  double sum = 0;
  for (const double gap : gaps) {
    // Beyond nine standard deviations Phi is 1 to double precision and the term vanishes.
    if (gap > 9 * std::numbers::sqrt2 * sigma) continue;
    sum -= std::log((1 - outliers.share) * win_probability(gap, sigma) + outliers.share * outliers.density);
  }
  return sum;
}

double likelihood_of_no_mismatch_half(std::span<const double> gaps) {
  // log-probability of no mismatch falls monotonically with sigma: bisect for log(1/2).
  double low = kMinLogSigma;
  double high = kMaxLogSigma;
  for (int step = 0; step < 80; ++step) {
    const double middle = 0.5 * (low + high);
    const double sigma = std::exp(middle);
    double log_probability = 0;
    for (const double gap : gaps) log_probability += normal_log_cdf(gap / (std::numbers::sqrt2 * sigma));
    (log_probability > -std::numbers::ln2 ? low : high) = middle;
  }
  return std::exp(low);
}

}  // namespace

double fit_noise_sigma(std::span<const float> gaps, const OutlierModel& outliers) {
  std::vector<double> finite;
  finite.reserve(gaps.size());
  bool mismatch = false;
  for (const float gap : gaps) {
    if (std::isnan(gap)) continue;
    if (std::isinf(gap) && gap < 0) continue;  // outside the filter: says nothing about the size of the noise
    finite.push_back(gap);
    mismatch = mismatch || gap < 0;
  }
  if (finite.empty())
    throw bad_input("noise fit", "no token has a signed gap", "score the trusted runs with their seeds");
  if (!mismatch) return likelihood_of_no_mismatch_half(finite);

  const auto objective = [&](double log_sigma) { return negative_log_likelihood(finite, log_sigma, outliers); };
  // Outliers can make the likelihood bimodal, so a grid finds the basin before the line search.
  constexpr int kGrid = 26;
  const double step = (kMaxLogSigma - kMinLogSigma) / (kGrid - 1);
  int best = 0;
  double best_value = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kGrid; ++i) {
    const double value = objective(kMinLogSigma + i * step);
    if (value < best_value) {
      best_value = value;
      best = i;
    }
  }
  const double centre = kMinLogSigma + best * step;
  const auto minimum = boost::math::tools::brent_find_minima(objective, std::max(kMinLogSigma, centre - step),
                                                             std::min(kMaxLogSigma, centre + step), 26);
  return std::exp(minimum.first);
}

Moments expected_margin(double runner_up_gap, double clip, double sigma) {
  if (!(runner_up_gap >= 0) || std::isinf(runner_up_gap)) return {};
  const double mismatch = win_probability(-runner_up_gap, sigma);
  const double margin = std::min(runner_up_gap, clip);
  return {margin * mismatch, margin * margin * mismatch * (1 - mismatch)};
}

std::span<const Alternative> default_alternatives() {
  static constexpr std::array<Alternative, 6> kFamily{{
      {1.5, 1e-3, "logit noise 1.5 times the honest one"},
      {2.0, 1e-3, "logit noise 2 times the honest one"},
      {3.0, 1e-3, "logit noise 3 times the honest one"},
      {8.0, 1e-3, "logit noise 8 times the honest one"},
      {20.0, 1e-3, "logit noise 20 times the honest one"},
      {1.0, 1e-2, "isolated tokens that noise does not explain"},
  }};
  return kFamily;
}

GapLikelihood::GapLikelihood(double sigma, const Alternative& alternative, const OutlierModel& outliers)
    : sigma_(sigma), alternative_(alternative), outliers_(outliers) {}

double GapLikelihood::operator()(double gap) const {
  const double honest = win_probability(gap, sigma_);
  const double other = win_probability(gap, alternative_.scale * sigma_);
  return std::log(((1 - alternative_.outlier_share) * other + alternative_.outlier_share * outliers_.density) /
                  ((1 - outliers_.share) * honest + outliers_.share * outliers_.density));
}

double GapLikelihood::expectation(double runner_up_gap, double sigma_truth) const {
  const double gap = runner_up_gap >= 0 ? runner_up_gap : 0;
  const double match = win_probability(gap, sigma_truth);
  return match * (*this)(gap) + (1 - match) * (*this)(-gap);
}

}  // namespace difr
