#pragma once
// What honest numerical noise predicts: every logit of the provider differs from the reference's by an independent
// N(0, sigma^2). Then the claimed token wins with probability Phi(gap / (sqrt2 sigma)) (DESIGN §3).

#include <span>
#include <vector>

namespace difr {

/// Share of honest tokens no noise explains, and the chance that such a token is the one claimed. They bound the
/// influence of a single token on every fit and score.
struct OutlierModel {
  double share = 1e-4;
  double density = 0.02;
};

/// sigma0 in logit units: maximum of sum log[(1-e)Phi(gap/(sqrt2 sigma)) + e c] over signed gaps (>= 0 iff matched).
/// Without any mismatch the likelihood has no maximum; the answer is then the sigma under which seeing none had
/// probability one half. NaN gaps are ignored; throws difr::Error (bad_input) when none is left.
[[nodiscard]] double fit_noise_sigma(std::span<const float> gaps, const OutlierModel& outliers = {});

/// Mean and variance of one honest token's min(margin, clip), given the reference's gap d >= 0 between its best and its
/// second best perturbed score: the claimed token is the runner-up with probability Phi(-d/(sqrt2 sigma)).
struct Moments {
  double mean = 0;
  double variance = 0;
};
[[nodiscard]] Moments expected_margin(double runner_up_gap, double clip, double sigma);

/// One member of the family of alternatives: logit noise `scale` times the honest one, and a share of tokens that
/// follow no noise at all.
struct Alternative {
  double scale = 1;
  double outlier_share = 1e-3;
  const char* label = "";
};
[[nodiscard]] std::span<const Alternative> default_alternatives();

/// Signed-gap log likelihood ratio of one token against honest noise; bounded for every gap, infinities included.
class GapLikelihood {
 public:
  GapLikelihood(double sigma, const Alternative& alternative, const OutlierModel& outliers = {});
  [[nodiscard]] double operator()(double gap) const;
  /// Its expectation for an honest token whose reference gap is d, under honest noise of `sigma_truth`.
  [[nodiscard]] double expectation(double runner_up_gap, double sigma_truth) const;

 private:
  double sigma_;
  Alternative alternative_;
  OutlierModel outliers_;
};

}  // namespace difr
