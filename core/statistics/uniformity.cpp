#include "core/statistics/uniformity.h"

#include <algorithm>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "core/statistics/permutation.h"
#include "core/util/error.h"

namespace difr {

namespace {

using std::numbers::pi;

std::vector<double> sorted_unit(std::span<const double> values, std::size_t least) {
  if (values.size() < least) throw bad_input("uniformity test", "too few values");
  std::vector<double> sorted(values.begin(), values.end());
  if (std::any_of(sorted.begin(), sorted.end(), [](double v) { return !(v >= 0 && v <= 1); })) {
    throw bad_input("uniformity test", "a value lies outside [0, 1]");
  }
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

/// P(D+ >= d), Birnbaum and Tingey (1951); all terms positive, so the tail keeps its relative accuracy.
double smirnov_survival(double d, std::size_t count) {
  if (d <= 0) return 1;
  if (d >= 1) return 0;
  const auto n = static_cast<double>(count);
  double sum = 0;
  for (std::size_t j = 0; j < count; ++j) {
    const double share = static_cast<double>(j) / n;
    const double rest = 1 - d - share;
    if (rest <= 0) break;
    sum += std::exp(log_choose(count, j) + (static_cast<double>(j) - 1) * std::log(d + share) +
                    (n - static_cast<double>(j)) * std::log(rest));
  }
  return std::min(1.0, d * (sum));
}

double kolmogorov_limit_survival(double x) {
  if (x <= 0) return 1;
  if (x < 1) {
    double cdf = 0;
    for (int k = 1; k < 60; k += 2) cdf += std::exp(-k * k * pi * pi / (8 * x * x));
    return 1 - cdf * std::sqrt(2 * pi) / x;
  }
  double sum = 0;
  for (int k = 1; k < 20; ++k) sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * x * x);
  return sum;
}

using Matrix = std::vector<double>;

Matrix multiply(const Matrix& a, const Matrix& b, std::size_t m) {
  Matrix c(m * m);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t k = 0; k < m; ++k) {
      const double value = a[i * m + k];
      if (value == 0) continue;
      for (std::size_t j = 0; j < m; ++j) c[i * m + j] += value * b[k * m + j];
    }
  }
  return c;
}

struct Scaled {
  Matrix values;
  int exponent = 0;  ///< decimal
};

void rescale(Scaled& x, std::size_t m) {
  if (x.values[(m / 2) * m + m / 2] <= 1e140) return;
  for (double& value : x.values) value *= 1e-140;
  x.exponent += 140;
}

Scaled power(const Matrix& base, std::size_t m, std::size_t n) {
  if (n == 1) return {base, 0};
  const Scaled half = power(base, m, n / 2);
  Scaled result{multiply(half.values, half.values, m), 2 * half.exponent};
  if (n % 2 == 1) result.values = multiply(base, result.values, m);
  rescale(result, m);
  return result;
}

/// P(D < d) exactly (Marsaglia, Tsang and Wang 2003).
double kolmogorov_cdf(double d, std::size_t count) {
  const auto n = static_cast<double>(count);
  const auto k = static_cast<std::size_t>(n * d) + 1;
  const std::size_t m = 2 * k - 1;
  const double h = static_cast<double>(k) - n * d;
  Matrix matrix(m * m);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) matrix[i * m + j] = i + 1 < j ? 0 : 1;
  }
  for (std::size_t i = 0; i < m; ++i) {
    matrix[i * m] -= std::pow(h, static_cast<double>(i + 1));
    matrix[(m - 1) * m + i] -= std::pow(h, static_cast<double>(m - i));
  }
  matrix[(m - 1) * m] += 2 * h - 1 > 0 ? std::pow(2 * h - 1, static_cast<double>(m)) : 0;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      if (i + 1 > j) matrix[i * m + j] /= std::tgamma(static_cast<double>(i - j + 2));
    }
  }
  const Scaled result = power(matrix, m, count);
  double value = result.values[(k - 1) * m + k - 1];
  int exponent = result.exponent;
  for (std::size_t i = 1; i <= count; ++i) {
    value *= static_cast<double>(i) / n;
    if (value < 1e-140) {
      value *= 1e140;
      exponent -= 140;
    }
  }
  return value * std::pow(10.0, exponent);
}

double bessel_k(double order, double x) {
  return x > 700 ? 0 : boost::math::cyl_bessel_k(order, x);
}

// Csorgo and Faraway (1996), equations 1.3 and 1.8: the first correction to the limit law.
double cvm_psi(double x) {
  const auto ed2 = [](double y) {
    const double z = y * y / 4;
    return std::exp(-z) * std::pow(y / 2, 1.5) * (bessel_k(0.25, z) + bessel_k(0.75, z)) / std::sqrt(pi);
  };
  const auto ed3 = [](double y) {
    const double z = y * y / 4;
    return std::exp(-z) / std::sqrt(pi) * std::pow(y / 2, 2.5) *
           (2 * bessel_k(0.25, z) + 3 * bessel_k(0.75, z) - bessel_k(1.25, z));
  };
  double total = 0;
  for (int k = 0; k < 200; ++k) {
    const double m = 2 * k + 1;
    const double sx = 2 * std::sqrt(x);
    const double y1 = std::pow(x, 0.75);
    const double y2 = std::pow(x, 1.25);
    const double g = std::tgamma(k + 0.5);
    const double e1 = m * g * ed2((4 * k + 3) / sx) / (9 * y1);
    const double e2 = g * ed3((4 * k + 1) / sx) / (72 * y2);
    const double e3 = 2 * (m + 2) * std::tgamma(k + 1.5) * ed3((4 * k + 5) / sx) / (12 * y2);
    const double e4 = 7 * m * g * ed2((4 * k + 1) / sx) / (144 * y1);
    const double e5 = 7 * m * g * ed2((4 * k + 5) / sx) / (144 * y1);
    const double term = -(e1 + e2 + e3 + e4 + e5) / (pi * std::tgamma(k + 1.0));
    total += term;
    if (k > 100 || !(std::abs(term) >= 1e-12)) break;
  }
  return total;
}

double anderson_darling_limit(double z) {
  if (z <= 0) return 0;
  if (z < 2) {
    return std::exp(-1.2337141 / z) / std::sqrt(z) *
           (2.00012 + (0.247105 - (0.0649821 - (0.0347962 - (0.011672 - 0.00168691 * z) * z) * z) * z) * z);
  }
  return std::exp(-std::exp(1.0776 - (2.30695 - (0.43424 - (0.082433 - (0.008056 - 0.0003146 * z) * z) * z) * z) * z));
}

double anderson_darling_correction(double n, double x) {
  if (x > 0.8) return (-130.2137 + (745.2337 - (1705.091 - (1950.646 - (1116.36 - 255.7844 * x) * x) * x) * x) * x) / n;
  const double c = 0.01265 + 0.1757 / n;
  if (x < c) {
    const double t = x / c;
    return std::sqrt(t) * (1 - t) * (49 * t - 102) * (0.0037 / (n * n) + 0.00078 / n + 0.00006) / n;
  }
  const double t = (x - c) / (0.8 - c);
  return (-0.00022633 + (6.54034 - (14.6538 - (14.458 - (8.259 - 1.91864 * t) * t) * t) * t) * t) *
         (0.04213 + 0.01365 / n) / n;
}

}  // namespace

double ks_survival(double d, std::size_t n) {
  if (n == 0 || d <= 0) return 1;
  if (d >= 1) return 0;
  const double scaled = static_cast<double>(n) * d * d;
  // That far out both one-sided events together have a relative weight under 1e-12.
  if (scaled > 3.5 || d >= 0.5) return std::min(1.0, 2 * smirnov_survival(d, n));
  if (n > 5000) return kolmogorov_limit_survival(std::sqrt(static_cast<double>(n)) * d);
  return std::clamp(1 - kolmogorov_cdf(d, n), 0.0, 1.0);
}

TestResult ks_uniform(std::span<const double> values, Side side) {
  const std::vector<double> sorted = sorted_unit(values, 1);
  const auto n = static_cast<double>(sorted.size());
  double above = 0;
  double below = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    above = std::max(above, static_cast<double>(i + 1) / n - sorted[i]);
    below = std::max(below, sorted[i] - static_cast<double>(i) / n);
  }
  if (side == Side::greater) return {above, smirnov_survival(above, sorted.size())};
  if (side == Side::less) return {below, smirnov_survival(below, sorted.size())};
  const double d = std::max(above, below);
  return {d, ks_survival(d, sorted.size())};
}

double cvm_limit_cdf(double x) {
  if (x <= 0) return 0;
  double total = 0;
  for (int k = 0; k < 200; ++k) {
    const double u = std::exp(std::lgamma(k + 0.5) - std::lgamma(k + 1.0)) / (std::pow(pi, 1.5) * std::sqrt(x));
    const double y = 4 * k + 1;
    const double q = y * y / (16 * x);
    const double term = u * std::sqrt(y) * std::exp(-q) * bessel_k(0.25, q);
    total += term;
    if (!(std::abs(term) >= 1e-12)) break;
  }
  return total;
}

TestResult cvm_uniform(std::span<const double> values) {
  const std::vector<double> sorted = sorted_unit(values, 2);
  const auto n = static_cast<double>(sorted.size());
  double w = 1 / (12 * n);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double deviation = (2 * static_cast<double>(i) + 1) / (2 * n) - sorted[i];
    w += deviation * deviation;
  }
  double cdf = 0;
  if (w >= n / 3) {
    cdf = 1;
  } else if (w > 1 / (12 * n)) {
    cdf = cvm_limit_cdf(w) * (1 + 1 / (12 * n)) + cvm_psi(w) / n;
  }
  return {w, std::clamp(1 - cdf, 0.0, 1.0)};
}

TestResult anderson_darling_uniform(std::span<const double> values) {
  const std::vector<double> sorted = sorted_unit(values, 1);
  const std::size_t n = sorted.size();
  if (sorted.front() == 0 || sorted.back() == 1) return {std::numeric_limits<double>::infinity(), 0};
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += (2 * static_cast<double>(i) + 1) * (std::log(sorted[i]) + std::log1p(-sorted[n - 1 - i]));
  }
  const auto count = static_cast<double>(n);
  const double a2 = -count - sum / count;
  const double limit = anderson_darling_limit(a2);
  return {a2, std::clamp(1 - (limit + anderson_darling_correction(count, limit)), 0.0, 1.0)};
}

}  // namespace difr
