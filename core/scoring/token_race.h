#pragma once
// The race of one position: who has the largest processed-and-perturbed score, and by how much. Internal to scoring.

#include <cstddef>
#include <limits>
#include <span>

#include "core/domain/claim.h"
#include "core/domain/token_scores.h"
#include "core/sampling/filter.h"
#include "core/sampling/profile.h"
#include "core/scoring/token_difr.h"

namespace difr {

inline constexpr double kNoScore = -std::numeric_limits<double>::infinity();

/// Perturbed scores in units of s + g. "Rivals" are entries other than the claimed one that certainly passed the
/// filter.
struct Race {
  TokenId winner = -1;  ///< among everything the reference's filter keeps; lowest id wins ties
  double winner_score = kNoScore;
  bool winner_at_edge = false;
  double rival = kNoScore;  ///< best rival
  double second_rival = kNoScore;
  double claimed = kNoScore;
  int above_claimed = 0;  ///< kept entries with a strictly larger score
};

/// One row or candidate list. `x` processed logits, `s` the same over T, `g` noise (empty: none); index i is entry
/// `ids[i]`, or i itself when ids is empty.
struct RaceEntries {
  std::span<const TokenId> ids;
  std::span<const float> x;
  std::span<const float> s;
  std::span<const double> g;
};

/// `claimed` is an index into the entries. Near-ties are settled with the noise source's exact values when given.
[[nodiscard]] Race run_race(const RaceEntries& entries, std::size_t claimed, const FilterCut& cut, NoiseSource* exact,
                            int t);

/// Noise of the entries: by id, or by rank where the profile says so. `ids` empty: g is the whole row.
void fill_noise(NoiseSource& noise, const SamplerProfile& profile, int t, std::span<const TokenId> ids,
                std::span<const float> x, std::span<double> g);

/// Extends the last token's margin to cover [low, high]; marks it as an interval when that is not a point.
void widen_margin(TokenScores& scores, float low, float high);
/// The same for what the engine's own arithmetic leaves open in the noise.
void widen_by_uncertainty(TokenScores& scores, const RaceEntries& entries, std::size_t claimed, const FilterCut& cut,
                          const NoiseSource& noise, double temperature);

/// Raw-logit metrics every token has, with or without a seed.
struct RawMetrics {
  double log_prob = 0.0;
  int logit_rank = 0;
};

/// Appends one token's scores; `temperature` converts to logit units (1 when greedy).
void append_scores(TokenScores& scores, const RawMetrics& raw, const FilterCut& cut, const Race& race, TokenId claimed,
                   double temperature, bool greedy);
void append_without_noise(TokenScores& scores, const RawMetrics& raw, const FilterCut& cut);
void append_refused(TokenScores& scores);

}  // namespace difr
