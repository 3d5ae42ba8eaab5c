#pragma once
// What other levels would decide, without deciding: the same test as decide_case over the stored calibration.

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/casefile/case_file.h"
#include "core/verdict/decide.h"

namespace difr {

/// The expensive part, which no level changes.
struct DecisionMaterial {
  RunRow run;
  Calibration calibration;  ///< the newest of the case
  std::vector<ScoredProvider> subjects;
};

/// What Benjamini-Hochberg can flag at all, given how few trusted requests there are.
struct FlagLimit {
  double smallest_p = 1;     ///< 1/(n + 1): no conformal p-value lies below
  std::size_t together = 0;  ///< requests that must share that p-value before one is flagged; 0: no number would do
  std::size_t needed_for_one = 0;  ///< trusted requests with which a single odd request could be flagged
};
/// `trusted` and `claimed` requests, level in (0, 1).
[[nodiscard]] FlagLimit flag_limit(std::size_t trusted, std::size_t claimed, double level);

struct ProviderPreview {
  ProviderDecision decision;
  double q_value = 1;       ///< Benjamini-Hochberg over the providers of the case
  std::size_t flagged = 0;  ///< requests at the request level
  FlagLimit limit;
};

struct DecisionPreview {
  DecisionOptions options;
  std::size_t calibration_requests = 0;
  double any_false_alarm = 0;  ///< bound on the chance that at least one provider fails although all are honest
  std::vector<ProviderPreview> providers;  ///< subjects, in case order
  std::vector<std::string> cannot;         ///< what the calibration cannot support at these levels, one sentence each
};

/// Throws difr::Error when the case has no run or no calibration. A stop request leaves later subjects out.
[[nodiscard]] DecisionMaterial load_decision_material(const CaseFile& file, std::stop_token stop = {});

/// Deterministic, and equal to what decide_case stores when the calibration is unchanged. A stop request ends it after
/// the provider in hand.
[[nodiscard]] DecisionPreview preview_decision(const DecisionMaterial& material, const DecisionOptions& options,
                                               std::stop_token stop = {},
                                               const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace difr
