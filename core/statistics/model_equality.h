#pragma once
// Model Equality Testing (Gao et al. 2024): do two sets of completions come from the same distribution? Needs no seeds.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace difr {

/// One completion: its prompt and its first tokens, already cut to the length under test.
struct Completion {
  int prompt = 0;
  std::vector<std::int32_t> tokens;
};

enum class PermuteWithin {
  prompt,  ///< default: exact when completions of one prompt are exchangeable; prompts may be unequally represented
  all      ///< as published: labels move across prompts
};

struct EqualityOptions {
  std::size_t length = 12;  ///< tokens compared; the published padding makes completions this long
  PermuteWithin permute = PermuteWithin::prompt;
  bool padding_matches = false;  ///< as published: positions beyond both ends count as equal
  int resamples = 1000;
  std::uint64_t seed = 20261201;
};

struct EqualityResult {
  double mmd2 = 0;  ///< unbiased squared maximum mean discrepancy, Hamming kernel within prompts
  double p_value =
      1;  ///< (1 + #{permuted >= observed}) / (B + 1); undefined permuted values count as at least as large
  int resamples = 0;
};

/// Symmetric kernel with k(x, x) = 1: matching positions over the geometric mean of the lengths.
[[nodiscard]] double hamming_kernel(const Completion& a, const Completion& b, const EqualityOptions& options);

/// Statistic alone, with labels given: first[i] tells the sample of completion i. Throws difr::Error where no pair of
/// one prompt exists within a sample or across both: there is nothing to compare.
[[nodiscard]] double hamming_mmd2(std::span<const Completion> first, std::span<const Completion> second,
                                  const EqualityOptions& options);

[[nodiscard]] EqualityResult test_model_equality(std::span<const Completion> first, std::span<const Completion> second,
                                                 const EqualityOptions& options = {});

}  // namespace difr
