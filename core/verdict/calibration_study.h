#pragma once
// What a calibration can promise and see: tolerance limits of its request scores, how well it agrees with itself and
// with other environments, and how many tokens a given provider would need to stand out.

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/casefile/case_file.h"
#include "core/statistics/power.h"
#include "core/statistics/quantile.h"
#include "core/verdict/environments.h"

namespace difr {

/// A promise on requests: at most a share alpha of honest ones lies above `limit.limit`.
struct TolerancePromise {
  double alpha = 0;
  ToleranceLimit limit;
};

/// One environment's calibration, without its tokens.
struct EnvironmentFacts {
  std::int64_t id = 0;
  std::string name, environment;
  std::vector<std::string> providers;
  std::size_t requests = 0, tokens = 0;
  double clip = 0, noise_sigma = 0;
  bool studied = false;             ///< the one that the study is about
  std::optional<DriftCheck> drift;  ///< against the studied one; absent for itself and for another sampling
  std::string incomparable;         ///< why there is no drift check; empty: there is, or it is the studied one
  double threshold = 0;             ///< of a provider as large as the studied calibration, logits; NaN: not reachable
};

/// How a provider's requests and pools of its tokens stand out from the trusted ones.
struct PowerStudy {
  std::int64_t provider_id = 0;
  std::string provider;
  std::size_t requests = 0, tokens = 0;
  std::string statistic;  ///< of the request scores
  std::vector<double> request_scores;
  RocCurve roc;  ///< single requests
  double roc_auc = 0.5, roc_partial_auc = 0.5;
  std::vector<PowerPoint> margin, gap;  ///< pools by number of tokens; empty when refused
  std::string refused;                  ///< why pools cannot be compared; empty: they can
};

struct CalibrationStudy {
  EnvironmentFacts facts;
  double confidence = 0.95;  ///< of the promises
  NoiseFit noise;
  DriftCheck hold_out;                     ///< even against odd requests
  std::vector<double> request_scores;      ///< of trusted requests, in the unit of the compared statistic, ascending
  std::vector<TolerancePromise> promises;  ///< on those scores, by falling alpha
  std::vector<EnvironmentFacts> environments;  ///< the studied one first, then the others by age, newest first
  double mixture_threshold = 0;  ///< had all comparable environments been pooled, logits; NaN with one only
  std::optional<PowerStudy> power;
};

/// Drops calibrations that hold the very tokens of a newer one: every decision stores one, mostly of the same runs.
[[nodiscard]] std::vector<Calibration> distinct_calibrations(std::vector<Calibration> by_age);

/// The newest calibration of the case, compared with one provider (0: with none). Throws difr::Error when the case has
/// no calibration. A stop request ends it early; what it returns then is incomplete.
[[nodiscard]] CalibrationStudy study_calibration(const CaseFile& file, std::int64_t provider_id,
                                                 const DecisionOptions& options, std::stop_token stop = {});

}  // namespace difr
