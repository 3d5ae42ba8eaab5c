#pragma once
// Rank-based uniformity test (RUT): one response per prompt against m reference samples of the same prompt; needs no
// seeds. Under the null the rank of the response's score among the reference scores is uniform.

#include <cstdint>
#include <span>
#include <vector>

#include "core/statistics/uniformity.h"

namespace difr {

struct RankedPrompt {
  double response = 0;             ///< score of the provider's response, e.g. its mean log rank
  std::vector<double> references;  ///< scores of reference samples of the same prompt, at least one
};

/// Mean of log(1 + rank) over tokens, rank 0 = the likeliest; the published score. Empty: difr::Error.
[[nodiscard]] double log_rank_score(std::span<const std::int32_t> ranks);

/// (#{reference < response} + U (#{reference = response} + 1)) / (m + 1), U uniform from (seed, index): exactly uniform
/// when response and references are exchangeable, ties or not.
[[nodiscard]] double rank_percentile(const RankedPrompt& prompt, std::uint64_t seed, std::uint64_t index);

struct RankUniformityResult {
  std::vector<double> percentiles;  ///< one per prompt
  TestResult cramer_von_mises;
};
/// Cramer-von Mises of the percentiles against U(0, 1); at least two prompts.
[[nodiscard]] RankUniformityResult rank_uniformity_test(std::span<const RankedPrompt> prompts, std::uint64_t seed);

}  // namespace difr
