#pragma once
// Sequential testing by betting: stop whenever you like, the promise holds.

#include <cstddef>
#include <span>
#include <vector>

namespace difr {

/// Bets against "each new request scores as the trusted ones do". Each score becomes a p-value by the calibration's
/// empirical survival function raised by its DKW band, so that with probability 1 - delta over the calibration all
/// those p-values are valid at once; wealth is a mixture over kappa of prod kappa p^(kappa-1) (Shafer 2021), a
/// nonnegative supermartingale starting at 1 (Ville). Then
///   P(wealth ever reaches 1/alpha) <= alpha + delta      at any stopping time, for independent requests.
class EProcess {
 public:
  /// `calibration`: one score per trusted request, any order, no NaN. delta in (0, 1/2].
  EProcess(std::span<const double> calibration, double delta);

  /// Feeds one request score; returns the wealth after it. NaN throws difr::Error.
  double update(double score);
  [[nodiscard]] double wealth() const;
  /// Natural logarithm of the wealth; does not overflow.
  [[nodiscard]] double log_wealth() const { return log_wealth_; }
  /// Largest log wealth so far: an alarm that was reached stays reached.
  [[nodiscard]] double peak_log_wealth() const { return peak_; }
  [[nodiscard]] std::size_t observations() const { return observations_; }
  /// DKW-corrected p-value of a score; does not change the wealth.
  [[nodiscard]] double p_value(double score) const;
  /// The correction: no corrected p-value is smaller. Above exp(-1) no bet can ever pay.
  [[nodiscard]] double band() const { return band_; }

 private:
  std::vector<double> sorted_;
  double band_;
  std::vector<double> log_products_;  ///< one per kappa
  double log_wealth_ = 0;
  double peak_ = 0;
  std::size_t observations_ = 0;
};

}  // namespace difr
