#include "core/verdict/provider_test.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace difr {

namespace {

// Streams of the one seed; changing them changes every recorded p-value.
enum Stream : std::uint64_t { margin_permutation = 1, margin_bootstrap = 2, gap_permutation = 3 };

constexpr double kEdgeZ = 4;  // as ScoreOptions::edge_z
constexpr double kWider = 1.1;
constexpr int kMostResamples = 2'000'000;

/// Enough for the level to be resolved (ten exceedances at alpha), within reason.
int resamples_for(const DecisionOptions& options) {
  const double needed = std::ceil(10 / std::max(options.alpha, 1e-12));
  return std::clamp(options.resamples, static_cast<int>(std::min<double>(needed, kMostResamples)), kMostResamples);
}

// Ratio of sums sum(x)/sum(w) with columns x, w, xx, xw, ww starting at `at`.
constexpr std::size_t kRatioColumns = 5;

void append_ratio(std::vector<double>& row, double x, double w) {
  row.insert(row.end(), {x, w, x * x, x * w, w * w});
}

double ratio(std::span<const double> sums, std::size_t at) {
  return sums[at + 1] > 0 ? sums[at] / sums[at + 1] : 0;
}

/// Linearised variance of a ratio of sums over independent units.
double ratio_variance(std::span<const double> sums, std::size_t at) {
  const double w = sums[at + 1];
  if (!(w > 0)) return 0;
  const double r = sums[at] / w;
  return std::max(0.0, sums[at + 2] - 2 * r * sums[at + 3] + r * r * sums[at + 4]) / (w * w);
}

/// Difference of ratios, second minus first, over its standard error: the studentised form keeps the permutation test
/// asymptotically valid when the groups differ in more than the tested mean (Janssen 1997; Chung and Romano 2013).
double studentised(std::span<const double> first, std::span<const double> second, std::size_t at) {
  const double difference = ratio(second, at) - ratio(first, at);
  const double variance = ratio_variance(first, at) + ratio_variance(second, at);
  if (variance > 0) return difference / std::sqrt(variance);
  if (difference == 0) return 0;
  return std::copysign(std::numeric_limits<double>::infinity(), difference);
}

UnitTable margin_table(std::span<const MarginSums> requests, bool standardised, double scale, bool upper) {
  UnitTable table(kRatioColumns);
  for (const MarginSums& sums : requests) {
    if (!(sums.tokens > 0)) continue;
    append_ratio(table.values, scale * (upper ? sums.observed_hi : sums.observed),
                 standardised ? sums.expected : sums.tokens);
  }
  return table;
}

std::vector<double> sums_of(const UnitTable& table) {
  std::vector<double> sums(table.columns);
  for (std::size_t i = 0; i < table.values.size(); ++i) sums[i % table.columns] += table.values[i];
  return sums;
}

/// The common weight and each member's numerator of a table of ratios.
UnitTable lean_table(const UnitTable& ratios) {
  const std::size_t members = ratios.columns / kRatioColumns;
  UnitTable table(members + 1);
  for (std::size_t i = 0; i < ratios.units(); ++i) {
    table.values.push_back(ratios.row(i)[1]);
    for (std::size_t j = 0; j < members; ++j) table.values.push_back(ratios.row(i)[kRatioColumns * j]);
  }
  return table;
}

}  // namespace

std::vector<JudgedRequest> judged_requests(const Calibration& calibration) {
  std::vector<JudgedRequest> requests(calibration.requests());
  for (std::size_t r = 0; r < requests.size(); ++r) {
    for (std::size_t i = calibration.offsets[r]; i < calibration.offsets[r + 1]; ++i) {
      requests[r].push_back(
          {calibration.margin[i], calibration.margin[i], calibration.gap[i], calibration.runner_up[i]});
    }
  }
  return requests;
}

JudgedRequest judged_request(const TokenScores& scores, double sigma) {
  JudgedRequest request;
  request.reserve(scores.size());
  for (std::size_t t = 0; t < scores.size(); ++t) {
    if ((scores.flags[t] & (TokenFlag::refused | TokenFlag::no_noise)) != 0 || std::isnan(scores.margin[t])) continue;
    JudgedToken token;
    token.margin = std::max(0.0F, scores.margin[t]);
    token.margin_hi = std::max<double>(token.margin, scores.margin_hi[t]);
    token.runner_up = scores.runner_up[t] >= 0 ? scores.runner_up[t] : 0;
    // A scorer that knows no gap still knows the margin, which is the gap's negative part.
    token.gap = !std::isnan(scores.gap[t]) ? scores.gap[t] : (token.margin > 0 ? -token.margin : token.runner_up);
    // Outside the filter by no more than noise can move two logits: scored by what the noise had to bridge.
    const double outside = scores.filter_distance[t];
    if ((scores.flags[t] & TokenFlag::filtered) != 0 && outside > 0 &&
        outside <= kEdgeZ * std::numbers::sqrt2 * sigma) {
      token.margin = token.margin_hi = outside;
    }
    // The gap model speaks of admitted tokens in competition, not of who is admitted: the margin alone judges these.
    if ((scores.flags[t] & (TokenFlag::filtered | TokenFlag::filter_edge)) != 0) token.gap = std::nan("");
    request.push_back(token);
  }
  return request;
}

MarginSums margin_sums(const JudgedRequest& request, double clip, double sigma) {
  MarginSums sums;
  for (const JudgedToken& token : request) {
    sums.tokens += 1;
    sums.observed += std::min(token.margin, clip);
    sums.observed_hi += std::min(token.margin_hi, clip);
    sums.expected += expected_margin(token.runner_up, clip, sigma).mean;
  }
  return sums;
}

MarginTest test_margins(std::span<const MarginSums> trusted, std::span<const MarginSums> claimed, bool standardised,
                        double tolerance, const DecisionOptions& options) {
  const int resamples = resamples_for(options);
  const double scale = standardised ? 1 + tolerance : 1;
  const UnitTable first = margin_table(trusted, standardised, scale, false);
  const UnitTable second = margin_table(claimed, standardised, 1, false);
  MarginTest test;
  test.score = ratio(sums_of(second), 0);
  test.calibration_score = ratio(sums_of(first), 0) / scale;
  if (first.units() == 0 || second.units() == 0) return test;

  const GroupStatistic difference = [](auto a, auto b) { return ratio(b, 0) - ratio(a, 0); };
  const GroupStatistic normed = [](auto a, auto b) { return studentised(a, b, 0); };
  const GroupStatistic& statistic = standardised ? normed : difference;
  const PermutationResult result =
      permutation_test(first, second, resamples, options.seed, margin_permutation, statistic);
  test.p_value = result.p_value;
  test.smallest_p = result.smallest_p;
  const UnitTable upper = margin_table(claimed, standardised, 1, true);
  test.p_value_hi =
      upper.values == second.values
          ? test.p_value
          : permutation_test(first, upper, resamples, options.seed, margin_permutation, statistic).p_value;
  if (result.smallest_p > options.alpha) return test;

  // What honest providers of this size would score against a calibration as large as ours: a prediction pivot, the
  // difference over the error that the calibration alone predicts for it, so that its own uncertainty is in the
  // quantile.
  const double share = static_cast<double>(first.units()) / static_cast<double>(second.units());
  const auto predicted_error = [share](std::span<const double> sums) {
    return std::sqrt(ratio_variance(sums, 0) * (1 + share));
  };
  const GroupStatistic pivot = [&](auto a, auto b) {
    const double error = predicted_error(a);
    const double gap = ratio(b, 0) - ratio(a, 0);
    if (error > 0) return gap / error;
    return gap == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), gap);
  };
  const std::vector<double> null =
      bootstrap_null(first, first.units(), second.units(), resamples, options.seed, margin_bootstrap, pivot);
  const auto above = static_cast<std::size_t>(std::floor(options.alpha * (resamples + 1.0)));
  const double critical = above >= 1 ? null[null.size() - above] : std::numeric_limits<double>::infinity();
  if (std::isfinite(critical))
    test.threshold = scale * test.calibration_score + critical * predicted_error(sums_of(first));
  return test;
}

GapTest test_gaps(std::span<const JudgedRequest> trusted, std::span<const JudgedRequest> claimed, double sigma,
                  bool standardised, double tolerance, const DecisionOptions& options) {
  const auto family = default_alternatives();
  std::vector<GapLikelihood> likelihoods;
  for (const Alternative& alternative : family) likelihoods.emplace_back(sigma, alternative);
  // Margins grow like sigma^2, so a tolerated factor on margins is its square root on sigma.
  const double tolerated_sigma = standardised ? sigma * std::sqrt(1 + tolerance) : sigma;
  std::vector<double> score(family.size());
  double tokens = 0;
  const auto table_of = [&](std::span<const JudgedRequest> requests, double sigma_truth, bool keep) {
    UnitTable table(kRatioColumns * family.size());
    for (const JudgedRequest& request : requests) {
      if (request.empty()) continue;
      for (std::size_t j = 0; j < family.size(); ++j) {
        // Centring by what honest noise predicts for this very position leaves only the part that speaks to the
        // question.
        double centred = 0;
        double weight = standardised ? 0 : static_cast<double>(request.size());
        for (const JudgedToken& token : request) {
          if (std::isnan(token.gap)) continue;
          const double value = likelihoods[j](token.gap);
          centred += value - likelihoods[j].expectation(token.runner_up, sigma_truth);
          // Under another sampling, requests weigh by how much a wider noise would show in them.
          if (standardised) {
            weight += likelihoods[j].expectation(token.runner_up, kWider * sigma) -
                      likelihoods[j].expectation(token.runner_up, sigma);
          }
          if (keep) score[j] += value;
        }
        append_ratio(table.values, centred, weight);
      }
      if (keep) tokens += static_cast<double>(request.size());
    }
    return table;
  };
  const UnitTable first = table_of(trusted, sigma, false);
  const UnitTable second = table_of(claimed, tolerated_sigma, true);
  GapTest test;
  if (first.units() == 0 || second.units() == 0) return test;

  // Scale of each member from the pooled units, which no permutation changes; so the maximum keeps its exact level.
  UnitTable pooled(first.columns);
  pooled.values = first.values;
  pooled.values.insert(pooled.values.end(), second.values.begin(), second.values.end());
  const std::vector<double> sums = sums_of(pooled);
  std::vector<double> scale(family.size());
  for (std::size_t j = 0; j < family.size(); ++j) scale[j] = std::sqrt(ratio_variance(sums, kRatioColumns * j));
  const auto member = [&](std::span<const double> a, std::span<const double> b, std::size_t j) {
    const std::size_t at = kRatioColumns * j;
    if (standardised) return studentised(a, b, at);
    return scale[j] > 0 ? (ratio(b, at) - ratio(a, at)) / scale[j] : 0.0;
  };
  const GroupStatistic strongest = [&](auto a, auto b) {
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < family.size(); ++j) best = std::max(best, member(a, b, j));
    return best;
  };
  // With equal weights the permutations need one column per member and the tokens, not the second moments.
  const GroupStatistic strongest_lean = [&](auto a, auto b) {
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < family.size(); ++j) {
      best = std::max(best, scale[j] > 0 ? (b[j + 1] / b[0] - a[j + 1] / a[0]) / scale[j] : 0.0);
    }
    return best;
  };
  const int resamples = resamples_for(options);
  const PermutationResult result =
      standardised ? permutation_test(first, second, resamples, options.seed, gap_permutation, strongest)
                   : permutation_test(lean_table(first), lean_table(second), resamples, options.seed, gap_permutation,
                                      strongest_lean);
  test.p_value = result.p_value;

  const std::vector<double> first_sums = sums_of(first);
  const std::vector<double> second_sums = sums_of(second);
  std::size_t best = 0;
  for (std::size_t j = 1; j < family.size(); ++j) {
    if (member(first_sums, second_sums, j) > member(first_sums, second_sums, best)) best = j;
  }
  test.score = score[best] / tokens;
  test.alternative = family[best].label;
  return test;
}

}  // namespace difr
