#include "core/statistics/multiple_testing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/util/error.h"

namespace difr {

double conformal_p(std::span<const double> sorted_calibration, double score) {
  if (std::isnan(score)) throw bad_input("conformal p-value", "the score is not a number");
  const auto first = std::lower_bound(sorted_calibration.begin(), sorted_calibration.end(), score);
  const auto at_least = static_cast<double>(sorted_calibration.end() - first);
  return (1 + at_least) / (static_cast<double>(sorted_calibration.size()) + 1);
}

std::vector<double> benjamini_hochberg(std::span<const double> p_values) {
  const std::size_t n = p_values.size();
  if (std::any_of(p_values.begin(), p_values.end(), [](double p) { return !(p >= 0 && p <= 1); })) {
    throw bad_input("Benjamini-Hochberg", "a p-value lies outside [0, 1]");
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(n);
  double smallest = 1;
  for (std::size_t rank = n; rank-- > 0;) {
    const std::size_t i = order[rank];
    smallest = std::min(smallest, p_values[i] * static_cast<double>(n) / static_cast<double>(rank + 1));
    adjusted[i] = smallest;
  }
  return adjusted;
}

}  // namespace difr
