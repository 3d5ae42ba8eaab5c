#pragma once
// What would explain these tokens? Competing explanations, fitted and ranked by held-out log-likelihood (DESIGN §3).

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/diagnosis/candidates.h"
#include "core/diagnosis/likelihood.h"

namespace difr {

enum class ExplanationKind : std::uint8_t {
  honest, sampler, temperature, filter, seed_rule, seed_ignored, greedy, logit_noise, position_trend, sparse_corruption, prompt_mismatch, other_model
};
[[nodiscard]] std::string_view to_string(ExplanationKind kind);  ///< slugs of the JSON interface, e.g. "seed-ignored"

/// A fitted parameter with its 95 % profile-likelihood interval; `text` for parameters that are names (profile, rule).
struct FittedParameter {
  std::string name;
  double estimate = 0;
  double low = 0;
  double high = 0;
  std::string text;
};

struct Explanation {
  ExplanationKind kind = ExplanationKind::honest;
  double log_likelihood = 0;  ///< held out, nats, over all tokens considered
  int parameters_fitted = 0;
  std::vector<FittedParameter> parameters;
  std::string text;       ///< what it says, what it predicts, what was seen; never a claim about intent
  std::string separates;  ///< what further data would tell it from its neighbours
};

struct Diagnosis {
  std::string provider;
  std::size_t tokens = 0;
  double exact_match = 0;
  double separation = 0;  ///< nats below which two explanations count as not separable
  std::vector<Explanation> explanations;                                      ///< best first
  std::vector<std::pair<ExplanationKind, ExplanationKind>> not_separable;     ///< closer than `DiagnosisOptions::separation`
};

struct DiagnosisOptions {
  std::size_t max_tokens = 4000;
  double honest_sigma = 0.03;       ///< logit noise of trusted runs (Calibration::noise_sigma)
  double honest_corruption = 1e-4;
  double separation = 3.0;          ///< nats
  std::function<void(std::size_t done, std::size_t total)> progress;  ///< explanations judged; on the calling thread
};

/// Nats by which an explanation predicts held-out tokens worse than the one that predicts them best.
[[nodiscard]] double nats_behind(const Diagnosis& diagnosis, const Explanation& explanation);
/// The explanations that these data cannot tell from `kind`, in rank order.
[[nodiscard]] std::vector<ExplanationKind> inseparable_from(const Diagnosis& diagnosis, ExplanationKind kind);

/// `declared` is the profile under which the provider says it sampled; null when unknown. Requests in log order.
/// Fits on half of the requests are judged on the other half, and the other way round. A stop request ends it within
/// one evaluation of a likelihood; what was judged completely by then is returned.
[[nodiscard]] Diagnosis diagnose(std::string provider, std::span<const DiagnosisRequest> requests, const SamplerProfile* declared,
                                 const DiagnosisOptions& options = {}, std::stop_token stop = {});

}  // namespace difr
