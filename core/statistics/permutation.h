#pragma once
// Two-sample resampling tests whose units are requests (tokens within a request are dependent).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace difr {

/// Row-major table: one row of additive features per unit. A statistic sees only the column sums of either group.
struct UnitTable {
  std::size_t columns = 0;
  std::vector<double> values;  ///< units x columns

  explicit UnitTable(std::size_t column_count) : columns(column_count) {}
  [[nodiscard]] std::size_t units() const { return columns == 0 ? 0 : values.size() / columns; }
  [[nodiscard]] std::span<const double> row(std::size_t i) const { return {values.data() + i * columns, columns}; }
};

/// Larger = more evidence that the second group scores higher. Arguments: column sums of the first and the second
/// group.
using GroupStatistic = std::function<double(std::span<const double> first, std::span<const double> second)>;

struct PermutationResult {
  double observed = 0;
  double p_value = 1;     ///< (1 + #{permuted >= observed}) / (B + 1); never 0
  double smallest_p = 1;  ///< the smallest p this B and these group sizes could give
  int resamples = 0;
};

/// Exact level when the rows of both groups are exchangeable. Ties count against significance. `stream` separates
/// independent uses of one seed. Throws difr::Error on empty groups, unequal columns or a NaN statistic.
[[nodiscard]] PermutationResult permutation_test(const UnitTable& first, const UnitTable& second, int resamples,
                                                 std::uint64_t seed, std::uint64_t stream,
                                                 const GroupStatistic& statistic);

/// Statistic over fresh pairs of groups of the given sizes, both drawn with replacement from one table: what honest
/// groups of those sizes would show, the first group's own error included. Ascending.
[[nodiscard]] std::vector<double> bootstrap_null(const UnitTable& table, std::size_t first_units,
                                                 std::size_t second_units, int resamples, std::uint64_t seed,
                                                 std::uint64_t stream, const GroupStatistic& statistic);

/// log of the number of ways to choose k of n.
[[nodiscard]] double log_choose(std::size_t n, std::size_t k);

}  // namespace difr
