#pragma once
// From scores to verdicts: calibration, thresholds, p-values (DESIGN §3 Statistics). Pure; no I/O.

#include <cstdint>
#include <optional>
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
  std::string sampler;  ///< profile the scores were made under
  SamplingParams sampling;
  std::vector<RequestScores> requests;
  std::string caveat;  ///< facts that cap the verdict at undetermined (retokenised ids, no seed, ...); empty: none
};

struct DecisionOptions {
  double alpha = 0.001;              ///< promised false-alarm rate of a provider-level fail
  double warn_alpha = 0.01;          ///< between alpha and this the answer is undetermined
  double request_alpha = 0.05;       ///< Benjamini-Hochberg level over one provider's requests
  double confidence = 0.95;          ///< 1 - delta of tolerance limits
  double clip_quantile = 0.999;      ///< Delta = this quantile of trusted margins
  double transfer_tolerance = 0.25;  ///< honest margins under another sampling may exceed the prediction by this share
  int resamples = 20000;             ///< of permutation tests; raised when alpha needs more
  std::uint64_t seed = 20261201;     ///< of the resampling; recorded in the report
};

struct Decisions {
  std::vector<ProviderDecision> providers;
  std::vector<RequestDecision> requests;
};

/// Values of ProviderDecision::statistic.
inline constexpr const char* kClippedMargin = "mean clipped margin";
inline constexpr const char* kStandardisedMargin = "clipped margin over its expectation";

/// Throws difr::Error (bad_input) when the trusted runs disagree in sampling or hold no finite scores.
[[nodiscard]] Calibration make_calibration(std::string name, std::span<const ScoredProvider> trusted,
                                           std::string environment, const DecisionOptions& options = {});

/// One decision per provider and per request, in input order. A claim sampled as the calibration was is judged on its
/// mean clipped margin; any other on observed over expected margins (docs/statistics.md). Deterministic given the seed.
[[nodiscard]] Decisions decide(const Calibration& calibration, std::span<const ScoredProvider> providers,
                               const DecisionOptions& options = {});

/// Does normal logit noise of the fitted sigma describe the trusted runs well enough to predict other samplings?
struct NoiseFit {
  double ratio = 0;            ///< observed over expected clipped margins of the trusted runs
  std::size_t mismatches = 0;  ///< trusted tokens with a positive margin
  std::string misfit;          ///< why the model cannot be used; empty: it can
};
inline constexpr std::size_t kFewestMismatches = 20;
[[nodiscard]] NoiseFit check_noise_model(const Calibration& calibration);

/// The calibration's own request scores, ascending, in the units of RequestDecision::score under `statistic`
/// (kClippedMargin or kStandardisedMargin): what histograms and request thresholds compare with.
[[nodiscard]] std::vector<double> calibration_request_scores(const Calibration& calibration,
                                                             const std::string& statistic);

}  // namespace difr
