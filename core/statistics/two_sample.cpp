#include "core/statistics/two_sample.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/statistics/normal.h"
#include "core/util/error.h"

namespace difr {

namespace {

void require_samples(std::span<const double> x, std::span<const double> y) {
  const auto is_nan = [](double v) { return std::isnan(v); };
  if (x.empty() || y.empty()) throw bad_input("two-sample test", "a sample is empty");
  if (std::any_of(x.begin(), x.end(), is_nan) || std::any_of(y.begin(), y.end(), is_nan)) {
    throw bad_input("two-sample test", "a value is not a number");
  }
}

/// Pooled values with mid-ranks (1-based); `tie_term` sums t^3 - t over groups of equal values.
struct Ranks {
  std::vector<double> x;
  std::vector<double> y;
  double tie_term = 0;
};

Ranks mid_ranks(std::span<const double> x, std::span<const double> y) {
  struct Item {
    double value;
    std::size_t index;
  };
  std::vector<Item> items;
  for (std::size_t i = 0; i < x.size(); ++i) items.push_back({x[i], i});
  for (std::size_t i = 0; i < y.size(); ++i) items.push_back({y[i], x.size() + i});
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.value < b.value; });
  Ranks ranks{std::vector<double>(x.size()), std::vector<double>(y.size()), 0};
  for (std::size_t first = 0; first < items.size();) {
    std::size_t last = first;
    while (last < items.size() && items[last].value == items[first].value) ++last;
    const double rank = 0.5 * static_cast<double>(first + last + 1);
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t index = items[i].index;
      (index < x.size() ? ranks.x[index] : ranks.y[index - x.size()]) = rank;
    }
    const auto t = static_cast<double>(last - first);
    ranks.tie_term += t * t * t - t;
    first = last;
  }
  return ranks;
}

/// P(U >= u) for samples of n and m values without ties.
double mann_whitney_survival(std::size_t n, std::size_t m, double u) {
  const std::size_t most = n * m;
  // row[j][v] = P(U = v) for i and j values, built up in i; every term is positive, so no digits cancel.
  std::vector<std::vector<double>> row(m + 1, std::vector<double>(most + 1));
  for (auto& distribution : row) distribution[0] = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    std::vector<std::vector<double>> next(m + 1, std::vector<double>(most + 1));
    next[0][0] = 1;
    for (std::size_t j = 1; j <= m; ++j) {
      // The largest of all i + j values is an x with probability i/(i+j), and then beats j values.
      const double share = static_cast<double>(i) / static_cast<double>(i + j);
      for (std::size_t v = 0; v <= i * j; ++v) {
        next[j][v] = (1 - share) * next[j - 1][v] + (v >= j ? share * row[j][v - j] : 0);
      }
    }
    row = std::move(next);
  }
  double sum = 0;
  for (auto v = static_cast<std::size_t>(std::max(0.0, std::ceil(u))); v <= most; ++v) sum += row[m][v];
  return std::min(1.0, sum);
}

/// Probability that the lattice walk of two interleaved samples ever satisfies the one- or two-sided event.
double path_survival(std::int64_t n, std::int64_t m, std::int64_t reach, Side side) {
  const auto outside = [&](std::int64_t i, std::int64_t j) {
    const std::int64_t difference = i * m - j * n;
    if (side == Side::greater) return difference >= reach;
    if (side == Side::less) return -difference >= reach;
    return std::abs(difference) >= reach;
  };
  std::vector<double> later(static_cast<std::size_t>(m) + 1);
  for (std::int64_t i = n; i >= 0; --i) {
    for (std::int64_t j = m; j >= 0; --j) {
      double& value = later[static_cast<std::size_t>(j)];  // holds the value of (i + 1, j) until it is overwritten
      if (outside(i, j)) {
        value = 1;
        continue;
      }
      const auto left = static_cast<double>(n - i);
      const auto up = static_cast<double>(m - j);
      const double right_value = left > 0 ? value : 0;
      const double up_value = up > 0 ? later[static_cast<std::size_t>(j) + 1] : 0;
      value = left + up > 0 ? (left * right_value + up * up_value) / (left + up) : 0;
    }
  }
  return later[0];
}

}  // namespace

TestResult mann_whitney(std::span<const double> x, std::span<const double> y, Side side, PMethod method,
                        bool continuity) {
  require_samples(x, y);
  const Ranks ranks = mid_ranks(x, y);
  const auto n = static_cast<double>(x.size());
  const auto m = static_cast<double>(y.size());
  double u = -n * (n + 1) / 2;
  for (const double rank : ranks.x) u += rank;
  const double other = n * m - u;
  const double tested = side == Side::greater ? u : side == Side::less ? other : std::max(u, other);
  const double sides = side == Side::two_sided ? 2 : 1;
  if (method == PMethod::exact) {
    if (ranks.tie_term > 0) throw bad_input("Mann-Whitney", "the exact distribution needs values without ties");
    if (x.size() * y.size() > 10000)
      throw bad_input("Mann-Whitney", "the samples are too large for the exact distribution");
    return {u, std::min(1.0, sides * mann_whitney_survival(x.size(), y.size(), tested))};
  }
  const double total = n + m;
  const double variance = n * m / 12 * (total + 1 - ranks.tie_term / (total * (total - 1)));
  if (!(variance > 0)) return {u, 1};
  const double z = (tested - n * m / 2 - (continuity ? 0.5 : 0)) / std::sqrt(variance);
  return {u, std::clamp(sides * normal_cdf(-z), 0.0, 1.0)};
}

TestResult ks_two_sample(std::span<const double> x, std::span<const double> y, Side side, PMethod method) {
  require_samples(x, y);
  std::vector<double> a(x.begin(), x.end());
  std::vector<double> b(y.begin(), y.end());
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const auto n = static_cast<std::int64_t>(a.size());
  const auto m = static_cast<std::int64_t>(b.size());
  std::int64_t above = 0;  // n m times the largest excess of x's distribution function over y's
  std::int64_t below = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const double value = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == value) ++i;
    while (j < b.size() && b[j] == value) ++j;
    const std::int64_t difference = static_cast<std::int64_t>(i) * m - static_cast<std::int64_t>(j) * n;
    above = std::max(above, difference);
    below = std::max(below, -difference);
  }
  const std::int64_t reach = side == Side::greater ? above : side == Side::less ? below : std::max(above, below);
  const double product = static_cast<double>(n) * static_cast<double>(m);
  const double d = static_cast<double>(reach) / product;
  if (reach == 0) return {0, 1};
  if (method == PMethod::exact) return {d, std::clamp(path_survival(n, m, reach, side), 0.0, 1.0)};
  const double effective = product / static_cast<double>(n + m);
  if (side == Side::two_sided) return {d, ks_survival(d, static_cast<std::size_t>(std::nearbyint(effective)))};
  // Hodges (1957), equation 5.3, with the larger sample first.
  const auto large = static_cast<double>(std::max(n, m));
  const auto small = static_cast<double>(std::min(n, m));
  const double z = std::sqrt(effective) * d;
  const double exponent = -2 * z * z - 2 * z * (large + 2 * small) / std::sqrt(large * small * (large + small)) / 3;
  return {d, std::clamp(std::exp(exponent), 0.0, 1.0)};
}

TestResult cvm_two_sample(std::span<const double> x, std::span<const double> y) {
  require_samples(x, y);
  Ranks ranks = mid_ranks(x, y);
  std::sort(ranks.x.begin(), ranks.x.end());
  std::sort(ranks.y.begin(), ranks.y.end());
  const auto n = static_cast<double>(x.size());
  const auto m = static_cast<double>(y.size());
  double u = 0;
  for (std::size_t i = 0; i < ranks.x.size(); ++i) u += n * std::pow(ranks.x[i] - static_cast<double>(i + 1), 2);
  for (std::size_t j = 0; j < ranks.y.size(); ++j) u += m * std::pow(ranks.y[j] - static_cast<double>(j + 1), 2);
  const double k = n * m;
  const double total = n + m;
  const double t = u / (k * total) - (4 * k - 1) / (6 * total);
  const double mean = (1 + 1 / total) / 6;
  const double variance = (total + 1) * (4 * k * total - 3 * (n * n + m * m) - 2 * k) / (45 * total * total * 4 * k);
  const double normed = 1.0 / 6 + (t - mean) / std::sqrt(45 * variance);
  return {t, normed < 0.003 ? 1.0 : std::clamp(1 - cvm_limit_cdf(normed), 0.0, 1.0)};
}

}  // namespace difr
