#include "core/statistics/audit_plan.h"

#include <algorithm>
#include <cmath>

#include "core/util/error.h"

namespace difr {

namespace {

void require_power(double power) {
  if (!(power > 0 && power < 1)) throw bad_input("power", "must lie strictly between 0 and 1");
}

/// log of the probability that none of the false requests is drawn.
double log_miss(std::size_t population, std::size_t false_requests, std::size_t samples) {
  // Symmetric in (false_requests, samples): multiply over the shorter of the two.
  const std::size_t steps = std::min(false_requests, samples);
  const std::size_t other = std::max(false_requests, samples);
  if (false_requests + samples > population) return -HUGE_VAL;
  double sum = 0;
  for (std::size_t i = 0; i < steps; ++i)
    sum += std::log1p(-static_cast<double>(other) / static_cast<double>(population - i));
  return sum;
}

}  // namespace

double detection_probability(double fraction, std::size_t samples) {
  if (!(fraction >= 0 && fraction <= 1)) throw bad_input("fraction", "must lie in [0, 1]");
  if (samples == 0 || fraction == 0) return 0;
  return -std::expm1(static_cast<double>(samples) * std::log1p(-fraction));
}

double detection_probability_finite(std::size_t population, std::size_t false_requests, std::size_t samples) {
  if (false_requests > population || samples > population) {
    throw bad_input("audit plan", "the population is smaller than the sample or than the number of false requests");
  }
  if (false_requests == 0 || samples == 0) return 0;
  return -std::expm1(log_miss(population, false_requests, samples));
}

std::size_t samples_for_detection(double fraction, double power) {
  require_power(power);
  if (!(fraction > 0 && fraction < 1)) throw bad_input("fraction", "must lie strictly between 0 and 1");
  auto n = static_cast<std::size_t>(std::ceil(std::log1p(-power) / std::log1p(-fraction)));
  n = std::max<std::size_t>(n, 1);
  while (n > 1 && detection_probability(fraction, n - 1) >= power) --n;
  while (detection_probability(fraction, n) < power) ++n;
  return n;
}

std::size_t samples_for_detection_finite(std::size_t population, std::size_t false_requests, double power) {
  require_power(power);
  if (false_requests == 0 || false_requests > population) {
    throw bad_input("audit plan", "needs between one false request and the whole population");
  }
  std::size_t low = 1;
  std::size_t high = population;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (detection_probability_finite(population, false_requests, middle) >= power) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace difr
