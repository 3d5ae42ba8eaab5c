#pragma once
// Bins for scores that are mostly tiny: everything up to a floor in the first bin, then equal steps of the logarithm.

#include <span>
#include <vector>

namespace difr::views {

class ScoreBins {
 public:
  /// Covers [0, top]; `floor` > 0 is the upper edge of the first bin.
  ScoreBins(double floor, double top, int per_decade);

  [[nodiscard]] int count() const { return count_; }
  /// Axis coordinate of a score: 0 at 0, 1 at the floor, count() at the right end. Clamped.
  [[nodiscard]] double position(double score) const;
  [[nodiscard]] double edge(int bin) const;  ///< lower edge of a bin
  /// Share of the (finite) scores in each bin; all 0 when there are none. Infinite scores fall into the last bin.
  [[nodiscard]] std::vector<double> shares(std::span<const double> scores) const;
  [[nodiscard]] double floor() const { return floor_; }

 private:
  double floor_;
  int per_decade_;
  int count_;
};

/// Indices that keep, in each of `buckets` equal slices, the smallest and the largest value (and so every extreme).
[[nodiscard]] std::vector<std::size_t> min_max_indices(std::span<const float> values, std::size_t buckets);

}  // namespace difr::views
