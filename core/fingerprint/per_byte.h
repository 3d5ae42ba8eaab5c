#pragma once
// Detection per byte: how well a method tells two providers apart, against the tokens it looked at and the bytes it had
// sent (DESIGN §3: what Activation-DiFR is for).

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/fingerprint/fingerprint.h"
#include "core/fingerprint/toploc_verify.h"
#include "core/statistics/power.h"

namespace difr {

/// Scores of one method and setting for one provider. A unit is what is sent at once: a token's fingerprint, or the
/// proof of a chunk of tokens. Higher score = less like the reference.
struct MethodScores {
  std::string method;  ///< for the table, e.g. "activation-difr k=8 bf16"
  double tokens_per_unit = 1;
  double bytes_per_unit = 0;
  TokenFeatures units{1};
};

/// One request's distances per token. NaN or infinite ones throw difr::Error (see TokenFeatures).
[[nodiscard]] MethodScores activation_scores(std::span<const std::vector<double>> distances_by_request,
                                             FingerprintDtype dtype, int k);

enum class ToplocScore : std::uint8_t { exponent_mismatches, mantissa_mean };
/// One report per request; only chunks that have numbers count. A chunk of which no exponent matches scores the largest
/// mantissa error there is, 127. Chunks at the end of a request and the one of the first token alone are shorter than
/// the others: tokens_per_unit is their mean.
[[nodiscard]] MethodScores toploc_scores(std::span<const ToplocReport> reports, const ToplocSettings& settings,
                                         ToplocScore score);

struct DetectionPoint {
  double tokens = 0;  ///< output tokens looked at
  double bytes = 0;   ///< sent for them
  double auc = 0.5;   ///< untrusted above trusted, ties half
  Interval band;      ///< bootstrap over requests
};

/// One point per budget, in units (tokens or chunks); budgets are those of `options`. Both sides must be of one method.
/// Throws difr::Error when they are not, or are empty.
[[nodiscard]] std::vector<DetectionPoint> detection_per_byte(const MethodScores& trusted, const MethodScores& untrusted,
                                                             const PowerOptions& options);

/// Fewest bytes after which the AUC stays at or above `target`, interpolated in log bytes between budgets; infinity
/// when the last point is below. At the first point already above, that point's bytes: fewer were not measured.
[[nodiscard]] double bytes_for_auc(std::span<const DetectionPoint> points, double target);

}  // namespace difr
