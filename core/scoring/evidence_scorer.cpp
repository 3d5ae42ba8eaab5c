// Scores from stored evidence. Entries outside the top M are known only through their bound (the M-th logit) and their
// joint mass (log_sum_exp); docs/sampling.md derives what follows from that.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/sampling/filter.h"
#include "core/sampling/processing.h"
#include "core/scoring/token_difr.h"
#include "core/scoring/token_race.h"
#include "core/util/error.h"

namespace difr {
namespace {

constexpr float kOut = -std::numeric_limits<float>::infinity();

struct Range {
  double low = 0.0, high = 0.0;
};

/// Sum of exp(d/T) over n entries d <= bound whose sum of exp(d) is `mass`: both ends follow from the power mean
/// inequality and from the bound on each entry.
Range mass_at_temperature(double mass, double bound, double n, double temperature) {
  if (n <= 0.0 || mass <= 0.0) return {};
  if (temperature == 1.0) return {mass, mass};
  const double by_bound = mass * std::exp(bound * (1.0 / temperature - 1.0));
  const double by_mean = n * std::pow(mass / n, 1.0 / temperature);
  return {std::min(by_bound, by_mean), std::max(by_bound, by_mean)};
}

class EvidenceScorer {
 public:
  EvidenceScorer(const Claim& claim, const Evidence& evidence, const SamplerProfile& profile,
                 const ScoreOptions& options)
      : claim_(claim),
        evidence_(evidence),
        processing_(profile.order, claim.sampling, claim.prompt),
        plan_(make_filter_plan(profile.order, claim.sampling)),
        tolerance_{options.noise_sigma, options.edge_z, options.bf16_logits} {
    const double t = effective_temperature(profile.order, claim.sampling.temperature);
    greedy_ = profile.family == SamplerFamily::greedy || t == 0.0;
    temperature_ = greedy_ ? 1.0 : t;
    if (greedy_) {
      plan_ = FilterPlan{};
    } else if (claim.seed) {
      noise_ = make_noise(profile, {.seed = *claim.seed,
                                    .prompt_len = static_cast<int>(claim.prompt.size()),
                                    .vocab = evidence.vocab,
                                    .choice = claim.choice});
    }
  }

  TokenScores run() {
    for (std::size_t t = 0; t < evidence_.size(); ++t) {
      score(t);
      processing_.emit(claim_.output[t]);
    }
    return std::move(scores_);
  }

 private:
  void score(std::size_t t) {
    const float own = evidence_.claimed_logit[t];
    if (std::isnan(own)) return append_refused(scores_);
    gather(t);
    const RawMetrics raw{static_cast<double>(own) - evidence_.log_sum_exp[t], evidence_.claimed_rank[t]};
    const auto [loose, strict] = cuts(t);
    if (!greedy_ && noise_ == nullptr) return append_without_noise(scores_, raw, loose);

    g_.assign(ids_.size(), 0.0);
    if (!greedy_) noise_->at(static_cast<int>(t), ids_, g_);
    const RaceEntries entries{ids_, x_, s_, g_};
    const auto race = run_race(entries, claimed_, loose, nullptr, 0);
    append_scores(scores_, raw, loose, race, claim_.output[t], temperature_, greedy_);
    widen(t, loose, race);
    if (!same(loose, strict)) {
      const auto other = run_race(entries, claimed_, strict, nullptr, 0);
      TokenScores alternative;
      append_scores(alternative, raw, strict, other, claim_.output[t], temperature_, greedy_);
      merge(alternative.margin.back());
      widen(t, strict, other);
    }
  }

  /// Candidates of this position: the top M and the claimed token, processed.
  void gather(std::size_t t) {
    const auto ids = evidence_.ids(t);
    const auto logits = evidence_.logits(t);
    const TokenId y = claim_.output[t];
    ids_.assign(ids.begin(), ids.end());
    raw_.assign(logits.begin(), logits.end());
    const auto found = std::ranges::find(ids_, y);
    claimed_ = static_cast<std::size_t>(found - ids_.begin());
    if (found == ids_.end()) {
      ids_.push_back(y);
      raw_.push_back(evidence_.claimed_logit[t]);
    }
    bound_ = logits.back();
    x_ = raw_;
    touched_outside_.clear();
    if (!processing_.neutral()) {
      for (std::size_t i = 0; i < ids_.size(); ++i) x_[i] = processing_.apply(ids_[i], raw_[i]);
      for (const TokenId id : processing_.touched()) {
        if (id >= 0 && id < evidence_.vocab && std::ranges::find(ids_, id) == ids_.end()) {
          touched_outside_.emplace_back(id, processing_.apply(id, bound_));
        }
      }
    }
    rest_count_ =
        static_cast<std::size_t>(evidence_.vocab) - std::min(ids_.size(), static_cast<std::size_t>(evidence_.vocab));
    const auto allowed = processing_.allowed_only();
    if (!allowed.empty()) {
      rest_count_ = static_cast<std::size_t>(
          std::ranges::count_if(allowed, [&](TokenId id) { return std::ranges::find(ids_, id) == ids_.end(); }));
    }
    rest_bound_ = rest_count_ > 0 ? bound_ : kOut;
    for (const auto& [id, x] : touched_outside_) rest_bound_ = std::max(rest_bound_, x);
    s_ = x_;
    if (temperature_ != 1.0) {
      const auto divisor = static_cast<float>(temperature_);
      for (float& v : s_) v /= divisor;
    }
  }

  /// The filter's cut under the largest and under the smallest mass the rest can have.
  std::pair<FilterCut, FilterCut> cuts(std::size_t t) const {
    const double own = x_[claimed_];
    if (!plan_.active()) {
      const double one[] = {own};
      const auto cut = cut_row(plan_, tolerance_, {one}, {own, std::nullopt});
      return {cut, cut};
    }
    std::vector<double> head, below;
    for (const float x : x_) {
      if (x != kOut) (x >= rest_bound_ ? head : below).push_back(x);
    }
    if (head.empty()) std::swap(head, below);
    std::ranges::sort(head, std::greater<>{});
    if (head.empty()) {
      FilterCut cut;
      cut.claimed = Membership::outside;
      cut.distance = std::numeric_limits<double>::infinity();
      return {cut, cut};
    }
    const double top = head.front();
    Range rest = rest_mass(t, top);
    for (const double x : below) {
      const double w = std::exp((x - top) / plan_.temperature);
      rest.low += w;
      rest.high += w;
    }
    std::size_t count = rest_count_ + below.size();
    const double next = std::max<double>(rest_bound_, below.empty() ? kOut : below.front());
    const double largest = count > 0 ? std::exp((next - top) / plan_.temperature) : 0.0;
    const bool deep_top_k = plan_.top_k > 0 && static_cast<std::size_t>(plan_.top_k) > head.size() && count > 0;
    if (deep_top_k && plan_.stages.back() != FilterStage::top_k) {
      // Only the k - |head| largest of the rest survive top-k: at least their share, at most the bound on each.
      const std::size_t kept = std::min(count, static_cast<std::size_t>(plan_.top_k) - head.size());
      rest.low *= static_cast<double>(kept) / static_cast<double>(count);
      rest.high = std::min(rest.high, static_cast<double>(kept) * largest);
      count = kept;
    }
    const auto at = [&](double mass, std::optional<double> above) {
      return cut_row(plan_, tolerance_, {head, count, mass, mass * std::min(largest, 1.0)}, {own, above});
    };
    const bool below_head = own < head.back();
    std::optional<double> above_low, above_high;
    if (below_head) {
      double known = 0.0;
      for (const double x : head) known += std::exp((x - top) / plan_.temperature);
      const double unknown =
          std::max(0.0, static_cast<double>(evidence_.claimed_rank[t]) - static_cast<double>(head.size()));
      above_low = known + unknown * std::exp((own - top) / plan_.temperature);
      above_high = known + std::min(rest.high, unknown * largest);
    }
    auto loose = at(rest.high, above_low);
    auto strict = at(rest.low, above_high);
    if (below_head && deep_top_k && evidence_.claimed_rank[t] >= plan_.top_k) strict.claimed = Membership::outside;
    // With the cut among the rest its distance to a claimed token there is unknown, and may be within the tolerance.
    const bool unplaced = loose.needs_more || (deep_top_k && evidence_.claimed_rank[t] >= plan_.top_k);
    if (below_head && unplaced && own != kOut) loose.claimed = Membership::edge;
    return {loose, strict};
  }

  Range rest_mass(std::size_t t, double top) const {
    if (rest_count_ == 0) return {};
    const double scale = plan_.temperature;
    const auto allowed = processing_.allowed_only();
    if (!allowed.empty()) return {0.0, static_cast<double>(rest_count_) * std::exp((rest_bound_ - top) / scale)};
    const double z0 = raw_.front();
    double mass = std::exp(static_cast<double>(evidence_.log_sum_exp[t]) - z0);
    for (const float z : raw_) mass -= std::exp(static_cast<double>(z) - z0);
    auto range = mass_at_temperature(std::max(mass, 0.0), bound_ - z0, static_cast<double>(rest_count_), scale);
    const double shift = std::exp((z0 - top) / scale);
    range.low *= shift;
    range.high *= shift;
    for (const auto& [id, x] : touched_outside_) {
      range.high += std::exp((x - top) / scale);
      range.low -= std::exp((bound_ - top) / scale);
    }
    range.low = std::max(range.low, 0.0);
    return range;
  }

  static bool same(const FilterCut& a, const FilterCut& b) {
    return a.keep_min == b.keep_min && a.sure_min == b.sure_min && a.claimed == b.claimed;
  }

  void merge(float margin) {
    float& low = scores_.margin.back();
    float& high = scores_.margin_hi.back();
    high = std::max(high, margin);
    low = std::min(low, margin);
    if (high > low) scores_.flags.back() |= interval;
  }

  /// The top-M certificate: nothing outside can win, or the margin becomes an interval.
  void widen(std::size_t t, const FilterCut& cut, const Race& race) {
    const bool survives = cut.needs_more || rest_bound_ >= cut.sure_min;
    if (rest_count_ == 0 || !survives || cut.claimed == Membership::outside) return;
    const double best = std::max(race.rival, race.claimed);
    const double reach = static_cast<double>(rest_bound_) / temperature_;
    double rest = reach;
    if (!greedy_) {
      if (reach + noise_->upper_bound(static_cast<int>(t)) <= best) return;
      rest = best_outside(t);
    }
    if (rest > race.claimed) scores_.gumbel_rank.back() = -1;
    if (rest <= best) return;
    merge(static_cast<float>(temperature_ * (rest - race.claimed)));
  }

  double best_outside(std::size_t t) {
    row_.resize(static_cast<std::size_t>(evidence_.vocab));
    noise_->row(static_cast<int>(t), row_);
    for (const TokenId id : ids_) row_[static_cast<std::size_t>(id)] = kNoScore;
    double best = kNoScore;
    for (const auto& [id, x] : touched_outside_) {
      best = std::max(best, static_cast<double>(x) / temperature_ + row_[static_cast<std::size_t>(id)]);
      row_[static_cast<std::size_t>(id)] = kNoScore;
    }
    const double reach = static_cast<double>(bound_) / temperature_;
    const auto allowed = processing_.allowed_only();
    if (allowed.empty()) return std::max(best, reach + *std::ranges::max_element(row_));
    for (const TokenId id : allowed) {
      if (id >= 0 && id < evidence_.vocab) best = std::max(best, reach + row_[static_cast<std::size_t>(id)]);
    }
    return best;
  }

  const Claim& claim_;
  const Evidence& evidence_;
  LogitProcessing processing_;
  FilterPlan plan_;
  FilterTolerance tolerance_;
  bool greedy_ = false;
  double temperature_ = 1.0;
  std::unique_ptr<NoiseSource> noise_;
  TokenScores scores_;

  std::vector<TokenId> ids_;
  std::vector<float> raw_, x_, s_;
  std::vector<double> g_, row_;
  std::vector<std::pair<TokenId, float>> touched_outside_;
  std::size_t claimed_ = 0, rest_count_ = 0;
  float bound_ = 0.0F, rest_bound_ = 0.0F;
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
