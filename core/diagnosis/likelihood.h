#pragma once
// Likelihood of a claimed token under a hypothesis about how it was drawn. Every explanation is a setting of these knobs.

#include <span>

#include "core/diagnosis/candidates.h"

namespace difr {

/// How tokens were drawn. The token wins with probability proportional to Phi(gap/(sqrt(2) sigma)), normalised over the
/// candidates, so that hypotheses with different widths can be compared; corruption mixes in a blind draw.
struct Hypothesis {
  enum class Choice : unsigned char {
    seeded,    ///< argmax of logits/T + the seed's noise
    unseeded,  ///< drawn from the model at T, independent of the declared seed
    argmax,    ///< highest logit, T ignored
  };
  Choice choice = Choice::seeded;
  double temperature_factor = 1.0;  ///< T used = declared T × factor
  double sigma = 0.03;              ///< logit noise per entry, logits
  double edge_sigma = 0.03;         ///< honest noise: what may be dropped at a filter's edge, whatever sigma is
  double sigma_slope = 0.0;         ///< sigma grows to sigma·(1 + slope·t/100)
  double sigma_early = 0.0;         ///< extra width at the start: sigma + early·exp(−t/8)
  double corruption = 1e-4;         ///< share of tokens drawn blindly
  bool corrupt_top20 = false;       ///< blind draws are uniform over the 20 likeliest; else from a flattened model
  int top_k = -1;                   ///< filter used; −1: as declared
  double top_p = -1;                ///< −1: as declared
};

/// Log-probability of each token of the table (natural log, finite); `noise` is n×m for seeded hypotheses, else ignored.
/// `tokens` lists the rows to evaluate.
void log_likelihoods(const CandidateTable& table, std::span<const float> noise, const Hypothesis& hypothesis,
                     std::span<const std::size_t> tokens, std::span<double> out);

/// Sum of the above.
[[nodiscard]] double log_likelihood(const CandidateTable& table, std::span<const float> noise, const Hypothesis& hypothesis,
                                    std::span<const std::size_t> tokens);

/// Share of tokens that win outright: how well a seed rule or profile fits, for screening.
[[nodiscard]] double match_rate(const CandidateTable& table, std::span<const float> noise, std::span<const std::size_t> tokens);

}  // namespace difr
