#pragma once
// Token-DiFR (DESIGN §3): margins, gaps and ranks of the claimed tokens under a sampler profile.

#include <memory>
#include <optional>
#include <span>

#include "core/domain/claim.h"
#include "core/domain/evidence.h"
#include "core/domain/token_scores.h"
#include "core/sampling/profile.h"

namespace difr {

struct ScoreOptions {
  /// Honest logit noise per entry (sigma0). A token within `edge_z` standard deviations of a filter's cut counts as an
  /// edge token: a claimed one is scored as admitted, and one that would win is left out of the maximum.
  /// 0: only exact ties are edges.
  double noise_sigma = 0.0;
  double edge_z = 4.0;
  /// Half the spacing of the engine's logits at the cut: bf16 logits tie; 0 for exact fp32 engines.
  bool bf16_logits = true;
};

/// Folds one row of raw fp32 logits (V) into evidence; appends one token. A row with NaN or +inf is refused.
void append_evidence(Evidence& evidence, std::span<const float> logits, TokenId claimed, int top_m);

/// Scores rows as they come from the engine, over the whole vocabulary: exact margins. One per request.
class RowScorer {
 public:
  /// `profile` may be greedy; a claim with T below the greedy limit is scored greedily whatever the profile.
  RowScorer(const Claim& claim, const SamplerProfile& profile, int vocab, const ScoreOptions& options);
  ~RowScorer();
  RowScorer(RowScorer&&) noexcept;
  /// Rows must come in order t = 0, 1, ...; `logits` has V entries.
  void add(std::span<const float> logits);
  /// Draws instead of scoring: the token that the sampler yields at the next step, for claims without output. Absent
  /// when the row is not finite or nothing survives the filters. Throws difr::Error (usage) when T > 0 and the profile
  /// or the seed is missing. A scorer either scores or draws.
  [[nodiscard]] std::optional<TokenId> draw(std::span<const float> logits);
  [[nodiscard]] const TokenScores& scores() const;
  [[nodiscard]] TokenScores take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Scores from stored evidence: exact where the top-M certificate allows, an interval otherwise.
[[nodiscard]] TokenScores score_evidence(const Claim& claim, const Evidence& evidence, const SamplerProfile& profile,
                                         const ScoreOptions& options);

}  // namespace difr
