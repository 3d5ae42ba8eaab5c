#pragma once
// Goodness of fit of a sample to the uniform distribution on [0, 1].

#include <span>

namespace difr {

enum class Side { two_sided, less, greater };

struct TestResult {
  double statistic = 0;
  double p_value = 1;
};

/// Kolmogorov-Smirnov against U(0, 1); `greater`: the sample's distribution function lies above, `less`: below.
/// Exact p (Marsaglia-Tsang-Wang; Smirnov's sum in the tail), the limit law beyond 5,000 values. Values in [0, 1], no
/// NaN.
[[nodiscard]] TestResult ks_uniform(std::span<const double> values, Side side = Side::two_sided);
/// P(sup |F_n - F| >= d) for n values.
[[nodiscard]] double ks_survival(double d, std::size_t n);

/// Cramer-von Mises against U(0, 1), n >= 2; p by Csorgo and Faraway (1996), absolute error near 1e-3 for n of 5.
[[nodiscard]] TestResult cvm_uniform(std::span<const double> values);
/// Distribution function of the Cramer-von Mises statistic in the limit of large n.
[[nodiscard]] double cvm_limit_cdf(double x);

/// Anderson-Darling against U(0, 1); p by Marsaglia and Marsaglia (2004), absolute error 2e-6 at best. A value at 0 or
/// 1 makes the statistic infinite and p zero.
[[nodiscard]] TestResult anderson_darling_uniform(std::span<const double> values);

}  // namespace difr
