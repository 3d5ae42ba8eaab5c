#include "core/statistics/quantile.h"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <cmath>

#include "core/util/error.h"

namespace difr {

namespace {

void require_level(double value, const char* what) {
  if (!(value > 0 && value < 1)) throw bad_input(what, "must lie strictly between 0 and 1");
}

}  // namespace

double quantile(std::span<const double> values, double q) {
  if (values.empty()) throw bad_input("quantile", "no values");
  if (!(q >= 0 && q <= 1)) throw bad_input("quantile", "the level must lie in [0, 1]");
  std::vector<double> sorted(values.begin(), values.end());
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(position);
  const double weight = position - static_cast<double>(low);
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(low), sorted.end());
  const double below = sorted[low];
  if (weight == 0 || low + 1 == sorted.size()) return below;
  const double above = *std::min_element(sorted.begin() + static_cast<std::ptrdiff_t>(low) + 1, sorted.end());
  if (below == above) return below;  // also keeps inf - inf out of the interpolation
  return below + weight * (above - below);
}

std::size_t tolerance_sample_size(double alpha, double delta) {
  require_level(alpha, "alpha");
  require_level(delta, "delta");
  auto n = static_cast<std::size_t>(std::ceil(std::log(delta) / std::log1p(-alpha)));
  while (n > 1 && static_cast<double>(n - 1) * std::log1p(-alpha) <= std::log(delta))
    --n;  // guard the rounding of ceil
  return n;
}

ToleranceLimit upper_tolerance_limit(std::span<const double> values, double alpha, double delta) {
  ToleranceLimit result;
  result.needed = tolerance_sample_size(alpha, delta);
  const std::size_t n = values.size();
  if (n == 0) return result;
  result.supported_alpha = -std::expm1(std::log(delta) / static_cast<double>(n));
  if (n < result.needed) return result;
  // The share above the r-th order statistic is Beta(n - r + 1, r); confidence grows with r: bisect the smallest.
  std::size_t low = 1;
  std::size_t high = n;
  while (low < high) {
    const std::size_t r = (low + high) / 2;
    const boost::math::beta_distribution<> share(static_cast<double>(n - r + 1), static_cast<double>(r));
    if (boost::math::cdf(share, alpha) >= 1 - delta) {
      high = r;
    } else {
      low = r + 1;
    }
  }
  std::vector<double> sorted(values.begin(), values.end());
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(low) - 1, sorted.end());
  result.rank = low;
  result.limit = sorted[low - 1];
  return result;
}

}  // namespace difr
