#pragma once
// One claim on its way through a FusedScorer: the jobs of its rows, and evidence and scores from what comes back.

#include <optional>

#include "core/sampling/mt19937.h"
#include "core/scoring/token_difr.h"
#include "gpu/kernels/fused_scorer.h"

namespace difr::gpu::kernels {

/// The same numbers as append_evidence() and RowScorer. Near-ties (scores closer than 1e-6) are decided by the scorer's
/// own logarithm, which is within an ulp of libm's.
class FusedSeries {
 public:
  /// Empty when only RowScorer can score the claim: noise that is drawn in sequence or belongs to the rank, samplers by
  /// inverse CDF, and penalties, bias or masks that change single logits.
  [[nodiscard]] static std::optional<FusedSeries> make(const Claim& claim, const SamplerProfile& profile);

  /// Job of the next row t = 0, 1, ...; rows may be asked for ahead of append(). Throws difr::Error (bad_input) beyond
  /// the last output token.
  [[nodiscard]] RowJob next_job();
  /// Results in the order of the jobs. `ids` and `logits` are the row's top M; `vocab` is V.
  void append(const FusedRow& row, std::span<const TokenId> ids, std::span<const float> logits, int vocab);

  [[nodiscard]] const Evidence& evidence() const { return evidence_; }
  [[nodiscard]] const TokenScores& scores() const { return scores_; }

 private:
  FusedSeries() = default;
  [[nodiscard]] NoiseState next_noise();

  std::vector<TokenId> output_;
  RowJob pattern_;
  bool greedy_ = false;
  std::uint64_t seed_ = 0;     ///< of this choice
  std::int64_t position_ = 0;  ///< input position of the next row
  std::optional<Mt19937> generator_;
  std::size_t asked_ = 0;
  Evidence evidence_;
  TokenScores scores_;
};

}  // namespace difr::gpu::kernels
