#include "core/statistics/permutation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/statistics/counter_rng.h"
#include "core/util/error.h"

namespace difr {

namespace {

void add_row(std::span<const double> row, std::span<double> sums) {
  for (std::size_t c = 0; c < row.size(); ++c) sums[c] += row[c];
}

std::vector<double> column_sums(const UnitTable& table) {
  std::vector<double> sums(table.columns);
  for (std::size_t i = 0; i < table.units(); ++i) add_row(table.row(i), sums);
  return sums;
}

double checked(double statistic) {
  if (std::isnan(statistic)) throw bad_input("resampling test", "the statistic is not a number");
  return statistic;
}

}  // namespace

double log_choose(std::size_t n, std::size_t k) {
  const auto dn = static_cast<double>(n);
  const auto dk = static_cast<double>(k);
  return std::lgamma(dn + 1) - std::lgamma(dk + 1) - std::lgamma(dn - dk + 1);
}

PermutationResult permutation_test(const UnitTable& first, const UnitTable& second, int resamples, std::uint64_t seed,
                                   std::uint64_t stream, const GroupStatistic& statistic) {
  if (first.units() == 0 || second.units() == 0) throw bad_input("permutation test", "a group has no units");
  if (first.columns != second.columns) throw bad_input("permutation test", "the groups have different features");
  if (resamples < 1) throw bad_input("permutation test", "needs at least one resample");
  const std::size_t columns = first.columns;
  UnitTable pooled(columns);
  pooled.values = first.values;
  pooled.values.insert(pooled.values.end(), second.values.begin(), second.values.end());
  const std::size_t n = pooled.units();
  const bool draw_second = second.units() <= first.units();
  const std::size_t drawn = std::min(first.units(), second.units());
  const std::vector<double> total = column_sums(pooled);

  PermutationResult result;
  result.resamples = resamples;
  // The same rounding path as the permuted values, so that a permutation that reproduces the data counts as a tie.
  const std::vector<double> drawn_observed = column_sums(draw_second ? second : first);
  std::vector<double> rest(columns);
  const auto evaluate = [&](std::span<const double> sums) {
    for (std::size_t c = 0; c < columns; ++c) rest[c] = total[c] - sums[c];
    return checked(draw_second ? statistic(rest, sums) : statistic(sums, rest));
  };
  result.observed = evaluate(drawn_observed);
  const double cut = std::isinf(result.observed) ? result.observed : result.observed - 1e-9 * std::abs(result.observed);
  std::vector<std::uint32_t> order(n);
  std::vector<double> sums(columns);
  int at_least = 0;
  for (int b = 0; b < resamples; ++b) {
    CounterRng rng(seed, stream, static_cast<std::uint64_t>(b));
    std::iota(order.begin(), order.end(), 0U);
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t i = 0; i < drawn; ++i) {
      std::swap(order[i], order[i + rng.below(n - i)]);
      add_row(pooled.row(order[i]), sums);
    }
    if (evaluate(sums) >= cut) ++at_least;
  }
  result.p_value = (1.0 + at_least) / (resamples + 1.0);
  result.smallest_p = std::max(1.0 / (resamples + 1.0), std::exp(-log_choose(n, drawn)));
  return result;
}

std::vector<double> bootstrap_null(const UnitTable& table, std::size_t first_units, std::size_t second_units,
                                   int resamples, std::uint64_t seed, std::uint64_t stream,
                                   const GroupStatistic& statistic) {
  if (table.units() == 0) throw bad_input("bootstrap", "no units");
  std::vector<double> values(static_cast<std::size_t>(std::max(resamples, 0)));
  std::vector<double> first(table.columns);
  std::vector<double> second(table.columns);
  for (std::size_t b = 0; b < values.size(); ++b) {
    CounterRng rng(seed, stream, b);
    std::fill(first.begin(), first.end(), 0.0);
    std::fill(second.begin(), second.end(), 0.0);
    for (std::size_t i = 0; i < first_units; ++i) add_row(table.row(rng.below(table.units())), first);
    for (std::size_t i = 0; i < second_units; ++i) add_row(table.row(rng.below(table.units())), second);
    values[b] = checked(statistic(first, second));
  }
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace difr
