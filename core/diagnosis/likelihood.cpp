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

/// Lowest logit that surely passes the filters, within `slack` logits, and the lowest that may pass.
struct Cut {
  double sure = -kInf;
  double possible = -kInf;
};

Cut filter_cut(const CandidateTable& table, std::size_t i, const SamplingParams& sampling, const Hypothesis& h, double temperature, double slack) {
  const int k = h.top_k >= 0 ? h.top_k : sampling.top_k;
  const double p = h.top_p >= 0 ? h.top_p : sampling.top_p;
  const auto z = table.logits(i);
  double cut = -kInf;
  if (k > 0 || p < 1.0) {
    std::vector<float> sorted(z.begin(), z.end());
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    if (k > 0 && static_cast<std::size_t>(k) <= sorted.size()) cut = sorted[static_cast<std::size_t>(k) - 1];
    if (p < 1.0) {
      // vLLM's top-p runs on what top-k left, renormalised.
      double total = 0, mass = 0;
      const double lse = log_sum_exp_at(table, i, temperature);
      if (cut > -kInf) {
        for (const float x : sorted)
          if (x >= cut) total += std::exp(x / temperature - lse);
      } else {
        total = 1.0;
      }
      for (const float x : sorted) {
        if (x < cut) break;
        mass += std::exp(x / temperature - lse) / total;
        if (mass >= p) {
          cut = std::max(cut, static_cast<double>(x));
          break;
        }
      }
    }
  }
  if (sampling.min_p > 0) {
    const double top = *std::max_element(z.begin(), z.end());
    cut = std::max(cut, top + temperature * std::log(sampling.min_p));
  }
  return {cut + slack, cut - slack};
}

double blind(const CandidateTable& table, std::size_t i, const Hypothesis& h, double temperature) {
  const double flattened = std::exp(table.logit[i * table.m] / temperature - log_sum_exp_at(table, i, temperature));
  if (!h.corrupt_top20) return 0.9 * flattened + 0.1 / std::max(1, table.m + table.tail_count[i]);
  return (table.rank[i] < 20 ? 0.95 / 20 : 0.0) + 0.05 * flattened;
}

/// Probability that slot 0 has the largest perturbed score, when every entry carries N(0, sigma²) of its own.
double win_probability(std::span<const float> z, std::span<const float> g, double temperature, double sigma, const Cut& cut) {
  if (z[0] < cut.possible) return 0;
  const bool noisy = !g.empty();
  const auto score = [&](std::size_t v) { return z[v] + (noisy ? temperature * g[v] : 0.0); };
  const auto competes = [&](std::size_t v) { return v == 0 || z[v] >= cut.sure; };
  double best = -kInf, second = -kInf;
  for (std::size_t v = 0; v < z.size(); ++v) {
    if (!competes(v)) continue;
    const double s = score(v);
    if (s > best) second = std::exchange(best, s);
    else if (s > second) second = s;
  }
  if (!std::isfinite(second)) return 1;
  const double width = std::numbers::sqrt2 * std::max(sigma, 1e-6);
  const double own = score(0);
  const double claimed = phi((own == best ? own - second : own - best) / width);
  double sum = 0;
  for (std::size_t v = 0; v < z.size(); ++v) {
    if (!competes(v)) continue;
    const double s = score(v);
    if (best - s > 8 * width) continue;
    sum += phi((s == best ? s - second : s - best) / width);
  }
  return sum > 0 ? claimed / std::max(sum, claimed) : 0;
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
    const Cut cut = filter_cut(table, i, sampling, h, temperature, 4 * std::numbers::sqrt2 * h.sigma);
    drawn = z[0] >= cut.possible ? std::exp(z[0] / temperature - log_sum_exp_at(table, i, temperature)) : 0.0;
  } else if (!g.empty() && !std::isnan(g[0])) {
    drawn = win_probability(z, g, temperature, sigma, filter_cut(table, i, sampling, h, temperature, 4 * std::numbers::sqrt2 * h.sigma));
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
    const Cut cut = filter_cut(table, i, sampling, {}, temperature, 0.15);
    const double own = z[0] + temperature * g[0];
    bool wins = true;
    for (std::size_t v = 1; v < z.size() && wins; ++v) wins = z[v] < cut.sure || z[v] + temperature * g[v] <= own;
    hits += wins;
    ++seen;
  }
  return seen ? static_cast<double>(hits) / static_cast<double>(seen) : 0;
}

}  // namespace difr
