#include "core/scoring/inverse_cdf.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace difr {

CdfResult invert_cdf(const RaceEntries& e, std::size_t claimed, const FilterCut& cut, double u, bool by_value,
                     double rest_mass) {
  const auto id_of = [&](std::size_t i) { return e.ids.empty() ? static_cast<TokenId>(i) : e.ids[i]; };
  std::vector<std::size_t> order;
  double top = kNoScore;
  for (std::size_t i = 0; i < e.x.size(); ++i) {
    const bool kept = e.x[i] >= cut.keep_min || (i == claimed && cut.claimed != Membership::outside);
    if (!kept || e.x[i] == -std::numeric_limits<float>::infinity()) continue;
    order.push_back(i);
    top = std::max(top, static_cast<double>(e.s[i]));
  }
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    if (by_value && e.x[a] != e.x[b]) return e.x[a] > e.x[b];
    return id_of(a) < id_of(b);
  });
  double total = rest_mass;
  for (const std::size_t i : order) total += std::exp(static_cast<double>(e.s[i]) - top);
  CdfResult out;
  const double target = u * total;
  double running = 0.0;
  for (const std::size_t i : order) {
    const double low = running;
    running += std::exp(static_cast<double>(e.s[i]) - top);
    const double inside = std::min(target - low, running - target) / total;
    if (out.winner < 0 && running >= target) {
      out.winner = id_of(i);
      out.runner_up = inside;
    }
    if (i == claimed) {
      out.gap = inside;
      out.margin = std::max({0.0, low - target, target - running}) / total;
    }
  }
  return out;
}

void append_cdf_scores(TokenScores& out, const RawMetrics& raw, const FilterCut& cut, const CdfResult& r,
                       TokenId claimed) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const bool admitted = cut.claimed != Membership::outside;
  std::uint8_t flags = 0;
  if (r.winner == claimed) flags |= exact_match;
  if (cut.claimed == Membership::edge) flags |= filter_edge;
  if (!admitted) flags |= filtered;
  const float margin = admitted ? static_cast<float>(r.margin) : kInf;
  out.margin.push_back(margin);
  out.margin_hi.push_back(margin);
  out.gap.push_back(admitted ? static_cast<float>(r.gap) : -kInf);
  out.log_prob.push_back(static_cast<float>(raw.log_prob));
  out.logit_rank.push_back(raw.logit_rank);
  out.gumbel_rank.push_back(-1);
  out.reference_token.push_back(r.winner);
  out.filter_distance.push_back(static_cast<float>(cut.distance));
  out.runner_up.push_back(static_cast<float>(r.runner_up));
  out.flags.push_back(flags);
}

}  // namespace difr
