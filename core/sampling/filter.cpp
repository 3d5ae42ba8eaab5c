#include "core/sampling/filter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace difr {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// Engines sum up to 1.5e5 fp32 probabilities: cumulative masses this close to top_p are ties.
constexpr double kMassRounding = 1e-6;

/// State while the stages are applied to one row.
class Cutter {
 public:
  Cutter(const FilterPlan& plan, const FilterTolerance& tolerance, const RowHead& head, const ClaimedEntry& claimed)
      : plan_(plan), tolerance_(tolerance), head_(head), y_(claimed) {
    mass_.reserve(head.values.size() + 1);
    square_.reserve(head.values.size() + 1);
    mass_.push_back(head.above_mass);
    square_.push_back(head.above_square);
    for (const double x : head.values) {
      const double w = std::exp((x - head.largest()) / plan.temperature);
      mass_.push_back(mass_.back() + w);
      square_.push_back(square_.back() + w * w);
    }
  }

  FilterCut run() {
    for (const auto stage : plan_.stages) {
      if (stage == FilterStage::min_p && plan_.min_p > 0.0) min_p();
      if (stage == FilterStage::top_k && plan_.top_k > 0) top_k();
      if (stage == FilterStage::top_p && plan_.top_p < 1.0) top_p();
    }
    return cut_;
  }

 private:
  [[nodiscard]] std::size_t size() const { return head_.values.size(); }
  [[nodiscard]] double value(std::size_t i) const { return head_.values[i]; }
  /// Number of head entries at or above x.
  [[nodiscard]] std::size_t at_least(double x) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(head_.values, x, std::greater<>{}) - head_.values.begin());
  }
  [[nodiscard]] std::size_t above(double x) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(head_.values, x, std::greater<>{}) - head_.values.begin());
  }
  /// The floor lies below the head, so the rest may hold survivors.
  [[nodiscard]] bool rest_survives() const { return head_.rest_count > 0 && cut_.keep_min <= head_.values.back(); }

  void judge(double distance, bool admitted, bool tie) {
    if (distance > 0.0) cut_.distance = std::max(cut_.distance, distance);
    if (distance > 0.0 && !admitted) cut_.claimed = Membership::outside;
    if ((distance > 0.0 || tie) && cut_.claimed == Membership::inside) cut_.claimed = Membership::edge;
  }

  void min_p() {
    const double cut = head_.largest() + plan_.temperature * std::log(plan_.min_p);
    const double tol = tolerance_.logits(cut);
    judge(cut - y_.value, cut - y_.value <= tol, false);
    cut_.keep_min = std::max(cut_.keep_min, cut);
    cut_.sure_min = std::max(cut_.sure_min, cut + tol);
    if (head_.rest_count > 0 && cut <= head_.values.back()) cut_.needs_more = true;
  }

  void top_k() {
    std::size_t k = static_cast<std::size_t>(plan_.top_k);
    const std::size_t survivors = at_least(cut_.keep_min);
    if (k >= head_.above_count + survivors + (rest_survives() ? head_.rest_count : 0)) return;
    if (k <= head_.above_count) {
      cut_.needs_more = true;
      return;
    }
    k -= head_.above_count;
    if (k >= size()) {
      cut_.needs_more = true;
      return;
    }
    const double kth = value(k - 1);
    const bool tied = value(k) == kth;
    const std::size_t next = tied && plan_.top_k_keeps_ties ? at_least(kth) : k;
    if (next == size() && head_.rest_count > 0) cut_.needs_more = true;
    const double tol = tolerance_.logits(kth);
    judge(kth - y_.value, kth - y_.value <= tol, tied && !plan_.top_k_keeps_ties && y_.value == kth);
    kth_ = k - 1;
    cut_.keep_min = std::max(cut_.keep_min, kth);
    if (next < size()) cut_.sure_min = std::max(cut_.sure_min, std::nextafter(value(next) + tol, kInf));
  }

  void top_p() {
    const std::size_t survivors = at_least(cut_.keep_min);
    const bool rest = rest_survives();
    const double total = mass_[survivors] + (rest ? head_.rest_mass : 0.0);
    const double total_square = square_[survivors] + (rest ? head_.rest_square : 0.0);
    const auto spread = [&](double mass, double square) {
      const double m = mass / total;
      const double inside = square / (total * total);
      const double outside = std::max(0.0, total_square - square) / (total * total);
      const double variance = (1 - m) * (1 - m) * inside + m * m * outside;
      return tolerance_.z * tolerance_.sigma / plan_.temperature * std::sqrt(variance) + kMassRounding;
    };
    // The cut is the last group of equal values whose mass strictly above is below top_p; the first is never cut.
    // mass_ is ascending, so the first index at or past the target opens the dropped part.
    const auto crossing =
        std::lower_bound(mass_.begin(), mass_.begin() + static_cast<std::ptrdiff_t>(survivors), plan_.top_p * total);
    const auto index = static_cast<std::size_t>(crossing - mass_.begin());
    const bool from_top = head_.above_count == 0;
    if (!from_top && index == 0) {
      cut_.needs_more = true;
      return;
    }
    std::size_t dropped = std::max<std::size_t>(index, 1);
    while (dropped < survivors && value(dropped) == value(dropped - 1)) ++dropped;
    if (dropped == survivors && rest) cut_.needs_more = true;
    const double cut = value(dropped - 1);
    const double tol = tolerance_.logits(cut);

    const double next = dropped < survivors ? value(dropped) : -kInf;
    std::size_t end = dropped;
    while (end > 0) {
      const std::size_t begin = above(value(end - 1));
      const double others = mass_[end - 1];
      const bool sure =
          (others + spread(others, square_[end - 1]) * total < plan_.top_p * total || (end == 1 && from_top)) &&
          value(end - 1) - next > tol;
      if (sure) break;
      end = begin;
    }
    if (end == 0 && !from_top) cut_.needs_more = true;
    cut_.sure_min = std::max(cut_.sure_min, end == 0 ? kInf : value(end - 1));
    judge_top_p(cut, tol, total, survivors, spread);
    cut_.keep_min = std::max(cut_.keep_min, cut);
  }

  template <class Spread>
  void judge_top_p(double cut, double tol, double total, std::size_t survivors, const Spread& spread) {
    const double distance = cut - y_.value;
    if (distance <= 0.0) {
      // Inside; but in a tie across the cut the sort's accident decides, so it is marked.
      const std::size_t last = at_least(y_.value);
      const bool tie = last > 1 && value(last - 1) == y_.value && mass_[last - 1] >= plan_.top_p * total &&
                       above(y_.value) + 1 < last;
      judge(0.0, true, tie);
      return;
    }
    const std::size_t n = above(y_.value);
    double mass = mass_[std::min(n, survivors)];
    double square = square_[std::min(n, survivors)];
    if (n == size() && rest_survives()) {
      mass = std::max(mass, y_.mass_above.value_or(total));
      square = square_.back();
    }
    if (kth_ && y_.value < value(*kth_)) {
      // Admitted by top-k only in the place of the k-th entry.
      mass = mass_[*kth_];
      square = square_[*kth_];
    }
    const double excess = mass / total - plan_.top_p;
    judge(distance, distance <= tol || excess <= spread(mass, square), false);
  }

  const FilterPlan& plan_;
  const FilterTolerance& tolerance_;
  const RowHead& head_;
  const ClaimedEntry& y_;
  std::vector<double> mass_, square_;  ///< prefix sums over the head
  std::optional<std::size_t> kth_;     ///< index of the k-th entry where top-k cuts
  FilterCut cut_;
};

}  // namespace

double FilterTolerance::logits(double at) const {
  double tolerance = z * std::sqrt(2.0) * sigma;
  if (bf16 && std::isfinite(at) && at != 0.0) tolerance += std::ldexp(1.0, std::ilogb(at) - 7);
  return tolerance;
}

FilterCut cut_row(const FilterPlan& plan, const FilterTolerance& tolerance, const RowHead& head,
                  const ClaimedEntry& claimed) {
  if (!plan.active() || head.values.empty()) {
    FilterCut cut;
    if (claimed.value == -kInf) {
      cut.claimed = Membership::outside;
      cut.distance = kInf;
    }
    return cut;
  }
  auto cut = Cutter(plan, tolerance, head, claimed).run();
  if (claimed.value == -kInf) {
    cut.claimed = Membership::outside;
    cut.distance = kInf;
  }
  return cut;
}

}  // namespace difr
