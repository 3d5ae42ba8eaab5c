#pragma once
// Provider-level tests against a calibration; requests are the units.

#include <optional>
#include <span>
#include <vector>

#include "core/statistics/permutation.h"
#include "core/verdict/decide.h"
#include "core/verdict/noise_model.h"

namespace difr {

/// One usable token, in logit units: neither refused nor without noise.
struct JudgedToken {
  double margin = 0;     ///< may be +inf
  double margin_hi = 0;  ///< upper end when the margin is only bounded
  double gap = 0;        ///< signed; NaN for a token outside the filter, which takes no part in the gap test
  double runner_up = 0;  ///< >= 0; +inf when nothing else was admitted
};
using JudgedRequest = std::vector<JudgedToken>;

[[nodiscard]] std::vector<JudgedRequest> judged_requests(const Calibration& calibration);
/// `sigma`: honest logit noise; a token outside the filter by no more than four standard deviations of a difference of
/// two logits is scored by its filter distance instead of +inf. 0 leaves every filtered token at +inf.
[[nodiscard]] JudgedRequest judged_request(const TokenScores& scores, double sigma);

/// Sums of one request: clipped margins, and what honest noise predicts for them.
struct MarginSums {
  double tokens = 0;
  double observed = 0;     ///< sum of min(margin, clip)
  double observed_hi = 0;  ///< the same with margin_hi
  double expected = 0;     ///< sum of expected_margin
};
[[nodiscard]] MarginSums margin_sums(const JudgedRequest& request, double clip, double sigma);

struct MarginTest {
  double score = 0;              ///< pooled, in the statistic's units
  double calibration_score = 0;  ///< of the trusted runs, in the same units
  std::optional<double>
      threshold;  ///< quantile 1 - alpha of honest pooled scores of this size; absent: level not reachable
  double p_value = 1;
  double p_value_hi = 1;  ///< with the upper ends of bounded margins
  double smallest_p = 1;
};

/// `standardised`: observed over expected margins, honest ratio allowed to be (1 + tolerance) times the calibration's.
[[nodiscard]] MarginTest test_margins(std::span<const MarginSums> trusted, std::span<const MarginSums> claimed,
                                      bool standardised, double tolerance, const DecisionOptions& options);

struct GapTest {
  double score = 0;              ///< mean log likelihood ratio per token of the strongest alternative (nats)
  const char* alternative = "";  ///< its label
  double p_value = 1;            ///< exact for the maximum over the family
};
[[nodiscard]] GapTest test_gaps(std::span<const JudgedRequest> trusted, std::span<const JudgedRequest> claimed,
                                double sigma, bool standardised, double tolerance, const DecisionOptions& options);

}  // namespace difr
