#include "views/charts/bins.h"

#include <algorithm>
#include <cmath>

namespace difr::views {

ScoreBins::ScoreBins(double floor, double top, int per_decade) : floor_(floor), per_decade_(std::max(per_decade, 1)) {
  const double decades = std::max(std::log10(std::max(top, floor * 10) / floor), 0.0);
  count_ = 1 + std::max(1, static_cast<int>(std::ceil(decades * per_decade_ - 1e-9)));
}

double ScoreBins::position(double score) const {
  if (std::isnan(score) || score <= 0) return 0;
  if (score <= floor_) return score / floor_;
  return std::min(1 + std::log10(score / floor_) * per_decade_, static_cast<double>(count_));
}

double ScoreBins::edge(int bin) const {
  return bin <= 0 ? 0.0 : floor_ * std::pow(10.0, static_cast<double>(bin - 1) / per_decade_);
}

std::vector<double> ScoreBins::shares(std::span<const double> scores) const {
  std::vector<double> out(static_cast<std::size_t>(count_), 0.0);
  std::size_t n = 0;
  for (const double score : scores) {
    if (std::isnan(score)) continue;
    const auto bin = std::min(static_cast<int>(position(score)), count_ - 1);
    out[static_cast<std::size_t>(bin)] += 1;
    ++n;
  }
  for (double& share : out) share = n ? share / static_cast<double>(n) : 0;
  return out;
}

std::vector<std::size_t> min_max_indices(std::span<const float> values, std::size_t buckets) {
  std::vector<std::size_t> out;
  const std::size_t n = values.size();
  if (buckets == 0 || n <= 2 * buckets) {
    out.resize(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = i;
    return out;
  }
  for (std::size_t b = 0; b < buckets; ++b) {
    const std::size_t begin = b * n / buckets, end = (b + 1) * n / buckets;
    std::size_t low = n, high = n;
    for (std::size_t i = begin; i < end; ++i) {
      if (std::isnan(values[i])) continue;
      if (low == n || values[i] < values[low]) low = i;
      if (high == n || values[i] > values[high]) high = i;
    }
    if (low == n) continue;
    out.push_back(std::min(low, high));
    if (low != high) out.push_back(std::max(low, high));
  }
  return out;
}

}  // namespace difr::views
