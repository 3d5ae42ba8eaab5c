#pragma once
// The road from a recomputed case to stored verdicts: which profile scores a provider, with which tolerance, against
// which calibration. Reads and writes the case file; every formula is in core/scoring and core/verdict/decide.h.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/casefile/case_file.h"
#include "core/scoring/token_difr.h"
#include "core/verdict/decide.h"

namespace difr {

struct PipelineOptions {
  DecisionOptions decision;
  ScoreOptions score;             ///< noise_sigma is replaced by the calibration's once that is known
  std::string calibration_name = "trusted logs";
};

struct CaseDecision {
  RunRow run;
  Calibration calibration;
  Decisions decisions;
};

/// Scores of one claim under `profile` (null: the stored ones, without noise). Filtered sampling is scored from evidence
/// with the tolerance of `score`; other scores are the exact stored ones where they were made under that profile.
[[nodiscard]] std::optional<TokenScores> claim_scores(const CaseFile& file, std::int64_t run_id, const Claim& claim,
                                                      const SamplerProfile* profile, const ScoreOptions& score);

/// The options under which the stored decisions were made; defaults when none are stored.
[[nodiscard]] DecisionOptions stored_decision_options(const CaseFile& file);

/// Scores of one provider from a finished run. Filtered sampling (top-k, top-p, min-p) is re-scored from evidence under
/// `score`, because the tolerance at the filter's edge comes from the calibration; else the exact stored scores serve.
[[nodiscard]] ScoredProvider load_scored_provider(const CaseFile& file, const RunRow& run, const ProviderRow& provider,
                                                  const ScoreOptions& score);

/// Makes the calibration from all providers with the calibration role. Throws difr::Error when there is none.
[[nodiscard]] Calibration calibrate_case(CaseFile& file, const RunRow& run, const PipelineOptions& options);

/// Calibrates, decides every subject provider and stores calibration, decisions and an audit-trail entry.
CaseDecision decide_case(CaseFile& file, const PipelineOptions& options);

/// The newest run that has at least one finished request. Throws difr::Error naming the remedy when there is none.
[[nodiscard]] RunRow require_run(const CaseFile& file);

}  // namespace difr
