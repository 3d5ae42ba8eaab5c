// Scores from stored evidence. Entries outside the top M are known only through their bound (the M-th logit) and their
// joint mass (log_sum_exp); docs/sampling.md derives what follows from that.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/scoring/evidence_view.h"
#include "core/scoring/inverse_cdf.h"
#include "core/scoring/token_difr.h"
#include "core/scoring/token_race.h"
#include "core/util/error.h"

namespace difr {
namespace {

class EvidenceScorer {
 public:
  EvidenceScorer(const Claim& claim, const Evidence& evidence, const SamplerProfile& profile,
                 const ScoreOptions& options)
      : claim_(claim),
        evidence_(evidence),
        profile_(profile),
        tolerance_{options.noise_sigma, options.edge_z, options.bf16_logits},
        greedy_(profile.family == SamplerFamily::greedy ||
                effective_temperature(profile.order, claim.sampling.temperature) == 0.0),
        view_(claim, evidence, profile.order, greedy_) {
    if (greedy_ || !claim.seed) return;
    const NoiseKey key{.seed = *claim.seed,
                       .prompt_len = static_cast<int>(claim.prompt.size()),
                       .vocab = evidence.vocab,
                       .choice = claim.choice};
    noise_ = make_noise(profile, key);
    uniform_ = make_uniform(profile, key);
  }

  TokenScores run() {
    for (std::size_t t = 0; t < evidence_.size(); ++t) score(t);
    return std::move(scores_);
  }

 private:
  void score(std::size_t t) {
    if (!view_.load(t)) return append_refused(scores_);
    const RawMetrics raw{static_cast<double>(evidence_.claimed_logit[t]) - evidence_.log_sum_exp[t],
                         evidence_.claimed_rank[t]};
    const auto [loose, strict] = view_.cuts(tolerance_);
    if (uniform_ != nullptr) return score_cdf(t, raw, loose, strict);
    if (!greedy_ && noise_ == nullptr) return append_without_noise(scores_, raw, loose);

    g_.assign(view_.ids().size(), 0.0);
    if (!greedy_) fill_noise(*noise_, profile_, static_cast<int>(t), view_.ids(), view_.x(), g_);
    const RaceEntries entries{view_.ids(), view_.x(), view_.s(), g_};
    race(t, entries, raw, loose, scores_);
    if (!same(loose, strict)) {
      TokenScores alternative;
      race(t, entries, raw, strict, alternative);
      merge(alternative.margin.back());
      merge(alternative.margin_hi.back());
    }
  }

  void race(std::size_t t, const RaceEntries& entries, const RawMetrics& raw, const FilterCut& cut, TokenScores& out) {
    const auto result = run_race(entries, view_.claimed(), cut, nullptr, 0);
    append_scores(out, raw, cut, result, claim_.output[t], view_.temperature(), greedy_);
    if (!greedy_) widen_by_uncertainty(out, entries, view_.claimed(), cut, *noise_, view_.temperature());
    widen_by_rest(t, cut, result, out);
  }

  void score_cdf(std::size_t t, const RawMetrics& raw, const FilterCut& loose, const FilterCut& strict) {
    const bool by_value = view_.plan().top_k > 0 || view_.plan().top_p < 1.0;
    const bool rest = view_.rest_count() > 0 && (loose.needs_more || view_.rest_bound() >= loose.keep_min);
    const RaceEntries entries{view_.ids(), view_.x(), view_.s(), {}};
    const double u = uniform_->at(static_cast<int>(t));
    const double top = *std::ranges::max_element(view_.x());
    const auto mass = rest ? view_.rest_mass(top, view_.temperature()) : MassRange{};
    const auto low = invert_cdf(entries, view_.claimed(), loose, u, by_value, mass.low);
    append_cdf_scores(scores_, raw, loose, low, claim_.output[t]);
    if (rest && !by_value) {
      // In id order unknown entries lie between the known ones: nothing can be said of the running sum.
      scores_.margin.back() = std::min(scores_.margin.back(), 0.0F);
      merge(1.0F);
    } else if (rest) {
      merge(static_cast<float>(invert_cdf(entries, view_.claimed(), loose, u, by_value, mass.high).margin));
    }
    if (!same(loose, strict)) {
      if (strict.claimed == Membership::outside) return merge(std::numeric_limits<float>::infinity());
      merge(static_cast<float>(invert_cdf(entries, view_.claimed(), strict, u, by_value, mass.high).margin));
    }
  }

  static bool same(const FilterCut& a, const FilterCut& b) {
    return a.keep_min == b.keep_min && a.sure_min == b.sure_min && a.claimed == b.claimed;
  }

  void merge(float margin) { widen_margin(scores_, margin, margin); }

  /// The top-M certificate: nothing outside can win, or the margin becomes an interval.
  void widen_by_rest(std::size_t t, const FilterCut& cut, const Race& result, TokenScores& out) {
    const bool survives = cut.needs_more || view_.rest_bound() >= cut.sure_min;
    if (view_.rest_count() == 0 || !survives || cut.claimed == Membership::outside) return;
    const double best = std::max(result.rival, result.claimed);
    double rest = static_cast<double>(view_.rest_bound()) / view_.temperature();
    if (!greedy_) {
      if (rest + noise_->upper_bound(static_cast<int>(t)) <= best) return;
      rest = best_outside(t);
    }
    if (rest > result.claimed) out.gumbel_rank.back() = -1;
    if (rest <= best) return;
    const auto high = static_cast<float>(view_.temperature() * (rest - result.claimed));
    widen_margin(out, out.margin.back(), high);
  }

  double best_outside(std::size_t t) {
    row_.resize(static_cast<std::size_t>(evidence_.vocab));
    noise_->row(static_cast<int>(t), row_);
    const double reach = static_cast<double>(view_.raw_bound()) / view_.temperature();
    // By rank the unknown entries hold the columns after the candidates; the row's maximum bounds them all.
    if (profile_.column_is_rank) {
      const auto first = std::min(view_.ids().size(), row_.size());
      double best = kNoScore;
      for (std::size_t i = first; i < row_.size(); ++i) best = std::max(best, row_[i]);
      return best + static_cast<double>(view_.rest_bound()) / view_.temperature();
    }
    for (const TokenId id : view_.ids()) row_[static_cast<std::size_t>(id)] = kNoScore;
    double best = kNoScore;
    for (const auto& [id, x] : view_.touched_outside()) {
      best = std::max(best, static_cast<double>(x) / view_.temperature() + row_[static_cast<std::size_t>(id)]);
      row_[static_cast<std::size_t>(id)] = kNoScore;
    }
    const auto allowed = view_.processing().allowed_only();
    if (allowed.empty()) return std::max(best, reach + *std::ranges::max_element(row_));
    for (const TokenId id : allowed) {
      if (id >= 0 && id < evidence_.vocab) best = std::max(best, reach + row_[static_cast<std::size_t>(id)]);
    }
    return best;
  }

  const Claim& claim_;
  const Evidence& evidence_;
  const SamplerProfile& profile_;
  FilterTolerance tolerance_;
  bool greedy_;
  EvidenceView view_;
  std::unique_ptr<NoiseSource> noise_;
  std::unique_ptr<UniformSource> uniform_;
  TokenScores scores_;
  std::vector<double> g_, row_;
};

}  // namespace

TokenScores score_evidence(const Claim& claim, const Evidence& evidence, const SamplerProfile& profile,
                           const ScoreOptions& options) {
  if (evidence.size() > claim.output.size()) {
    throw bad_input("evidence", "holds more tokens than the claim", "recompute this request");
  }
  return EvidenceScorer(claim, evidence, profile, options).run();
}

}  // namespace difr
