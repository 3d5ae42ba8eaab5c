#pragma once
// Several calibrations: the provider's possible environments, and drift of one environment over time.

#include <span>
#include <string>
#include <vector>

#include "core/verdict/decide.h"

namespace difr {

/// Judges each provider against every candidate environment and keeps the decision most favourable to it: a provider
/// fails only if no candidate explains it. Calibrations are never pooled, which would widen the honest band for all.
/// `calibration[i]` is the index of the one that decision i rests on; request decisions come from the same one.
struct EnvelopeDecisions {
  Decisions decisions;
  std::vector<std::size_t> calibration;
};
[[nodiscard]] EnvelopeDecisions decide_over_environments(std::span<const Calibration> candidates,
                                                         std::span<const ScoredProvider> providers,
                                                         const DecisionOptions& options = {});

/// Do two calibrations of the same sampling differ? Two-sided permutation test of the mean clipped margin under the
/// older one's clip. Also the hold-out check: split trusted requests in two and compare the halves.
struct DriftCheck {
  double older_score = 0;
  double newer_score = 0;
  double p_value = 1;
};
[[nodiscard]] DriftCheck check_drift(const Calibration& older, const Calibration& newer,
                                     const DecisionOptions& options = {});

/// Trusted requests with even index and with odd index, each with the whole calibration's clip and noise.
struct HoldOut {
  Calibration even;
  Calibration odd;
};
[[nodiscard]] HoldOut split_calibration(const Calibration& calibration);

/// What pooling environments would do: threshold of a provider of `requests` requests against each calibration alone
/// and against their mixture (logits). The mixture's threshold over the narrowest one's is the loss of resolution.
struct MixtureEffect {
  std::vector<double> alone;
  double mixture = 0;
};
[[nodiscard]] MixtureEffect mixture_effect(std::span<const Calibration> environments, std::size_t requests,
                                           const DecisionOptions& options = {});

}  // namespace difr
