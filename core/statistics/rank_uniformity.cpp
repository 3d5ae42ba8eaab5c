#include "core/statistics/rank_uniformity.h"

#include <cmath>

#include "core/statistics/counter_rng.h"
#include "core/util/error.h"

namespace difr {

namespace {
constexpr std::uint64_t kStream = 29;
}

double log_rank_score(std::span<const std::int32_t> ranks) {
  if (ranks.empty()) throw bad_input("rank score", "the response has no tokens");
  double sum = 0;
  for (const std::int32_t rank : ranks) {
    if (rank < 0) throw bad_input("rank score", "a rank is negative");
    sum += std::log1p(static_cast<double>(rank));
  }
  return sum / static_cast<double>(ranks.size());
}

double rank_percentile(const RankedPrompt& prompt, std::uint64_t seed, std::uint64_t index) {
  if (prompt.references.empty()) throw bad_input("rank-based uniformity test", "a prompt has no reference samples");
  double less = 0;
  double equal = 0;
  for (const double reference : prompt.references) {
    if (std::isnan(reference) || std::isnan(prompt.response))
      throw bad_input("rank-based uniformity test", "a score is not a number");
    less += reference < prompt.response ? 1 : 0;
    equal += reference == prompt.response ? 1 : 0;
  }
  CounterRng rng(seed, kStream, index);
  return (less + rng.uniform() * (equal + 1)) / (static_cast<double>(prompt.references.size()) + 1);
}

RankUniformityResult rank_uniformity_test(std::span<const RankedPrompt> prompts, std::uint64_t seed) {
  RankUniformityResult result;
  for (std::size_t i = 0; i < prompts.size(); ++i) result.percentiles.push_back(rank_percentile(prompts[i], seed, i));
  result.cramer_von_mises = cvm_uniform(result.percentiles);
  return result;
}

}  // namespace difr
