#pragma once
// Calibration and verdict: what may be concluded, from what, and how surely.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/domain/claim.h"

namespace difr {

enum class Outcome : std::uint8_t { pass, fail, undetermined };
[[nodiscard]] const char* to_string(Outcome outcome);

/// The distribution of scores of trusted runs under one environment. Per-token arrays are grouped by request:
/// request r owns tokens [offsets[r], offsets[r+1]).
struct Calibration {
  std::int64_t id = 0;
  std::string name;                    ///< named environment
  std::vector<std::string> providers;  ///< trusted logs it was made from
  std::string environment;             ///< reference environment, one line
  SamplingParams sampling;             ///< sampling of the trusted runs
  std::vector<std::size_t> offsets;    ///< requests + 1
  std::vector<float> margin;           ///< per token
  std::vector<float> gap;              ///< per token
  std::vector<float> runner_up;        ///< per token
  double clip = 0;                     ///< Delta: default 99.9th percentile of trusted margins
  double noise_sigma = 0;              ///< sigma0: honest logit noise per entry, fitted

  [[nodiscard]] std::size_t requests() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  [[nodiscard]] std::size_t tokens() const { return margin.size(); }
};

/// One provider's decision. Names follow the stable JSON interface (DESIGN §8).
struct ProviderDecision {
  std::int64_t provider_id = 0;
  std::string name;
  std::size_t requests = 0;
  std::size_t tokens = 0;
  std::string sampler;
  double exact_match = 0;
  double mean_clipped_margin = 0;
  double clip = 0;
  std::string statistic;            ///< which statistic score and threshold are in (raw or standardised margin)
  double score = 0;
  std::optional<double> threshold;  ///< absent when the calibration cannot support the asked level
  std::optional<double> p_value;
  std::optional<double> llr_score;
  std::optional<double> llr_p_value;
  double cross_entropy = 0;
  std::size_t filtered_tokens = 0;
  std::size_t edge_tokens = 0;
  std::size_t refused_tokens = 0;
  Outcome verdict = Outcome::undetermined;
  std::string reason;
};

/// One request's decision; p conformal, q after Benjamini-Hochberg over the provider's requests.
struct RequestDecision {
  std::int64_t request_id = 0;
  std::int64_t provider_id = 0;
  std::string external_id;
  std::size_t tokens = 0;
  double exact_match = 0;
  double score = 0;
  double max_margin = 0;
  double p_value = 1;
  double q_value = 1;
  bool flagged = false;
};

}  // namespace difr
