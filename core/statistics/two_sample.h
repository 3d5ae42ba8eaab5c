#pragma once
// Two-sample rank and distribution tests.

#include <span>

#include "core/statistics/uniformity.h"

namespace difr {

/// How a p-value is computed. `exact` needs samples without ties.
enum class PMethod { asymptotic, exact };

/// Mann-Whitney U of x (number of pairs with x > y, ties half). `greater`: x tends to be larger. The asymptotic p is
/// corrected for ties and, if asked, for continuity; all-equal samples give p = 1. exact: no ties, |x| |y| <= 10^4.
[[nodiscard]] TestResult mann_whitney(std::span<const double> x, std::span<const double> y, Side side, PMethod method,
                                      bool continuity = true);

/// Two-sample Kolmogorov-Smirnov. `greater`: the distribution function of x lies above y's (x tends to be smaller).
/// exact counts lattice paths and is conservative with ties.
[[nodiscard]] TestResult ks_two_sample(std::span<const double> x, std::span<const double> y, Side side, PMethod method);

/// Two-sample Cramer-von Mises (Anderson 1962), p by the limit law.
[[nodiscard]] TestResult cvm_two_sample(std::span<const double> x, std::span<const double> y);

}  // namespace difr
