#pragma once
// Honest and dishonest providers drawn from a noise model, for tests of decisions: the reference's gap between best
// and second best is exponential, every logit of the provider carries N(0, sigma^2).

#include <cmath>
#include <numbers>
#include <string>

#include "core/statistics/counter_rng.h"
#include "core/statistics/normal.h"
#include "core/verdict/decide.h"

namespace difr::simulated {

struct Recipe {
  int requests = 96;
  int tokens = 120;
  double sigma = 0.025;      ///< logit noise
  double gap_scale = 1.5;    ///< mean of the reference's gap, logits
  double corrupt_share = 0;  ///< tokens that follow nothing
};

inline RequestScores request(const Recipe& recipe, CounterRng& rng, int index) {
  RequestScores result;
  result.request_id = index;
  result.external_id = "q" + std::to_string(index);
  // Lengths vary two to one: requests are units of unequal weight.
  const int n = recipe.tokens / 2 + static_cast<int>(rng.below(static_cast<std::uint64_t>(recipe.tokens) + 1));
  result.scores.resize(static_cast<std::size_t>(n));
  for (std::size_t t = 0; t < result.scores.size(); ++t) {
    const double gap = -recipe.gap_scale * std::log1p(-rng.uniform());
    const double noise = std::numbers::sqrt2 * recipe.sigma * normal_quantile(rng.uniform() * (1 - 2e-16) + 1e-16);
    bool match = gap + noise >= 0;
    double signed_gap = match ? gap : -gap;
    if (rng.uniform() < recipe.corrupt_share) {
      match = false;
      signed_gap = -gap - 3 * rng.uniform();
    }
    result.scores.gap[t] = static_cast<float>(signed_gap);
    result.scores.margin[t] = match ? 0.0F : static_cast<float>(-signed_gap);
    result.scores.margin_hi[t] = result.scores.margin[t];
    result.scores.runner_up[t] = static_cast<float>(gap);
    result.scores.log_prob[t] = -2.5F;
    result.scores.flags[t] = match ? TokenFlag::exact_match : 0;
  }
  return result;
}

inline ScoredProvider provider(const std::string& name, const Recipe& recipe, std::uint64_t seed) {
  ScoredProvider result;
  result.name = name;
  CounterRng rng(seed, 99, 0);
  for (int r = 0; r < recipe.requests; ++r) result.requests.push_back(request(recipe, rng, r));
  return result;
}

}  // namespace difr::simulated
