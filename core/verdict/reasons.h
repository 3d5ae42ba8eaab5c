#pragma once
// The three-valued verdict and its reason in plain words. Never names a cause or an intent.

#include <string>

#include "core/verdict/decide.h"
#include "core/verdict/provider_test.h"

namespace difr {

struct Findings {
  bool usable = false;              ///< at least one token could be judged
  std::string sampling_difference;  ///< empty: the calibration's own sampling
  MarginTest margins;
  NoiseFit noise;
  double gap_p_value = 1;
  std::string gap_alternative;
};

struct Judgement {
  Outcome outcome = Outcome::undetermined;
  std::string reason;
};

/// `decision` holds the numbers already; its verdict and reason are not read.
[[nodiscard]] Judgement conclude(const ProviderDecision& decision, const Findings& findings, const std::string& caveat,
                                  std::size_t calibration_requests, double noise_sigma, const DecisionOptions& options);

}  // namespace difr
