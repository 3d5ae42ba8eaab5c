#include "core/statistics/cross_entropy.h"

#include <cmath>

#include "core/statistics/permutation.h"
#include "core/util/error.h"

namespace difr {

namespace {

constexpr std::uint64_t kStream = 31;

UnitTable table_of(std::span<const RequestEntropy> requests) {
  UnitTable table(2);
  for (const RequestEntropy& request : requests) {
    if (request.tokens > 0) table.values.insert(table.values.end(), {request.nats, request.tokens});
  }
  if (table.units() == 0) throw bad_input("cross-entropy test", "a side has no tokens with a log-probability");
  return table;
}

double mean(std::span<const double> sums) {
  return sums[1] > 0 ? sums[0] / sums[1] : 0;
}

double pooled(const UnitTable& table) {
  double sums[2] = {0, 0};
  for (std::size_t i = 0; i < table.units(); ++i) {
    sums[0] += table.row(i)[0];
    sums[1] += table.row(i)[1];
  }
  return mean(sums);
}

}  // namespace

EntropyTest test_cross_entropy(std::span<const RequestEntropy> trusted, std::span<const RequestEntropy> claimed,
                               int resamples, std::uint64_t seed) {
  const UnitTable first = table_of(trusted);
  const UnitTable second = table_of(claimed);
  const auto distance = [](std::span<const double> a, std::span<const double> b) {
    return std::abs(mean(b) - mean(a));
  };
  return {pooled(second), pooled(first), permutation_test(first, second, resamples, seed, kStream, distance).p_value};
}

}  // namespace difr
