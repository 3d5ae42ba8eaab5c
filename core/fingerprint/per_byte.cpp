#include "core/fingerprint/per_byte.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/util/error.h"

namespace difr {

MethodScores activation_scores(std::span<const std::vector<double>> distances_by_request, FingerprintDtype dtype,
                               int k) {
  MethodScores scores;
  scores.method = fmt::format("activation-difr k={} {}", k, to_string(dtype));
  scores.bytes_per_unit = static_cast<double>(fingerprint_bytes_per_token(dtype, k));
  for (const std::vector<double>& distances : distances_by_request) scores.units.add_request(distances);
  return scores;
}

MethodScores toploc_scores(std::span<const ToplocReport> reports, const ToplocSettings& settings, ToplocScore score) {
  constexpr double kLargestMantissaError = 127;
  MethodScores scores;
  scores.method = fmt::format("toploc {} topk={} {}", settings.decode_batching_size, settings.topk,
                              score == ToplocScore::mantissa_mean ? "mantissa" : "exponents");
  scores.bytes_per_unit = static_cast<double>(toploc_bytes(settings.topk));
  std::size_t chunks = 0, rows = 0;
  std::vector<double> values;
  for (const ToplocReport& report : reports) {
    values.clear();
    for (const ToplocChunkResult& chunk : report.chunks) {
      if (chunk.status != ToplocStatus::pass && chunk.status != ToplocStatus::fail) continue;
      ++chunks;
      rows += chunk.rows.last - chunk.rows.first;
      values.push_back(score == ToplocScore::mantissa_mean
                           ? std::min(chunk.numbers.mantissa_mean, kLargestMantissaError)
                           : chunk.numbers.exponent_mismatches);
    }
    scores.units.add_request(values);
  }
  if (chunks != 0) scores.tokens_per_unit = static_cast<double>(rows) / static_cast<double>(chunks);
  return scores;
}

std::vector<DetectionPoint> detection_per_byte(const MethodScores& trusted, const MethodScores& untrusted,
                                               const PowerOptions& options) {
  if (trusted.method != untrusted.method || trusted.bytes_per_unit != untrusted.bytes_per_unit)
    throw bad_input("detection per byte", fmt::format("\"{}\" against \"{}\"", trusted.method, untrusted.method),
                    "compare runs of one method and setting");
  // Chunk lengths differ a little between providers; the bytes are exact, the tokens their mean.
  const double tokens_per_unit = (trusted.tokens_per_unit + untrusted.tokens_per_unit) / 2;
  std::vector<DetectionPoint> points;
  for (const PowerPoint& point : power_by_tokens(trusted.units, untrusted.units, options)) {
    const auto units = static_cast<double>(point.tokens);
    points.push_back({units * tokens_per_unit, units * trusted.bytes_per_unit, point.auc, point.auc_band});
  }
  return points;
}

double bytes_for_auc(std::span<const DetectionPoint> points, double target) {
  std::size_t first = points.size();
  while (first > 0 && points[first - 1].auc >= target) --first;
  if (first == points.size()) return std::numeric_limits<double>::infinity();
  if (first == 0) return points.front().bytes;
  const DetectionPoint& below = points[first - 1];
  const DetectionPoint& above = points[first];
  const double share = (target - below.auc) / (above.auc - below.auc);
  return std::exp(std::log(below.bytes) + share * (std::log(above.bytes) - std::log(below.bytes)));
}

}  // namespace difr
