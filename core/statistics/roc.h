#pragma once
// Receiver operating characteristic. Higher score = more positive; ties are handled as one step.

#include <span>
#include <vector>

namespace difr {

struct RocCurve {
  std::vector<double> fpr;  ///< ascending from 0 to 1
  std::vector<double> tpr;
};

/// Which class counts as positive. Ours is the untrusted provider, so that "FPR" is the rate of false alarms; the
/// public DiFR code's is the trusted one, whose "FPR" is the rate of accepting bad providers.
enum class PositiveClass { untrusted, trusted };

/// Both spans non-empty and free of NaN, else difr::Error. The curve has one point per distinct score, plus (0, 0).
[[nodiscard]] RocCurve roc_curve(std::span<const double> negatives, std::span<const double> positives);
/// Trusted against untrusted, where a higher score speaks for untrusted, in either orientation.
[[nodiscard]] RocCurve roc_curve(std::span<const double> trusted, std::span<const double> untrusted,
                                 PositiveClass positive);

/// Area under the curve = P(positive > negative) + P(equal)/2.
[[nodiscard]] double auc(const RocCurve& curve);
/// Area for FPR <= max_fpr, standardised so that 0.5 is chance and 1 is perfect (McClish 1989), linear interpolation
/// at the cut as scikit-learn does. max_fpr in (0, 1].
[[nodiscard]] double partial_auc(const RocCurve& curve, double max_fpr);
/// Largest TPR of a threshold whose empirical FPR is at most max_fpr; no interpolation, so it is attainable.
[[nodiscard]] double tpr_at_fpr(const RocCurve& curve, double max_fpr);

}  // namespace difr
