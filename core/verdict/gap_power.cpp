#include "core/verdict/gap_power.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace difr {

namespace {

std::vector<GapLikelihood> family_of(double sigma) {
  std::vector<GapLikelihood> family;
  for (const Alternative& alternative : default_alternatives()) family.emplace_back(sigma, alternative);
  return family;
}

std::vector<double> centred_scores(const JudgedRequest& request, std::span<const GapLikelihood> family, double sigma) {
  std::vector<double> values;
  values.reserve(request.size() * family.size());
  for (const JudgedToken& token : request) {
    for (const GapLikelihood& member : family) {
      values.push_back(std::isnan(token.gap) ? 0 : member(token.gap) - member.expectation(token.runner_up, sigma));
    }
  }
  return values;
}

}  // namespace

TokenFeatures margin_features(std::span<const JudgedRequest> requests, double clip) {
  TokenFeatures features(1);
  for (const JudgedRequest& request : requests) {
    std::vector<double> values;
    for (const JudgedToken& token : request) values.push_back(std::min(token.margin, clip));
    features.add_request(values);
  }
  return features;
}

TokenFeatures gap_features(std::span<const JudgedRequest> requests, double sigma) {
  const std::vector<GapLikelihood> family = family_of(sigma);
  TokenFeatures features(family.size());
  for (const JudgedRequest& request : requests) features.add_request(centred_scores(request, family, sigma));
  return features;
}

PoolScore gap_pool_score(const Calibration& calibration) {
  const std::vector<GapLikelihood> family = family_of(calibration.noise_sigma);
  std::vector<double> mean(family.size());
  std::vector<double> spread(family.size());
  double tokens = 0;
  for (const JudgedRequest& request : judged_requests(calibration)) {
    const std::vector<double> values = centred_scores(request, family, calibration.noise_sigma);
    for (std::size_t i = 0; i < values.size(); ++i) {
      mean[i % family.size()] += values[i];
      spread[i % family.size()] += values[i] * values[i];
    }
    tokens += static_cast<double>(request.size());
  }
  for (std::size_t j = 0; j < family.size() && tokens > 0; ++j) {
    mean[j] /= tokens;
    spread[j] = std::sqrt(std::max(0.0, spread[j] / tokens - mean[j] * mean[j]));
  }
  return [mean, spread](std::span<const double> pool) {
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < mean.size(); ++j) {
      if (spread[j] > 0) best = std::max(best, (pool[j] - mean[j]) / spread[j]);
    }
    return std::isfinite(best) ? best : 0;
  };
}

}  // namespace difr
