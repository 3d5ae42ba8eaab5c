#include "core/statistics/roc.h"

#include <algorithm>
#include <cmath>

#include "core/util/error.h"

namespace difr {

namespace {

std::vector<double> descending(std::span<const double> scores, double sign) {
  if (scores.empty()) throw bad_input("ROC", "a class has no scores");
  std::vector<double> sorted;
  sorted.reserve(scores.size());
  for (const double score : scores) {
    if (std::isnan(score)) throw bad_input("ROC", "a score is not a number");
    sorted.push_back(sign * score);
  }
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  return sorted;
}

RocCurve curve_of(const std::vector<double>& negatives, const std::vector<double>& positives) {
  RocCurve curve{{0}, {0}};
  std::size_t n = 0;
  std::size_t p = 0;
  while (n < negatives.size() || p < positives.size()) {
    const double threshold =
        std::max(n < negatives.size() ? negatives[n] : -HUGE_VAL, p < positives.size() ? positives[p] : -HUGE_VAL);
    while (n < negatives.size() && negatives[n] >= threshold) ++n;
    while (p < positives.size() && positives[p] >= threshold) ++p;
    curve.fpr.push_back(static_cast<double>(n) / static_cast<double>(negatives.size()));
    curve.tpr.push_back(static_cast<double>(p) / static_cast<double>(positives.size()));
  }
  return curve;
}

}  // namespace

RocCurve roc_curve(std::span<const double> negatives, std::span<const double> positives) {
  return curve_of(descending(negatives, 1), descending(positives, 1));
}

RocCurve roc_curve(std::span<const double> trusted, std::span<const double> untrusted, PositiveClass positive) {
  if (positive == PositiveClass::untrusted) return roc_curve(trusted, untrusted);
  return curve_of(descending(untrusted, -1), descending(trusted, -1));
}

double auc(const RocCurve& curve) {
  double area = 0;
  for (std::size_t i = 1; i < curve.fpr.size(); ++i) {
    area += (curve.fpr[i] - curve.fpr[i - 1]) * (curve.tpr[i] + curve.tpr[i - 1]) / 2;
  }
  return area;
}

double partial_auc(const RocCurve& curve, double max_fpr) {
  if (!(max_fpr > 0 && max_fpr <= 1)) throw bad_input("partial AUC", "the largest FPR must lie in (0, 1]");
  if (max_fpr == 1) return auc(curve);
  double area = 0;
  for (std::size_t i = 1; i < curve.fpr.size(); ++i) {
    const double left = curve.fpr[i - 1];
    if (left >= max_fpr) break;
    double right = curve.fpr[i];
    double top = curve.tpr[i];
    if (right > max_fpr) {
      top = curve.tpr[i - 1] + (top - curve.tpr[i - 1]) * (max_fpr - left) / (right - left);
      right = max_fpr;
    }
    area += (right - left) * (top + curve.tpr[i - 1]) / 2;
  }
  const double chance = max_fpr * max_fpr / 2;
  return 0.5 * (1 + (area - chance) / (max_fpr - chance));
}

double tpr_at_fpr(const RocCurve& curve, double max_fpr) {
  double best = 0;
  for (std::size_t i = 0; i < curve.fpr.size(); ++i) {
    if (curve.fpr[i] <= max_fpr) best = std::max(best, curve.tpr[i]);
  }
  return best;
}

}  // namespace difr
