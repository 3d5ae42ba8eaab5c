#pragma once
// Per-token features of the two statistics, for power curves and tables (core/statistics/power.h).

#include <span>
#include <vector>

#include "core/statistics/power.h"
#include "core/verdict/provider_test.h"

namespace difr {

/// One feature: min(margin, clip). Its pool score is the feature itself.
[[nodiscard]] TokenFeatures margin_features(std::span<const JudgedRequest> requests, double clip);

/// One feature per alternative: the log likelihood ratio centred by its honest expectation.
[[nodiscard]] TokenFeatures gap_features(std::span<const JudgedRequest> requests, double sigma);

/// Pool score of gap_features: the largest member in units of its spread over the calibration's tokens. The calibration
/// fixes mean and spread, so held-out providers are scored by a function that never saw them.
[[nodiscard]] PoolScore gap_pool_score(const Calibration& calibration);

}  // namespace difr
