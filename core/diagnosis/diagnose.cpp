#include "core/diagnosis/diagnose.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <functional>
#include <optional>

#include "core/diagnosis/seed_rules.h"

namespace difr {
namespace {

using Rows = std::vector<std::size_t>;

constexpr double kWorth95 = 1.92;  // half the 95 % quantile of chi-squared with one degree of freedom
constexpr std::size_t kScreened = 300;
constexpr double kRuleFits = 0.5;  // chance alone matches some 20 % of tokens; a true rule nearly all

/// One free parameter of an explanation, searched on a scale where equal steps matter equally.
struct Knob {
  std::string name;
  double low, high;  ///< search range, in the parameter's own units
  bool log_scale;
  std::function<void(Hypothesis&, double)> set;
};

struct Fit {
  Hypothesis hypothesis;
  std::vector<double> values;
};

class Fitter {
 public:
  Fitter(const CandidateTable& table, std::span<const float> noise, std::stop_token stop)
      : table_(table), noise_(noise), stop_(std::move(stop)) {}

  /// Coordinate descent with Brent's method; two rounds are enough for one or two knobs.
  [[nodiscard]] Fit fit(Hypothesis start, std::span<const Knob> knobs, std::span<const std::size_t> rows) const {
    Fit fit{start, std::vector<double>(knobs.size())};
    const int rounds = knobs.size() > 1 ? 3 : 1;
    for (int round = 0; round < rounds; ++round)
      for (std::size_t k = 0; k < knobs.size(); ++k) fit.values[k] = best(fit.hypothesis, knobs[k], rows);
    return fit;
  }

  [[nodiscard]] double value(const Hypothesis& hypothesis, std::span<const std::size_t> rows) const {
    if (stop_.stop_requested()) return 0;  // the caller throws the fit away; this only ends it soon
    return log_likelihood(table_, noise_, hypothesis, rows);
  }

  /// 95 % profile interval of one knob around a fit, the others held.
  [[nodiscard]] std::pair<double, double> interval(const Fit& fit, std::span<const Knob> knobs, std::size_t k, std::span<const std::size_t> rows) const {
    const double target = value(fit.hypothesis, rows) - kWorth95;
    const auto end = [&](double limit) {
      double inside = to(knobs[k], fit.values[k]), outside = to(knobs[k], limit);
      for (int step = 0; step < 24; ++step) {
        const double middle = (inside + outside) / 2;
        Hypothesis h = fit.hypothesis;
        knobs[k].set(h, from(knobs[k], middle));
        (value(h, rows) >= target ? inside : outside) = middle;
      }
      return from(knobs[k], inside);
    };
    return {end(knobs[k].low), end(knobs[k].high)};
  }

 private:
  static double to(const Knob& knob, double x) { return knob.log_scale ? std::log(x) : x; }
  static double from(const Knob& knob, double x) { return knob.log_scale ? std::exp(x) : x; }

  double best(Hypothesis& hypothesis, const Knob& knob, std::span<const std::size_t> rows) const {
    const auto loss = [&](double x) {
      Hypothesis h = hypothesis;
      knob.set(h, from(knob, x));
      return -value(h, rows);
    };
    // A coarse grid first: the likelihood in sigma or temperature may have more than one top.
    constexpr int kGrid = 9;
    const double low = to(knob, knob.low), high = to(knob, knob.high), step = (high - low) / (kGrid - 1);
    int at = 0;
    double lowest = INFINITY;
    for (int i = 0; i < kGrid; ++i)
      if (const double l = loss(low + i * step); l < lowest) lowest = l, at = i;
    const double a = low + std::max(0, at - 1) * step, b = low + std::min(kGrid - 1, at + 1) * step;
    std::uintmax_t evaluations = 30;
    const auto [x, l] = boost::math::tools::brent_find_minima(loss, a, b, 20, evaluations);
    const double value = from(knob, l <= lowest ? x : low + at * step);
    knob.set(hypothesis, value);
    return value;
  }

  const CandidateTable& table_;
  std::span<const float> noise_;
  std::stop_token stop_;
};

/// Everything one explanation needs to be fitted and told.
struct Candidate {
  ExplanationKind kind;
  Hypothesis start;
  std::vector<Knob> knobs;
  std::span<const float> noise;
  int extra_parameters = 0;  ///< choices made before the fit, e.g. which rule of many
  double penalty = 0;        ///< nats for that choice, since it was made on the same data
  std::vector<FittedParameter> named;
  std::function<std::string(std::span<const FittedParameter>)> text;
  std::string separates;
};

Explanation judge(const CandidateTable& table, const Candidate& c, const Rows& even, const Rows& odd, const Rows& all,
                  const std::stop_token& stop) {
  const Fitter fitter(table, c.noise, stop);
  Explanation e;
  e.kind = c.kind;
  if (c.knobs.empty()) {
    e.log_likelihood = fitter.value(c.start, all);
  } else {
    e.log_likelihood = fitter.value(fitter.fit(c.start, c.knobs, even).hypothesis, odd) + fitter.value(fitter.fit(c.start, c.knobs, odd).hypothesis, even);
  }
  e.log_likelihood -= c.penalty;
  e.parameters_fitted = static_cast<int>(c.knobs.size()) + c.extra_parameters;
  e.parameters = c.named;
  const Fit fit = fitter.fit(c.start, c.knobs, all);
  for (std::size_t k = 0; k < c.knobs.size(); ++k) {
    const auto [low, high] = fitter.interval(fit, c.knobs, k, all);
    e.parameters.push_back({c.knobs[k].name, fit.values[k], low, high, {}});
  }
  e.text = c.text(e.parameters);
  e.separates = c.separates;
  return e;
}

const FittedParameter& parameter(std::span<const FittedParameter> all, std::string_view name) {
  return *std::find_if(all.begin(), all.end(), [&](const auto& p) { return p.name == name; });
}

std::string with_interval(const FittedParameter& p, int digits) {
  return fmt::format("{:.{}f} (95 % interval {:.{}f} to {:.{}f})", p.estimate, digits, p.low, digits, p.high, digits);
}

Knob sigma_knob(double honest) {
  return {"sigma", honest * 0.25, 6.0, true, [](Hypothesis& h, double x) { h.sigma = x; }};
}

std::vector<Candidate> seeded_candidates(const DiagnosisOptions& o, std::span<const float> noise, double declared_temperature) {
  Hypothesis honest;
  honest.sigma = honest.edge_sigma = o.honest_sigma;
  honest.corruption = o.honest_corruption;
  std::vector<Candidate> all;
  all.push_back({ExplanationKind::honest, honest, {}, noise, 0, 0, {},
                 [&o](auto) { return fmt::format("The declared model, seed and sampling, with the calibration's numerical noise (sigma {:.3f} logits), explain the tokens.", o.honest_sigma); },
                 "more tokens narrow what small deviations remain possible"});
  all.push_back({ExplanationKind::logit_noise, honest, {sigma_knob(o.honest_sigma)}, noise, 0, 0, {},
                 [&o](auto p) { return fmt::format("Logits deviate everywhere by sigma = {}, {:.1f} times the calibration's: what quantised weights, a quantised KV cache or other numerics would do.", with_interval(parameter(p, "sigma"), 4), parameter(p, "sigma").estimate / o.honest_sigma); },
                 "references made from quantised variants of the trusted weights"});
  all.push_back({ExplanationKind::position_trend, honest,
                 {sigma_knob(o.honest_sigma), {"slope_per_100_tokens", 0.05, 20.0, true, [](Hypothesis& h, double x) { h.sigma_slope = x; }}}, noise, 0, 0, {},
                 [](auto p) { return fmt::format("Logit deviations start at sigma = {} and grow with position by {} per 100 tokens: what an accumulating error, as in a quantised KV cache, would do.", with_interval(parameter(p, "sigma"), 4), with_interval(parameter(p, "slope_per_100_tokens"), 2)); },
                 "longer outputs, and a reference with a quantised KV cache"});
  all.push_back({ExplanationKind::prompt_mismatch, honest,
                 {sigma_knob(o.honest_sigma), {"early_sigma", 0.02, 6.0, true, [](Hypothesis& h, double x) { h.sigma_early = x; }}}, noise, 0, 0, {},
                 [](auto p) { return fmt::format("Deviations are concentrated in the first tokens (extra sigma {} there): what another prompt or chat template would do.", with_interval(parameter(p, "early_sigma"), 3)); },
                 "a recomputation with the edited prompt"});
  Hypothesis sparse = honest;
  sparse.corrupt_top20 = true;
  all.push_back({ExplanationKind::sparse_corruption, sparse,
                 {{"share", 2e-4, 0.5, true, [](Hypothesis& h, double x) { h.corruption = x; }}}, noise, 0, 0, {},
                 [](auto p) { return fmt::format("A share of {} of the tokens was drawn by something else, and the others follow the seed with honest noise.", with_interval(parameter(p, "share"), 4)); },
                 "more tokens, and a look at where the deviating ones stand"});
  if (declared_temperature >= 1e-5) {
    all.push_back({ExplanationKind::temperature, honest,
                   {{"temperature", 0.3 * declared_temperature, 3.0 * declared_temperature, true,
                     [declared_temperature](Hypothesis& h, double x) { h.temperature_factor = x / declared_temperature; }}}, noise, 0, 0, {},
                   [declared_temperature](auto p) { return fmt::format("The seed was followed at temperature {} instead of the declared {:g}.", with_interval(parameter(p, "temperature"), 3), declared_temperature); },
                   "prompts with flatter distributions"});
    Hypothesis argmax = honest;
    argmax.choice = Hypothesis::Choice::argmax;
    argmax.corruption = 0.01;
    all.push_back({ExplanationKind::greedy, argmax, {}, {}, 0, 0, {},
                   [declared_temperature](auto) { return fmt::format("Tokens are the likeliest ones although temperature {:g} was declared.", declared_temperature); },
                   "prompts where several answers are likely"});
  }
  return all;
}

/// Explanations in which the declared seed plays no part.
std::vector<Candidate> seedless_candidates(const DiagnosisOptions& o) {
  Hypothesis blind;
  blind.choice = Hypothesis::Choice::unseeded;
  blind.sigma = blind.edge_sigma = o.honest_sigma;
  blind.corruption = o.honest_corruption;
  Hypothesis other = blind;
  other.corruption = 0.05;
  std::vector<Candidate> all;
  all.push_back({ExplanationKind::seed_ignored, blind, {}, {}, 0, 0, {},
                 [](auto) { return std::string("Tokens are plausible under the declared model and temperature, but do not depend on the declared seed: another seed, no seed, or a sampler that this version does not know."); },
                 "the engine's name and version, or a second run with the same seeds"});
  all.push_back({ExplanationKind::other_model, other,
                 {{"temperature_factor", 0.4, 4.0, true, [](Hypothesis& h, double x) { h.temperature_factor = x; }},
                  {"foreign_share", 1e-3, 0.95, true, [](Hypothesis& h, double x) { h.corruption = x; }}}, {}, 0, 0, {},
                 [](auto p) { return fmt::format("Tokens fit neither the seed nor the model well: as if flattened by a factor of {} with a share of {} foreign to it.", with_interval(parameter(p, "temperature_factor"), 2), with_interval(parameter(p, "foreign_share"), 3)); },
                 "recomputations with other candidate models"});
  return all;
}

/// The same seeds with another filter; the grid's size is paid for.
std::vector<Candidate> filter_candidates(const CandidateTable& table, const DiagnosisOptions& o, std::span<const float> noise, const Rows& all) {
  Hypothesis best, base;
  base.sigma = base.edge_sigma = o.honest_sigma;
  base.corruption = o.honest_corruption;
  double top = -INFINITY;
  int tried = 0;
  for (const int k : {-1, 0, 20, 40, 50, 64, 100})
    for (const double p : {-1.0, 1.0, 0.99, 0.95, 0.9, 0.8}) {
      if (k < 0 && p < 0) continue;
      Hypothesis h = base;
      h.top_k = k;
      h.top_p = p;
      ++tried;
      if (const double l = log_likelihood(table, noise, h, all); l > top) top = l, best = h;
    }
  std::vector<FittedParameter> named;
  const auto name = [&](const char* what, double value) { named.push_back({what, value, value, value, value < 0 ? "as declared" : ""}); };
  name("top_k", best.top_k);
  name("top_p", best.top_p);
  const auto told = fmt::format("{}{}", best.top_k < 0 ? "top-k as declared" : best.top_k == 0 ? "no top-k" : fmt::format("top-k {}", best.top_k),
                                best.top_p < 0 ? ", top-p as declared" : best.top_p >= 1 ? ", no top-p" : fmt::format(", top-p {:g}", best.top_p));
  Candidate c{ExplanationKind::filter, best, {}, noise, 2, std::log(tried), named,
              [told](auto) { return fmt::format("The seed was followed with another filter: {}.", told); }, "prompts with long tails"};
  return {std::move(c)};
}

Rows every(const CandidateTable& table, int parity) {
  Rows rows;
  for (std::size_t i = 0; i < table.size(); ++i)
    if (parity < 0 || table.request[i] % 2 == parity) rows.push_back(i);
  return rows;
}

/// Evenly spread over the table, so that one odd request cannot decide a screen.
Rows spread(const CandidateTable& table, std::size_t count) {
  Rows rows;
  const auto n = table.size();
  for (std::size_t j = 0; j < std::min(count, n); ++j) rows.push_back(j * n / std::min(count, n));
  return rows;
}

void rank(Diagnosis& diagnosis, double separation) {
  auto& all = diagnosis.explanations;
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.log_likelihood > b.log_likelihood; });
  // Among those that the data cannot tell apart, the one with fewer free parameters is named first.
  const auto near = std::find_if(all.begin(), all.end(), [&](const auto& e) { return all.front().log_likelihood - e.log_likelihood > separation; });
  std::stable_sort(all.begin(), near, [](const auto& a, const auto& b) { return a.parameters_fitted < b.parameters_fitted; });
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j)
      if (std::abs(all[i].log_likelihood - all[j].log_likelihood) <= separation) diagnosis.not_separable.emplace_back(all[i].kind, all[j].kind);
}

}  // namespace

std::string_view to_string(ExplanationKind kind) {
  switch (kind) {
    case ExplanationKind::honest: return "honest";
    case ExplanationKind::sampler: return "sampler";
    case ExplanationKind::temperature: return "temperature";
    case ExplanationKind::filter: return "filter";
    case ExplanationKind::seed_rule: return "seed-rule";
    case ExplanationKind::seed_ignored: return "seed-ignored";
    case ExplanationKind::greedy: return "greedy";
    case ExplanationKind::logit_noise: return "logit-noise";
    case ExplanationKind::position_trend: return "position-trend";
    case ExplanationKind::sparse_corruption: return "sparse-corruption";
    case ExplanationKind::prompt_mismatch: return "prompt-mismatch";
    case ExplanationKind::other_model: break;
  }
  return "other-model";
}

double nats_behind(const Diagnosis& diagnosis, const Explanation& explanation) {
  double best = explanation.log_likelihood;
  for (const auto& other : diagnosis.explanations) best = std::max(best, other.log_likelihood);
  return best - explanation.log_likelihood;
}

std::vector<ExplanationKind> inseparable_from(const Diagnosis& diagnosis, ExplanationKind kind) {
  std::vector<ExplanationKind> out;
  for (const auto& explanation : diagnosis.explanations)
    for (const auto& [a, b] : diagnosis.not_separable)
      if ((a == kind && b == explanation.kind) || (b == kind && a == explanation.kind)) out.push_back(explanation.kind);
  return out;
}

Diagnosis diagnose(std::string provider, std::span<const DiagnosisRequest> requests, const SamplerProfile* declared,
                   const DiagnosisOptions& options, std::stop_token stop) {
  Diagnosis diagnosis;
  diagnosis.provider = std::move(provider);
  diagnosis.separation = options.separation;
  const CandidateTable table = make_candidates(requests, options.max_tokens);
  diagnosis.tokens = table.size();
  if (table.size() == 0) return diagnosis;
  const Rows even = every(table, 0), odd = every(table, 1), all = every(table, -1), screen = spread(table, kScreened);
  const double temperature = table.sampling.front()->temperature;
  const bool greedy = table.sampling.front()->greedy();

  std::vector<float> noise, rule_noise, sampler_noise;
  std::vector<Candidate> candidates = seedless_candidates(options);
  if (greedy || (declared && declared->family == SamplerFamily::gumbel_max)) {
    if (!greedy) {
      noise = candidate_noise(table, requests, *declared, declared_seed(requests));
      diagnosis.exact_match = match_rate(table, noise, all);
    }
    for (auto& c : seeded_candidates(options, noise, temperature)) candidates.push_back(std::move(c));
    if (!greedy)
      for (auto& c : filter_candidates(table, options, noise, screen)) candidates.push_back(std::move(c));
  }
  const auto add_rule = [&](ExplanationKind kind, const std::optional<ScreenedRule>& found, std::vector<float>& store, const char* name, std::string text,
                            const char* separates) {
    if (!found || found->match < kRuleFits) return;
    store = candidate_noise(table, requests, *found->rule.profile, found->rule.rule, found->rule.shift);
    Hypothesis h;
    h.sigma = h.edge_sigma = options.honest_sigma;
    h.corruption = options.honest_corruption;
    candidates.push_back({kind, h, {}, store, 1, std::log(static_cast<double>(found->tried)), {{name, found->match, found->match, found->match, found->rule.name}},
                          [text](auto) { return text; }, separates});
  };
  // A rule is looked for only where the declared seed does not explain nearly everything already.
  if (!greedy && declared && !stop.stop_requested() && diagnosis.exact_match < 0.9) {
    const auto found = best_seed_rule(table, requests, *declared, screen);
    add_rule(ExplanationKind::seed_rule, found, rule_noise, "rule", found ? fmt::format("The tokens follow the declared model and sampler, but {}.", found->rule.name) : "",
             "the engine's own record of the seeds it used");
  }
  if (!greedy && !stop.stop_requested() && diagnosis.exact_match < 0.9) {
    const auto found = best_other_profile(table, requests, declared, screen);
    add_rule(ExplanationKind::sampler, found, sampler_noise, "profile",
             found ? fmt::format("The tokens follow the declared seeds under the sampler {} instead of the declared one.", found->rule.name) : "",
             "the engine's name and version");
  }
  for (const auto& candidate : candidates) {
    if (options.progress) options.progress(diagnosis.explanations.size(), candidates.size());
    Explanation judged = judge(table, candidate, even, odd, all, stop);
    if (stop.stop_requested()) break;
    diagnosis.explanations.push_back(std::move(judged));
  }
  if (!diagnosis.explanations.empty()) rank(diagnosis, options.separation);
  return diagnosis;
}

}  // namespace difr
