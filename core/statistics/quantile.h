#pragma once
// Quantiles and what a finite sample can promise about them.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace difr {

/// Sample quantile with linear interpolation (type 7, NumPy's default). `values` need not be sorted and may hold
/// infinities, but no NaN; throws difr::Error when empty. q in [0, 1].
[[nodiscard]] double quantile(std::span<const double> values, double q);

/// One-sided nonparametric upper tolerance limit (Wilks 1941): with confidence 1 - delta at most a share alpha of the
/// population lies strictly above `limit`, whatever its distribution.
struct ToleranceLimit {
  std::optional<double> limit;  ///< absent when n is too small for (alpha, delta)
  std::size_t rank = 0;         ///< 1-based order statistic used; 0 when absent
  std::size_t needed = 0;       ///< smallest n that supports (alpha, delta)
  double supported_alpha = 1;   ///< smallest alpha this n supports at delta (using the maximum)
};

/// `values`: one independent score per unit. alpha, delta in (0, 1).
[[nodiscard]] ToleranceLimit upper_tolerance_limit(std::span<const double> values, double alpha, double delta);

/// Smallest n with (1 - alpha)^n <= delta, i.e. n >= ln delta / ln(1 - alpha).
[[nodiscard]] std::size_t tolerance_sample_size(double alpha, double delta);

}  // namespace difr
