#include "core/sampling/identify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "core/scoring/evidence_view.h"
#include "core/scoring/inverse_cdf.h"
#include "core/scoring/token_race.h"
#include "core/statistics/intervals.h"

namespace difr {
namespace {

constexpr double kZ95 = 1.959963984540054;

/// One token of one request, processed under one order.
struct Position {
  const Claim* claim = nullptr;
  int t = 0;
  int vocab = 0;
  std::vector<TokenId> ids;
  std::vector<float> x, s;
  std::size_t claimed = 0;
  FilterCut cut;
  double temperature = 1.0;
  double rest_mass = 0.0;  ///< entries outside the candidates that survive, units exp(s - max s)
  std::vector<double> p;   ///< of the candidates, processed; 0 when filtered
  bool by_value = false;
};

/// Probabilities of the kept candidates; the rest is one lump.
void fill_probabilities(Position& at) {
  double top = kNoScore;
  for (std::size_t i = 0; i < at.x.size(); ++i) {
    if (at.x[i] >= at.cut.keep_min) top = std::max(top, static_cast<double>(at.s[i]));
  }
  at.p.assign(at.x.size(), 0.0);
  double total = at.rest_mass;
  for (std::size_t i = 0; i < at.x.size(); ++i) {
    if (!(at.x[i] >= at.cut.keep_min) || std::isinf(at.x[i])) continue;
    at.p[i] = std::exp(static_cast<double>(at.s[i]) - top);
    total += at.p[i];
  }
  for (double& p : at.p) p /= total;
}

std::vector<Position> prepare(std::span<const IdentifySample> samples, ProcessingOrder order, bool greedy,
                              const IdentifyOptions& options, std::size_t per_request) {
  std::vector<Position> out;
  const FilterTolerance tolerance{options.noise_sigma, 4.0, true};
  for (const auto& sample : samples) {
    EvidenceView view(*sample.claim, *sample.evidence, order, greedy);
    const std::size_t n = std::min({sample.evidence->size(), sample.claim->output.size(), per_request});
    for (std::size_t t = 0; t < n; ++t) {
      if (!view.load(t)) continue;
      Position at;
      at.claim = sample.claim;
      at.t = static_cast<int>(t);
      at.vocab = sample.evidence->vocab;
      at.ids.assign(view.ids().begin(), view.ids().end());
      at.x.assign(view.x().begin(), view.x().end());
      at.s.assign(view.s().begin(), view.s().end());
      at.claimed = view.claimed();
      at.cut = view.cuts(tolerance).first;
      at.temperature = view.temperature();
      at.by_value = view.plan().top_k > 0 || view.plan().top_p < 1.0;
      if (view.rest_count() > 0 && (at.cut.needs_more || view.rest_bound() >= at.cut.keep_min)) {
        const auto mass = view.rest_mass(*std::ranges::max_element(view.x()), view.temperature());
        at.rest_mass = std::sqrt(mass.low * mass.high);
      }
      fill_probabilities(at);
      out.push_back(std::move(at));
    }
  }
  return out;
}

struct Hypothesis {
  const SamplerProfile* profile = nullptr;
  ProcessingOrder order = ProcessingOrder::vllm;
  int shift = 0;
  ChildSeeds child_seeds = ChildSeeds::seed_plus_choice;
};

/// Counts matches of one hypothesis, and what independent noise would have matched.
class Tally {
 public:
  void add(const Position& at, TokenId winner, bool match) {
    const auto found = std::ranges::find(at.ids, winner);
    const double p = found == at.ids.end() ? 0.0 : at.p[static_cast<std::size_t>(found - at.ids.begin())];
    ++tokens_;
    matches_ += match ? 1 : 0;
    mean_ += p;
    variance_ += p * (1 - p);
  }
  [[nodiscard]] std::optional<SamplerCandidate> finish(const Hypothesis& h) const {
    if (tokens_ == 0) return std::nullopt;
    SamplerCandidate c{std::string(h.profile->id), h.order, h.shift, h.child_seeds, tokens_, matches_, 0, 0, 0, 0, 0};
    const auto n = static_cast<double>(tokens_), hits = static_cast<double>(matches_);
    c.match_rate = hits / n;
    const auto interval = wilson_interval(matches_, tokens_, 0.95);
    c.low = interval.low;
    c.high = interval.high;
    c.chance = mean_ / n;
    // One continuity unit keeps a handful of near-certain tokens from looking like evidence.
    c.z = (hits - mean_ - 0.5) / std::sqrt(variance_ + 0.25);
    return c;
  }

 private:
  std::size_t tokens_ = 0, matches_ = 0;
  double mean_ = 0.0, variance_ = 0.0;
};

bool wins(const Position& at, const Race& race) {
  if (race.winner == at.ids[at.claimed]) return true;
  return at.cut.claimed == Membership::edge && race.claimed >= race.rival;
}

std::optional<SamplerCandidate> try_greedy(const Hypothesis& h, std::span<const Position> positions) {
  Tally tally;
  for (const auto& at : positions) {
    const auto race = run_race({at.ids, at.x, at.s, {}}, at.claimed, at.cut, nullptr, 0);
    tally.add(at, race.winner, race.winner == at.ids[at.claimed]);
  }
  return tally.finish(h);
}

std::optional<SamplerCandidate> try_seeded(const Hypothesis& h, std::span<const Position> positions) {
  Tally tally;
  const Claim* current = nullptr;
  std::unique_ptr<NoiseSource> noise;
  std::unique_ptr<UniformSource> uniform;
  std::vector<double> g;
  for (const auto& at : positions) {
    if (!at.claim->seed) continue;
    if (at.claim != current) {
      current = at.claim;
      const NoiseKey key{.seed = *current->seed,
                         .prompt_len = static_cast<int>(current->prompt.size()),
                         .vocab = at.vocab,
                         .choice = h.child_seeds == ChildSeeds::seed_plus_choice ? current->choice : 0,
                         .shift = h.shift};
      noise = make_noise(*h.profile, key);
      uniform = make_uniform(*h.profile, key);
    }
    if (uniform != nullptr) {
      // In id order the running sum is unknown where evidence holds only the top of the row.
      const double u = uniform->at(at.t);
      if (std::isnan(u) || (!at.by_value && at.rest_mass > 0.0)) continue;
      const auto r = invert_cdf({at.ids, at.x, at.s, {}}, at.claimed, at.cut, u, at.by_value, at.rest_mass);
      tally.add(at, r.winner, r.winner == at.ids[at.claimed]);
      continue;
    }
    g.resize(at.ids.size());
    fill_noise(*noise, *h.profile, at.t, at.ids, at.x, g);
    if (std::isnan(g[at.claimed])) continue;
    const auto race = run_race({at.ids, at.x, at.s, g}, at.claimed, at.cut, nullptr, 0);
    tally.add(at, race.winner, wins(at, race));
  }
  return tally.finish(h);
}

/// Filters or penalties make the order of processing visible.
bool order_matters(std::span<const IdentifySample> samples) {
  return std::ranges::any_of(samples, [](const IdentifySample& s) {
    const auto& p = s.claim->sampling;
    return p.top_p < 1.0 || p.top_k > 0 || p.min_p > 0.0 || p.repetition_penalty != 1.0 || p.frequency_penalty != 0.0 ||
           p.presence_penalty != 0.0;
  });
}

Plausibility plausibility_of(std::span<const Position> positions) {
  Plausibility out;
  double surprise = 0.0, entropy = 0.0, variance = 0.0;
  for (const auto& at : positions) {
    if (at.cut.claimed == Membership::outside) {
      ++out.outside_filter;
      continue;
    }
    // The rest is one lump, so that its unknown inner distribution plays no part; a claimed token there counts as it.
    double h = 0.0, square = 0.0, kept = 0.0;
    const auto add = [&](double p) {
      if (p <= 0.0) return;
      h -= p * std::log(p);
      square += p * std::log(p) * std::log(p);
    };
    const std::size_t listed = at.rest_mass > 0.0 && at.claimed + 1 == at.ids.size() ? at.claimed : at.ids.size();
    for (std::size_t i = 0; i < listed; ++i) {
      add(at.p[i]);
      kept += at.p[i];
    }
    const double lump = std::max(0.0, 1.0 - kept);
    add(lump > 1e-9 ? lump : 0.0);
    const double own = at.claimed < listed ? at.p[at.claimed] : lump;
    ++out.tokens;
    // A token at the filter's edge has no probability of its own; it is as likely as the last one kept.
    double least = 1.0;
    for (const double p : at.p) {
      if (p > 0.0) least = std::min(least, p);
    }
    surprise -= std::log(own > 0.0 ? own : least);
    entropy += h;
    variance += std::max(0.0, square - h * h);
  }
  if (out.tokens == 0) return out;
  const auto n = static_cast<double>(out.tokens);
  out.mean_surprise = surprise / n;
  out.expected_entropy = entropy / n;
  const double half = kZ95 * std::sqrt(variance) / n;
  out.low = out.mean_surprise - out.expected_entropy - half;
  out.high = out.mean_surprise - out.expected_entropy + half;
  // Four standard deviations, and a share of excluded tokens that honest noise at the cut can explain.
  const double z = (surprise - entropy) / std::sqrt(variance + 1e-12);
  out.plausible = std::abs(z) < 4.0 && static_cast<double>(out.outside_filter) <= 0.002 * n;
  return out;
}

std::string sentence(const Identification& r) {
  if (r.candidates.empty()) return "no profile could be tested: the records carry no seed";
  const auto& best = r.candidates.front();
  const auto rate = [](const SamplerCandidate& c) {
    return fmt::format("{:.1f} % ({:.1f}-{:.1f}; {:.1f} % by chance)", 100 * c.match_rate, 100 * c.low, 100 * c.high,
                       100 * c.chance);
  };
  switch (r.conclusion) {
    case Conclusion::unique:
      return fmt::format("{} explains {} of {} tokens", best.profile, rate(best), best.tokens);
    case Conclusion::ambiguous:
      return fmt::format("more than one sampler fits: {} {} and {} {}", best.profile, rate(best),
                         r.candidates[1].profile, rate(r.candidates[1]));
    case Conclusion::none:
      break;
  }
  return fmt::format(
      "no known sampler explains these tokens; the nearest, {}, matches {}. Without the seed the tokens are {} "
      "under the model",
      best.profile, rate(best), r.plausibility.plausible ? "plausible" : "not plausible");
}

/// A rival that fits just as well under a really different reading of the seed.
Conclusion conclude(std::span<const SamplerCandidate> candidates, double significance) {
  if (candidates.empty() || candidates[0].z < significance) return Conclusion::none;
  const auto& best = candidates[0];
  for (const auto& c : candidates.subspan(1)) {
    const bool same_noise = c.profile == best.profile && c.shift == best.shift && c.child_seeds == best.child_seeds;
    if (!same_noise && c.z >= significance && c.high >= best.low) return Conclusion::ambiguous;
  }
  return Conclusion::unique;
}

}  // namespace

const char* to_string(ChildSeeds rule) {
  return rule == ChildSeeds::seed_plus_choice ? "seed+choice" : "same seed";
}

const char* to_string(Conclusion conclusion) {
  switch (conclusion) {
    case Conclusion::unique:
      return "unique";
    case Conclusion::ambiguous:
      return "ambiguous";
    case Conclusion::none:
      return "none";
  }
  return "?";
}

Identification identify_sampler(std::span<const IdentifySample> samples, const IdentifyOptions& options) {
  Identification out;
  if (samples.empty()) return out;
  // Few tokens of many requests: a request that was tampered with then weighs little.
  const std::size_t share = std::max<std::size_t>(8, (options.max_tokens + samples.size() - 1) / samples.size());
  std::vector<IdentifySample> used;
  std::size_t tokens = 0;
  const std::size_t stride =
      std::max<std::size_t>(1, samples.size() * share / std::max<std::size_t>(options.max_tokens, 1));
  for (std::size_t i = 0; i < samples.size() && tokens < options.max_tokens; i += stride) {
    used.push_back(samples[i]);
    tokens += std::min(share, samples[i].evidence->size());
  }
  const bool children = std::ranges::any_of(used, [](const IdentifySample& s) { return s.claim->choice != 0; });
  const bool foreign = options.all_orders && order_matters(used);

  std::map<ProcessingOrder, std::vector<Position>> prepared;
  const auto positions = [&](ProcessingOrder order) -> const std::vector<Position>& {
    auto [at, fresh] = prepared.try_emplace(order);
    if (fresh) at->second = prepare(used, order, false, options, share);
    return at->second;
  };
  const bool declared_greedy =
      std::ranges::all_of(used, [](const IdentifySample& s) { return s.claim->sampling.greedy(); });

  for (const auto& profile : sampler_profiles()) {
    if (!reproducible(profile)) {
      out.not_tested.push_back(fmt::format("{}: needs {}", profile.id, profile.missing));
      continue;
    }
    Hypothesis h{&profile, profile.order, 0, ChildSeeds::seed_plus_choice};
    if (profile.family == SamplerFamily::greedy) {
      auto rows = prepare(used, profile.order, true, options, share);
      out.tokens = rows.size();
      if (auto c = try_greedy(h, rows)) out.candidates.push_back(*c);
      continue;
    }
    if (declared_greedy) continue;
    std::vector<ProcessingOrder> orders{profile.order};
    if (foreign) {
      for (const auto o :
           {ProcessingOrder::vllm, ProcessingOrder::hugging_face, ProcessingOrder::llama_cpp, ProcessingOrder::mlx}) {
        if (o != profile.order) orders.push_back(o);
      }
    }
    bool tested = false;
    for (const auto order : orders) {
      h.order = order;
      for (const auto rule : {ChildSeeds::seed_plus_choice, ChildSeeds::same_seed}) {
        if (rule == ChildSeeds::same_seed && !children) continue;
        h.child_seeds = rule;
        for (const int shift : options.shifts) {
          // Foreign orders only at the natural alignment: the product would test noise, not hypotheses.
          if (order != profile.order && shift != 0) continue;
          h.shift = shift;
          if (auto c = try_seeded(h, positions(order))) {
            out.candidates.push_back(*c);
            tested = true;
          }
        }
      }
    }
    if (!tested)
      out.not_tested.push_back(fmt::format("{}: no token had what it needs ({})", profile.id, profile.needs));
  }
  std::ranges::stable_sort(out.candidates, [](const SamplerCandidate& a, const SamplerCandidate& b) {
    return a.match_rate != b.match_rate ? a.match_rate > b.match_rate : a.z > b.z;
  });
  out.plausibility = plausibility_of(positions(ProcessingOrder::vllm));
  out.conclusion = conclude(out.candidates, options.significance);
  out.text = sentence(out);
  return out;
}

std::vector<WindowIdentification> identify_windows(std::span<const IdentifySample> samples, std::size_t windows,
                                                   const IdentifyOptions& options) {
  std::vector<WindowIdentification> out;
  const std::size_t n = std::min(std::max<std::size_t>(windows, 1), samples.size());
  for (std::size_t w = 0; w < n; ++w) {
    const std::size_t first = samples.size() * w / n, last = samples.size() * (w + 1) / n;
    out.push_back({first, last, identify_sampler(samples.subspan(first, last - first), options)});
  }
  return out;
}

}  // namespace difr
