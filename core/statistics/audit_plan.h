#pragma once
// How many requests to check (DESIGN §9).

#include <cstddef>

namespace difr {

/// Probability that a sample of n contains at least one false request when a share `fraction` is false; draws with
/// replacement, or from a population so large that it does not matter: 1 - (1 - f)^n. fraction in [0, 1].
[[nodiscard]] double detection_probability(double fraction, std::size_t samples);

/// The same without replacement from `population` requests of which `false_requests` are false (hypergeometric).
[[nodiscard]] double detection_probability_finite(std::size_t population, std::size_t false_requests,
                                                  std::size_t samples);

/// Smallest n with detection_probability(fraction, n) >= power. fraction and power in (0, 1).
[[nodiscard]] std::size_t samples_for_detection(double fraction, double power);

/// Smallest n <= population with detection_probability_finite >= power; false_requests >= 1, power in (0, 1).
[[nodiscard]] std::size_t samples_for_detection_finite(std::size_t population, std::size_t false_requests,
                                                       double power);

}  // namespace difr
