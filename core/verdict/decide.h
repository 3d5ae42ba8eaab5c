#pragma once
// From scores to verdicts: calibration, thresholds, p-values (DESIGN §3 Statistics). Pure; no I/O.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/domain/token_scores.h"
#include "core/domain/verdict.h"

namespace difr {

struct RequestScores {
  std::int64_t request_id = 0;
  std::string external_id;
  TokenScores scores;
};

/// All scored requests of one provider configuration.
struct ScoredProvider {
  std::int64_t provider_id = 0;
  std::string name;
  std::string sampler;                 ///< profile the scores were made under
  SamplingParams sampling;
  std::vector<RequestScores> requests;
  std::string caveat;                  ///< facts that cap the verdict at undetermined (retokenised ids, no seed, ...); empty: none
};

struct DecisionOptions {
  double alpha = 0.001;          ///< promised false-alarm rate of a provider-level fail
  double request_alpha = 0.05;   ///< Benjamini-Hochberg level over one provider's requests
  double confidence = 0.95;      ///< 1 - delta of tolerance limits
  double clip_quantile = 0.999;  ///< Delta = this quantile of trusted margins
  int resamples = 20000;         ///< of permutation tests
  std::uint64_t seed = 20261201; ///< of the resampling; recorded in the report
};

struct Decisions {
  std::vector<ProviderDecision> providers;
  std::vector<RequestDecision> requests;
};

/// Throws difr::Error (bad_input) when the trusted runs disagree in sampling or hold no finite scores.
[[nodiscard]] Calibration make_calibration(std::string name, std::span<const ScoredProvider> trusted, std::string environment,
                                           const DecisionOptions& options = {});

[[nodiscard]] Decisions decide(const Calibration& calibration, std::span<const ScoredProvider> providers,
                               const DecisionOptions& options = {});

}  // namespace difr
