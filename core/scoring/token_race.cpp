#include "core/scoring/token_race.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/scoring/scoring_rows.h"

namespace difr {
namespace {

// Rows may be filled by vector code that is good to a few ulp, or to one fp32 rounding where the engine works in fp32;
constexpr double kNearTie = 1e-6;

TokenId id_of(const RaceEntries& e, std::size_t i) {
  return e.ids.empty() ? static_cast<TokenId>(i) : e.ids[i];
}

void consider(Race& race, const RaceEntries& e, const FilterCut& cut, std::size_t i, std::size_t claimed,
              double score) {
  const TokenId id = id_of(e, i);
  if (score > race.winner_score || (score == race.winner_score && id < race.winner)) {
    race.winner = id;
    race.winner_score = score;
    race.winner_at_edge = e.x[i] < cut.sure_min;
  }
  if (i == claimed || e.x[i] < cut.sure_min) return;
  if (score > race.rival) {
    race.second_rival = race.rival;
    race.rival = score;
  } else {
    race.second_rival = std::max(race.second_rival, score);
  }
}

/// All entries within kNearTie of the best two places, with exact noise.
Race settle(const RaceEntries& e, std::size_t claimed, const FilterCut& cut, NoiseSource& exact, int t,
            const Race& rough) {
  const double floor =
      std::min({rough.winner_score, rough.rival, rough.second_rival == kNoScore ? rough.rival : rough.second_rival}) -
      kNearTie;
  std::vector<std::size_t> near;
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < e.x.size(); ++i) {
    if (i == claimed || (e.x[i] >= cut.keep_min && static_cast<double>(e.s[i]) + e.g[i] >= floor)) {
      near.push_back(i);
      ids.push_back(id_of(e, i));
    }
  }
  std::vector<double> g(ids.size());
  exact.at(t, ids, g);
  Race race;
  race.above_claimed = rough.above_claimed;
  for (std::size_t j = 0; j < near.size(); ++j) {
    const std::size_t i = near[j];
    const double score = static_cast<double>(e.s[i]) + g[j];
    if (i == claimed) race.claimed = score;
    if (e.x[i] >= cut.keep_min) consider(race, e, cut, i, claimed, score);
  }
  return race;
}

float logits(double score_difference, double temperature) {
  return static_cast<float>(temperature * score_difference);
}

}  // namespace

Race run_race(const RaceEntries& e, std::size_t claimed, const FilterCut& cut, NoiseSource* exact, int t) {
  Race race;
  const double* g = e.g.empty() ? nullptr : e.g.data();
  race.claimed = static_cast<double>(e.s[claimed]) + (g != nullptr ? g[claimed] : 0.0);
  const auto level = vector_level();
  std::array<double, kScanBlock> scores;
  for (std::size_t begin = 0; begin < e.x.size(); begin += kScanBlock) {
    const std::size_t n = std::min(kScanBlock, e.x.size() - begin);
    const auto block = scan_block(level, e.s.data() + begin, e.x.data() + begin, g != nullptr ? g + begin : nullptr,
                                  cut.keep_min, race.claimed, n, scores.data());
    race.above_claimed += block.above_claimed;
    // Once two rivals are known, most blocks hold nobody who could change the outcome.
    if (block.largest == kNoScore || block.largest < std::min(race.winner_score, race.second_rival)) continue;
    for (std::size_t i = 0; i < n; ++i) {
      if (scores[i] != kNoScore && scores[i] >= std::min(race.winner_score, race.second_rival)) {
        consider(race, e, cut, begin + i, claimed, scores[i]);
      }
    }
  }
  const auto near = [](double a, double b) { return std::abs(a - b) < kNearTie; };
  if (exact != nullptr && (near(race.rival, race.claimed) || near(race.rival, race.second_rival) ||
                           (race.winner_at_edge && near(race.winner_score, race.rival)))) {
    return settle(e, claimed, cut, *exact, t, race);
  }
  return race;
}

void fill_noise(NoiseSource& noise, const SamplerProfile& profile, int t, std::span<const TokenId> ids,
                std::span<const float> x, std::span<double> g) {
  if (!profile.column_is_rank) {
    if (ids.empty()) {
      noise.row(t, g);
    } else {
      noise.at(t, ids, g);
    }
    return;
  }
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto id_of = [&](std::size_t i) { return ids.empty() ? static_cast<TokenId>(i) : ids[i]; };
  std::ranges::sort(order,
                    [&](std::size_t a, std::size_t b) { return x[a] != x[b] ? x[a] > x[b] : id_of(a) < id_of(b); });
  std::vector<TokenId> rank(x.size());
  for (std::size_t r = 0; r < order.size(); ++r) rank[order[r]] = static_cast<TokenId>(r);
  noise.at(t, rank, g);
}

void widen_margin(TokenScores& scores, float low, float high) {
  scores.margin.back() = std::min(scores.margin.back(), low);
  scores.margin_hi.back() = std::max(scores.margin_hi.back(), high);
  if (scores.margin_hi.back() > scores.margin.back()) scores.flags.back() |= interval;
}

void widen_by_uncertainty(TokenScores& scores, const RaceEntries& e, std::size_t claimed, const FilterCut& cut,
                          const NoiseSource& noise, double temperature) {
  if (noise.uncertainty(0.0) == 0.0 || cut.claimed == Membership::outside) return;
  double low = kNoScore, high = kNoScore;
  for (std::size_t i = 0; i < e.x.size(); ++i) {
    if (i == claimed || !(e.x[i] >= cut.sure_min)) continue;
    const double score = static_cast<double>(e.s[i]) + e.g[i], width = noise.uncertainty(e.g[i]);
    low = std::max(low, score - width);
    high = std::max(high, score + width);
  }
  const double own = static_cast<double>(e.s[claimed]) + e.g[claimed], width = noise.uncertainty(e.g[claimed]);
  widen_margin(scores, std::max(0.0F, logits(low - own - width, temperature)),
               std::max(0.0F, logits(high - own + width, temperature)));
}

void append_scores(TokenScores& out, const RawMetrics& raw, const FilterCut& cut, const Race& race, TokenId claimed,
                   double temperature, bool greedy) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const bool admitted = cut.claimed != Membership::outside;
  std::uint8_t flags = 0;
  if (race.winner == claimed) flags |= exact_match;
  if (cut.claimed == Membership::edge) flags |= filter_edge;
  if (!admitted) flags |= filtered;
  if (race.winner_at_edge && race.winner != claimed) flags |= robust_differs;

  const bool alone = race.rival == kNoScore;
  float gap = admitted ? kInf : -kInf;
  float margin = admitted ? 0.0F : kInf;
  // Equal infinities (a noise of +inf on both sides) leave the difference undefined; then nobody is ahead.
  if (admitted && !alone) {
    gap = race.claimed == race.rival ? 0.0F : logits(race.claimed - race.rival, temperature);
    margin = std::max(0.0F, -gap);
  }
  float runner_up = kInf;
  if (admitted && !alone) {
    const double best = std::max(race.rival, race.claimed);
    const double second = race.claimed >= race.rival ? race.rival : std::max(race.second_rival, race.claimed);
    runner_up = best == second ? 0.0F : logits(best - second, temperature);
  } else if (!alone) {
    runner_up = race.rival == race.second_rival ? 0.0F : logits(race.rival - race.second_rival, temperature);
  }
  out.margin.push_back(margin);
  out.margin_hi.push_back(margin);
  out.gap.push_back(gap);
  out.log_prob.push_back(static_cast<float>(raw.log_prob));
  out.logit_rank.push_back(raw.logit_rank);
  out.gumbel_rank.push_back(greedy || !admitted ? -1 : race.above_claimed);
  out.reference_token.push_back(race.winner);
  out.filter_distance.push_back(static_cast<float>(cut.distance));
  out.runner_up.push_back(runner_up);
  out.flags.push_back(flags);
}

void append_without_noise(TokenScores& out, const RawMetrics& raw, const FilterCut& cut) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::uint8_t flags = no_noise;
  if (cut.claimed == Membership::edge) flags |= filter_edge;
  if (cut.claimed == Membership::outside) flags |= filtered;
  out.margin.push_back(kNan);
  out.margin_hi.push_back(kNan);
  out.gap.push_back(kNan);
  out.log_prob.push_back(static_cast<float>(raw.log_prob));
  out.logit_rank.push_back(raw.logit_rank);
  out.gumbel_rank.push_back(-1);
  out.reference_token.push_back(-1);
  out.filter_distance.push_back(static_cast<float>(cut.distance));
  out.runner_up.push_back(kNan);
  out.flags.push_back(flags);
}

void append_refused(TokenScores& out) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (auto* v : {&out.margin, &out.margin_hi, &out.gap, &out.log_prob, &out.filter_distance, &out.runner_up})
    v->push_back(kNan);
  for (auto* v : {&out.logit_rank, &out.gumbel_rank, &out.reference_token}) v->push_back(-1);
  out.flags.push_back(refused);
}

}  // namespace difr
