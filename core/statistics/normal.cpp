#include "core/statistics/normal.h"

#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/util/error.h"

namespace difr {

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

double normal_log_cdf(double x) {
  if (x > 5) return std::log1p(-0.5 * std::erfc(x / std::numbers::sqrt2));
  if (x > -30) return std::log(normal_cdf(x));
  if (std::isinf(x)) return -std::numeric_limits<double>::infinity();
  // Mills ratio: Phi(x) = phi(x)/|x| (1 - 1/x^2 + 3/x^4 - 15/x^6 ...); below -30 the next term is under 1e-10.
  const double inverse = 1 / (x * x);
  return -0.5 * x * x - std::log(-x) - 0.5 * std::log(2 * std::numbers::pi) +
         std::log1p(-inverse * (1 - inverse * (3 - 15 * inverse)));
}

double normal_quantile(double p) {
  if (!(p > 0 && p < 1)) throw bad_input("normal quantile", "the probability must lie strictly between 0 and 1");
  return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * p);
}

}  // namespace difr
