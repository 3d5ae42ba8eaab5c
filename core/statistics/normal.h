#pragma once
// The normal distribution, accurate in both tails.

namespace difr {

/// P(Z <= x); relative accuracy holds in the lower tail.
[[nodiscard]] double normal_cdf(double x);
/// log P(Z <= x) without underflow, for any finite x; -inf at -inf.
[[nodiscard]] double normal_log_cdf(double x);
/// x with P(Z <= x) = p; throws difr::Error outside (0, 1).
[[nodiscard]] double normal_quantile(double p);

}  // namespace difr
