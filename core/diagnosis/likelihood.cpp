#include "core/diagnosis/likelihood.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

namespace difr {
namespace {

constexpr double kGreedyTemperature = 1e-5;
constexpr double kInf = std::numeric_limits<double>::infinity();

double phi(double x) { return 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2); }

/// log-sum-exp of logits/T over the whole vocabulary: exact over the candidates, the tail as equal entries at its mean.
double log_sum_exp_at(const CandidateTable& table, std::size_t i, double temperature) {
  if (temperature == 1.0) return table.log_sum_exp[i];
  const auto z = table.logits(i);
  double top = -kInf;
  for (const float x : z) top = std::max(top, static_cast<double>(x));
  double sum = 0;
  for (const float x : z) sum += std::exp((x - top) / temperature);
  if (std::isfinite(table.tail[i])) sum += table.tail_count[i] * std::exp((table.tail[i] - top) / temperature);
  return top / temperature + std::log(sum);
}

/// What the filters leave. `cut`: lowest logit that passes. `sure`: lowest that passes whatever honest noise does to the
/// cut. `admitted`: probability scale (0..1) that the claimed token passes, though it may stand below the cut.
struct Filter {
  double cut = -kInf;
  double sure = -kInf;
  double admitted = 1;
};

/// Noise of the cumulative mass M of a set under independent entry noise; docs/sampling.md derives it.
double mass_noise(double mass, double squares_inside, double squares_total, double sigma_over_t) {
  const double outside = std::max(0.0, squares_total - squares_inside);
  return sigma_over_t * std::sqrt((1 - mass) * (1 - mass) * squares_inside + mass * mass * outside);
}

Filter make_filter(const CandidateTable& table, std::size_t i, const SamplingParams& sampling, const Hypothesis& h, double temperature, double sigma) {
  const int k = h.top_k >= 0 ? h.top_k : sampling.top_k;
  const double p = h.top_p >= 0 ? h.top_p : sampling.top_p;
  const auto z = table.logits(i);
  if (k <= 0 && p >= 1.0 && sampling.min_p <= 0) return {};
  const double edge = 4 * std::numbers::sqrt2 * h.edge_sigma;
  const double width = std::numbers::sqrt2 * std::max(sigma, 1e-6);
  Filter filter;
  std::vector<float> sorted(z.begin(), z.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  if (k > 0 && static_cast<std::size_t>(k) <= sorted.size()) {
    filter.cut = sorted[static_cast<std::size_t>(k) - 1];
    filter.sure = filter.cut + edge;
  }
  if (sampling.min_p > 0) filter.cut = std::max(filter.cut, sorted.front() + temperature * std::log(sampling.min_p));
  filter.sure = std::max(filter.sure, filter.cut > -kInf ? filter.cut + edge : -kInf);
  filter.admitted = z[0] >= filter.cut ? 1.0 : 2 * phi((z[0] - filter.cut) / width);
  if (p >= 1.0) return filter;
  // vLLM's top-p runs on what top-k left, renormalised.
  const double lse = log_sum_exp_at(table, i, temperature);
  double total = 0, squares = 0;
  for (const float x : sorted) {
    if (x < filter.cut) break;
    const double q = std::exp(x / temperature - lse);
    total += q;
    squares += q * q;
  }
  if (!(filter.cut > -kInf)) total = 1;  // the tail outside the candidates counts too
  squares /= total * total;
  double mass = 0, inside = 0, cut = -kInf, sure = -kInf, claimed = 1;
  for (const float x : sorted) {
    if (x < filter.cut) break;
    const double noise = mass_noise(std::min(mass, 1.0), inside, squares, 1 / temperature);
    if (mass < p) cut = x;
    if (mass < p - 4 * h.edge_sigma * noise) sure = x;
    if (x == z[0] && mass >= p) claimed = 2 * phi((p - mass) / std::max(sigma * noise, 1e-9));
    const double q = std::exp(x / temperature - lse) / total;
    mass += q;
    inside += q * q;
  }
  if (z[0] < cut) claimed = std::max(claimed == 1 ? 0.0 : claimed, 2 * phi((z[0] - cut) / width));
  filter.cut = std::max(filter.cut, cut);
  filter.sure = std::max(filter.sure, std::max(sure, cut > -kInf ? std::min<double>(cut + edge, sorted.front()) : -kInf));
  filter.admitted *= std::min(1.0, claimed);
  return filter;
}

double blind(const CandidateTable& table, std::size_t i, const Hypothesis& h, double temperature) {
  const double flattened = std::exp(table.logit[i * table.m] / temperature - log_sum_exp_at(table, i, temperature));
  if (!h.corrupt_top20) return 0.9 * flattened + 0.1 / std::max(1, table.m + table.tail_count[i]);
  return (table.rank[i] < 20 ? 0.95 / 20 : 0.0) + 0.05 * flattened;
}

/// Probability that slot 0 has the largest perturbed score, when every entry carries N(0, sigma²) of its own. Entries that the
/// engine may have dropped at the filter's edge do not compete; a claimed token outside must have been let in by the noise.
double win_probability(std::span<const float> z, std::span<const float> g, double temperature, double sigma, const Filter& filter) {
  const bool noisy = !g.empty();
  const double width = std::numbers::sqrt2 * std::max(sigma, 1e-6);
  const double admitted = filter.admitted;
  const auto score = [&](std::size_t v) { return z[v] + (noisy ? temperature * g[v] : 0.0); };
  const auto competes = [&](std::size_t v) { return v == 0 || (z[v] > -kInf && z[v] >= filter.sure); };
  double best = -kInf, second = -kInf;
  for (std::size_t v = 0; v < z.size(); ++v) {
    if (!competes(v)) continue;
    const double s = score(v);
    if (s > best) second = std::exchange(best, s);
    else if (s > second) second = s;
  }
  if (!std::isfinite(second)) return admitted;
  const double own = score(0);
  const double claimed = phi((own == best ? own - second : own - best) / width);
  double sum = 0;
  for (std::size_t v = 0; v < z.size(); ++v) {
    if (!competes(v)) continue;
    const double s = score(v);
    if (best - s > 8 * width) continue;
    sum += phi((s == best ? s - second : s - best) / width);
  }
  return sum > 0 ? admitted * claimed / std::max(sum, claimed) : 0;
}

double token_probability(const CandidateTable& table, std::span<const float> noise, const Hypothesis& h, std::size_t i) {
  const auto& sampling = *table.sampling[static_cast<std::size_t>(table.request[i])];
  const bool greedy = sampling.temperature < kGreedyTemperature;
  const double temperature = (greedy ? 1.0 : std::max(sampling.temperature, 0.01)) * h.temperature_factor;
  const double sigma = h.sigma * (1 + h.sigma_slope * table.position[i] / 100.0) + h.sigma_early * std::exp(-table.position[i] / 8.0);
  const auto z = table.logits(i);
  const std::span<const float> g = noise.empty() ? std::span<const float>{} : noise.subspan(i * table.m, table.m);
  const double base = blind(table, i, h, temperature);
  double drawn = base;
  if (h.choice == Hypothesis::Choice::argmax || (greedy && h.choice == Hypothesis::Choice::seeded)) {
    drawn = win_probability(z, {}, 1.0, sigma, {});
  } else if (h.choice == Hypothesis::Choice::unseeded) {
    drawn = make_filter(table, i, sampling, h, temperature, h.sigma).admitted * std::exp(z[0] / temperature - log_sum_exp_at(table, i, temperature));
  } else if (!g.empty() && !std::isnan(g[0])) {
    drawn = win_probability(z, g, temperature, sigma, make_filter(table, i, sampling, h, temperature, sigma));
  }
  return (1 - h.corruption) * drawn + h.corruption * base;
}

}  // namespace

void log_likelihoods(const CandidateTable& table, std::span<const float> noise, const Hypothesis& hypothesis,
                     std::span<const std::size_t> tokens, std::span<double> out) {
  for (std::size_t j = 0; j < tokens.size(); ++j)
    out[j] = std::log(std::max(token_probability(table, noise, hypothesis, tokens[j]), 1e-300));
}

double log_likelihood(const CandidateTable& table, std::span<const float> noise, const Hypothesis& hypothesis,
                      std::span<const std::size_t> tokens) {
  double sum = 0;
  for (const auto i : tokens) sum += std::log(std::max(token_probability(table, noise, hypothesis, i), 1e-300));
  return sum;
}

double match_rate(const CandidateTable& table, std::span<const float> noise, std::span<const std::size_t> tokens) {
  std::size_t hits = 0, seen = 0;
  for (const auto i : tokens) {
    const auto z = table.logits(i);
    const auto g = noise.subspan(i * table.m, table.m);
    if (std::isnan(g[0])) continue;
    const auto& sampling = *table.sampling[static_cast<std::size_t>(table.request[i])];
    const double temperature = std::max(sampling.temperature, 0.01);
    const double cut = make_filter(table, i, sampling, {}, temperature, 0.03).sure;
    const double own = z[0] + temperature * g[0];
    bool wins = true;
    for (std::size_t v = 1; v < z.size() && wins; ++v) wins = z[v] == -kInf || z[v] < cut || z[v] + temperature * g[v] <= own;
    hits += wins;
    ++seen;
  }
  return seen ? static_cast<double>(hits) / static_cast<double>(seen) : 0;
}

}  // namespace difr
