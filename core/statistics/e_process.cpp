#include "core/statistics/e_process.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/statistics/intervals.h"
#include "core/util/error.h"

namespace difr {

namespace {

// Small kappa bets on a few tiny p-values, large kappa on many slightly small ones.
constexpr std::array<double, 8> kKappas = {0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 0.95};

}  // namespace

EProcess::EProcess(std::span<const double> calibration, double delta)
    : sorted_(calibration.begin(), calibration.end()),
      band_(dkw_epsilon(calibration.size(), delta)),
      log_products_(kKappas.size()) {
  if (sorted_.empty()) throw bad_input("e-process", "the calibration holds no scores");
  if (std::any_of(sorted_.begin(), sorted_.end(), [](double s) { return std::isnan(s); })) {
    throw bad_input("e-process", "a calibration score is not a number");
  }
  std::sort(sorted_.begin(), sorted_.end());
}

double EProcess::p_value(double score) const {
  if (std::isnan(score)) throw bad_input("e-process", "the score is not a number");
  const auto first = std::lower_bound(sorted_.begin(), sorted_.end(), score);
  const double survival = static_cast<double>(sorted_.end() - first) / static_cast<double>(sorted_.size());
  return std::min(1.0, survival + band_);
}

double EProcess::update(double score) {
  const double log_p = std::log(p_value(score));
  double largest = -HUGE_VAL;
  for (std::size_t i = 0; i < kKappas.size(); ++i) {
    log_products_[i] += std::log(kKappas[i]) + (kKappas[i] - 1) * log_p;
    largest = std::max(largest, log_products_[i]);
  }
  double sum = 0;
  for (const double log_product : log_products_) sum += std::exp(log_product - largest);
  log_wealth_ = largest + std::log(sum / static_cast<double>(kKappas.size()));
  peak_ = std::max(peak_, log_wealth_);
  ++observations_;
  return wealth();
}

double EProcess::wealth() const {
  return std::exp(log_wealth_);
}

}  // namespace difr
