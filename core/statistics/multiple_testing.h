#pragma once
// Conformal p-values and the control of many of them.

#include <span>
#include <vector>

namespace difr {

/// (1 + #{calibration >= score}) / (n + 1). Valid (P(p <= a) <= a) when score and calibration are exchangeable.
/// `sorted_calibration` ascending, no NaN; NaN scores throw difr::Error.
[[nodiscard]] double conformal_p(std::span<const double> sorted_calibration, double score);

/// Benjamini-Hochberg adjusted p-values (q-values), in input order; monotone, capped at 1. NaN throws difr::Error.
[[nodiscard]] std::vector<double> benjamini_hochberg(std::span<const double> p_values);

}  // namespace difr
