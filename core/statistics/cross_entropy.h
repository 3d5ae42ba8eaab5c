#pragma once
// Cross-entropy baseline: works on logs without seeds, and can be fooled by a provider that tunes its temperature.

#include <cstdint>
#include <span>

namespace difr {

/// Sums of -log p over one request's tokens.
struct RequestEntropy {
  double nats = 0;
  double tokens = 0;
};

struct EntropyTest {
  double mean = 0;  ///< of the claimed requests, nats per token
  double calibration_mean = 0;
  double p_value = 1;  ///< two-sided permutation test, requests as units
};

/// Both spans need at least one token; throws difr::Error otherwise or on NaN.
[[nodiscard]] EntropyTest test_cross_entropy(std::span<const RequestEntropy> trusted,
                                             std::span<const RequestEntropy> claimed, int resamples,
                                             std::uint64_t seed);

}  // namespace difr
