#pragma once
// Confidence intervals for proportions, the DKW band, and seeded bootstrap intervals.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace difr {

struct Interval {
  double low = 0;
  double high = 0;
};

/// Score interval (Wilson 1927) for `successes` of `trials`; trials > 0, confidence in (0, 1).
[[nodiscard]] Interval wilson_interval(std::size_t successes, std::size_t trials, double confidence);

/// Exact interval (Clopper and Pearson 1934): covers with at least the stated confidence.
[[nodiscard]] Interval clopper_pearson_interval(std::size_t successes, std::size_t trials, double confidence);

/// One-sided Dvoretzky-Kiefer-Wolfowitz bound with Massart's constant: with probability 1 - delta the true survival
/// function lies nowhere more than this above the empirical one of n draws. delta in (0, 1/2].
[[nodiscard]] double dkw_epsilon(std::size_t n, double delta);

/// Percentile bootstrap interval of a statistic of units drawn with replacement. `statistic` receives the indices of
/// one resample (n of them) and returns its value; resample b depends on (seed, b) only. n > 0, resamples > 1.
[[nodiscard]] Interval bootstrap_interval(std::size_t n, int resamples, double confidence, std::uint64_t seed,
                                          const std::function<double(std::span<const std::size_t>)>& statistic);

}  // namespace difr
