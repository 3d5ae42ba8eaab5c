#include "core/statistics/intervals.h"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <cmath>
#include <vector>

#include "core/statistics/counter_rng.h"
#include "core/statistics/normal.h"
#include "core/statistics/quantile.h"
#include "core/util/error.h"

namespace difr {

namespace {

constexpr std::uint64_t kBootstrapStream = 17;

void require_proportion(std::size_t successes, std::size_t trials, double confidence) {
  if (trials == 0 || successes > trials) throw bad_input("proportion", "needs 0 <= successes <= trials, trials > 0");
  if (!(confidence > 0 && confidence < 1)) throw bad_input("confidence", "must lie strictly between 0 and 1");
}

}  // namespace

Interval wilson_interval(std::size_t successes, std::size_t trials, double confidence) {
  require_proportion(successes, trials, confidence);
  const auto n = static_cast<double>(trials);
  const double p = static_cast<double>(successes) / n;
  const double z = normal_quantile(0.5 + confidence / 2);
  const double centre = p + z * z / (2 * n);
  const double half = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  const double scale = 1 + z * z / n;
  // The closed form touches 0 and 1 only up to rounding.
  return {successes == 0 ? 0 : (centre - half) / scale, successes == trials ? 1 : (centre + half) / scale};
}

Interval clopper_pearson_interval(std::size_t successes, std::size_t trials, double confidence) {
  require_proportion(successes, trials, confidence);
  const double tail = (1 - confidence) / 2;
  const auto k = static_cast<double>(successes);
  const auto n = static_cast<double>(trials);
  Interval interval{0, 1};
  if (successes > 0) interval.low = boost::math::quantile(boost::math::beta_distribution<>(k, n - k + 1), tail);
  if (successes < trials) {
    interval.high =
        boost::math::quantile(boost::math::complement(boost::math::beta_distribution<>(k + 1, n - k), tail));
  }
  return interval;
}

double dkw_epsilon(std::size_t n, double delta) {
  if (n == 0) return 1;
  if (!(delta > 0 && delta <= 0.5)) throw bad_input("delta", "the one-sided DKW bound needs 0 < delta <= 1/2");
  return std::min(1.0, std::sqrt(-std::log(delta) / (2 * static_cast<double>(n))));
}

Interval bootstrap_interval(std::size_t n, int resamples, double confidence, std::uint64_t seed,
                            const std::function<double(std::span<const std::size_t>)>& statistic) {
  if (n == 0 || resamples < 2) throw bad_input("bootstrap", "needs units and at least two resamples");
  if (!(confidence > 0 && confidence < 1)) throw bad_input("confidence", "must lie strictly between 0 and 1");
  std::vector<double> values(static_cast<std::size_t>(resamples));
  std::vector<std::size_t> indices(n);
  for (std::size_t b = 0; b < values.size(); ++b) {
    CounterRng rng(seed, kBootstrapStream, b);
    for (std::size_t& index : indices) index = rng.below(n);
    values[b] = statistic(indices);
  }
  return {quantile(values, (1 - confidence) / 2), quantile(values, (1 + confidence) / 2)};
}

}  // namespace difr
