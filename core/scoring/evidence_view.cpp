#include "core/scoring/evidence_view.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace difr {
namespace {

constexpr float kOut = -std::numeric_limits<float>::infinity();

}  // namespace

MassRange mass_at_temperature(double mass, double bound, double n, double temperature) {
  if (n <= 0.0 || mass <= 0.0) return {};
  if (temperature == 1.0) return {mass, mass};
  const double by_bound = mass * std::exp(bound * (1.0 / temperature - 1.0));
  const double by_mean = n * std::pow(mass / n, 1.0 / temperature);
  return {std::min(by_bound, by_mean), std::max(by_bound, by_mean)};
}

EvidenceView::EvidenceView(const Claim& claim, const Evidence& evidence, ProcessingOrder order, bool greedy)
    : claim_(claim), evidence_(evidence), processing_(order, claim.sampling, claim.prompt) {
  if (greedy) return;
  plan_ = make_filter_plan(order, claim.sampling);
  temperature_ = effective_temperature(order, claim.sampling.temperature);
}

bool EvidenceView::load(std::size_t t) {
  t_ = t;
  for (; emitted_ < t; ++emitted_) processing_.emit(claim_.output[emitted_]);
  if (std::isnan(evidence_.claimed_logit[t])) return false;
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
  return true;
}

MassRange EvidenceView::rest_mass(double top, double temperature) const {
  if (rest_count_ == 0) return {};
  if (!processing_.allowed_only().empty()) {
    return {0.0, static_cast<double>(rest_count_) * std::exp((rest_bound_ - top) / temperature)};
  }
  const double z0 = raw_.front();
  double mass = std::exp(static_cast<double>(evidence_.log_sum_exp[t_]) - z0);
  for (const float z : raw_) mass -= std::exp(static_cast<double>(z) - z0);
  auto range = mass_at_temperature(std::max(mass, 0.0), bound_ - z0, static_cast<double>(rest_count_), temperature);
  const double shift = std::exp((z0 - top) / temperature);
  range.low *= shift;
  range.high *= shift;
  for (const auto& [id, x] : touched_outside_) {
    range.high += std::exp((x - top) / temperature);
    range.low -= std::exp((bound_ - top) / temperature);
  }
  range.low = std::max(range.low, 0.0);
  return range;
}

std::pair<FilterCut, FilterCut> EvidenceView::cuts(const FilterTolerance& tolerance) const {
  const double own = x_[claimed_];
  if (!plan_.active()) {
    const double one[] = {own};
    const auto cut = cut_row(plan_, tolerance, {one}, {own, std::nullopt});
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
  auto rest = rest_mass(top, plan_.temperature);
  double next = rest_bound_;
  for (const double x : below) {
    const double w = std::exp((x - top) / plan_.temperature);
    rest.low += w;
    rest.high += w;
    next = std::max(next, x);
  }
  std::size_t count = rest_count_ + below.size();
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
    return cut_row(plan_, tolerance, {head, count, mass, mass * std::min(largest, 1.0)}, {own, above});
  };
  const bool below_head = own < head.back();
  const int rank = evidence_.claimed_rank[t_];
  std::optional<double> above_low, above_high;
  if (below_head) {
    double known = 0.0;
    for (const double x : head) known += std::exp((x - top) / plan_.temperature);
    const double unknown = std::max(0.0, static_cast<double>(rank) - static_cast<double>(head.size()));
    above_low = known + unknown * std::exp((own - top) / plan_.temperature);
    above_high = known + std::min(rest.high, unknown * largest);
  }
  auto loose = at(rest.high, above_low);
  auto strict = at(rest.low, above_high);
  const bool outside_top_k = deep_top_k && rank >= plan_.top_k;
  if (below_head && outside_top_k) strict.claimed = Membership::outside;
  // With the cut among the rest its distance to a claimed token there is unknown, and may be within the tolerance.
  if (below_head && (loose.needs_more || outside_top_k) && own != kOut) loose.claimed = Membership::edge;
  return {loose, strict};
}

}  // namespace difr
