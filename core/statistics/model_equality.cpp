#include "core/statistics/model_equality.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/statistics/counter_rng.h"
#include "core/util/error.h"

namespace difr {

namespace {

constexpr std::uint64_t kStream = 23;

struct Pair {
  std::uint32_t a;
  std::uint32_t b;
  double kernel;
};

/// Kernels of all pairs with the same prompt; computed once, a permutation only relabels.
struct PairTable {
  std::vector<Pair> pairs;
  std::vector<int> prompts;
};

PairTable pair_table(std::span<const Completion> first, std::span<const Completion> second,
                     const EqualityOptions& options) {
  if (options.length == 0) throw bad_input("model equality test", "the compared length must be positive");
  std::vector<const Completion*> pooled;
  for (const Completion& completion : first) pooled.push_back(&completion);
  for (const Completion& completion : second) pooled.push_back(&completion);
  PairTable table;
  for (const Completion* completion : pooled) table.prompts.push_back(completion->prompt);
  for (std::uint32_t i = 0; i < pooled.size(); ++i) {
    for (std::uint32_t j = i + 1; j < pooled.size(); ++j) {
      if (pooled[i]->prompt == pooled[j]->prompt)
        table.pairs.push_back({i, j, hamming_kernel(*pooled[i], *pooled[j], options)});
    }
  }
  return table;
}

/// NaN when a kind of pair does not occur.
double statistic(const PairTable& table, const std::vector<char>& is_second) {
  double sums[3] = {0, 0, 0};
  double counts[3] = {0, 0, 0};
  for (const Pair& pair : table.pairs) {
    const int kind = is_second[pair.a] + is_second[pair.b];
    sums[kind] += pair.kernel;
    counts[kind] += 1;
  }
  if (counts[0] == 0 || counts[1] == 0 || counts[2] == 0) return std::nan("");
  return sums[0] / counts[0] + sums[2] / counts[2] - 2 * sums[1] / counts[1];
}

std::vector<char> labels(std::size_t first, std::size_t second) {
  std::vector<char> is_second(first + second, 0);
  std::fill(is_second.begin() + static_cast<std::ptrdiff_t>(first), is_second.end(), 1);
  return is_second;
}

double checked_statistic(const PairTable& table, const std::vector<char>& is_second) {
  const double value = statistic(table, is_second);
  if (std::isnan(value)) {
    throw bad_input("model equality test",
                    "no two completions of one prompt to compare, within a sample or across them",
                    "sample each prompt at least twice from either side");
  }
  return value;
}

}  // namespace

double hamming_kernel(const Completion& a, const Completion& b, const EqualityOptions& options) {
  const std::size_t length_a = std::min(a.tokens.size(), options.length);
  const std::size_t length_b = std::min(b.tokens.size(), options.length);
  std::size_t matches = 0;
  for (std::size_t i = 0; i < std::min(length_a, length_b); ++i) matches += a.tokens[i] == b.tokens[i] ? 1 : 0;
  if (options.padding_matches) {
    matches += options.length - std::max(length_a, length_b);
    return static_cast<double>(matches) / static_cast<double>(options.length);
  }
  if (length_a == 0 || length_b == 0)
    return length_a == length_b ? 1 : 0;  // two empty completions are the same completion
  return static_cast<double>(matches) / std::sqrt(static_cast<double>(length_a) * static_cast<double>(length_b));
}

double hamming_mmd2(std::span<const Completion> first, std::span<const Completion> second,
                    const EqualityOptions& options) {
  return checked_statistic(pair_table(first, second, options), labels(first.size(), second.size()));
}

EqualityResult test_model_equality(std::span<const Completion> first, std::span<const Completion> second,
                                   const EqualityOptions& options) {
  if (options.resamples < 1) throw bad_input("model equality test", "needs at least one resample");
  const PairTable table = pair_table(first, second, options);
  const std::vector<char> original = labels(first.size(), second.size());
  EqualityResult result;
  result.resamples = options.resamples;
  result.mmd2 = checked_statistic(table, original);

  std::map<int, std::vector<std::uint32_t>> strata;
  for (std::uint32_t i = 0; i < table.prompts.size(); ++i) {
    strata[options.permute == PermuteWithin::prompt ? table.prompts[i] : 0].push_back(i);
  }
  const double cut = result.mmd2 - 1e-12 * std::max(1.0, std::abs(result.mmd2));
  int at_least = 0;
  std::vector<char> is_second;
  for (int b = 0; b < options.resamples; ++b) {
    CounterRng rng(options.seed, kStream, static_cast<std::uint64_t>(b));
    is_second = original;
    for (const auto& [prompt, members] : strata) {
      for (std::size_t i = members.size(); i > 1; --i)
        std::swap(is_second[members[i - 1]], is_second[members[rng.below(i)]]);
    }
    const double value = statistic(table, is_second);
    if (!(value < cut)) ++at_least;
  }
  result.p_value = (1.0 + at_least) / (options.resamples + 1.0);
  return result;
}

}  // namespace difr
