#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/sampling/filter.h"
#include "core/sampling/processing.h"
#include "core/scoring/evidence_row.h"
#include "core/scoring/inverse_cdf.h"
#include "core/scoring/token_difr.h"
#include "core/scoring/token_race.h"
#include "core/util/error.h"

namespace difr {
namespace {

constexpr float kOut = -std::numeric_limits<float>::infinity();

/// The largest `n` finite values in descending order, and the masses of the rest.
class RowHeadBuilder {
 public:
  RowHeadBuilder(std::span<const float> x, double temperature) : x_(x), temperature_(temperature) {
    largest_ = *std::ranges::max_element(x);
    for (const float v : x) {
      if (v == kOut) continue;
      ++finite_;
      const double w = std::exp((static_cast<double>(v) - largest_) / temperature);
      mass_ += w;
      square_ += w * w;
    }
  }
  [[nodiscard]] std::size_t finite() const { return finite_; }
  RowHead head(std::size_t n) {
    n = std::min(n, finite_);
    sorted_.assign(x_.begin(), x_.end());
    std::nth_element(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(n - 1), sorted_.end(),
                     std::greater<>{});
    sorted_.resize(n);
    std::ranges::sort(sorted_, std::greater<>{});
    double mass = 0.0, square = 0.0;
    for (const double v : sorted_) {
      const double w = std::exp((v - largest_) / temperature_);
      mass += w;
      square += w * w;
    }
    return {sorted_, finite_ - n, std::max(0.0, mass_ - mass), std::max(0.0, square_ - square)};
  }
  [[nodiscard]] double mass_above(double value) const {
    double mass = 0.0;
    for (const float v : x_) {
      if (v > value) mass += std::exp((static_cast<double>(v) - largest_) / temperature_);
    }
    return mass;
  }

 private:
  std::span<const float> x_;
  double temperature_;
  double largest_ = 0.0, mass_ = 0.0, square_ = 0.0;
  std::size_t finite_ = 0;
  std::vector<double> sorted_;
};

}  // namespace

struct RowScorer::Impl {
  Impl(const Claim& c, const SamplerProfile& p, int v, const ScoreOptions& options)
      : profile(p),
        output(c.output),
        vocab(static_cast<std::size_t>(v)),
        processing(p.order, c.sampling, c.prompt),
        plan(make_filter_plan(p.order, c.sampling)),
        tolerance{options.noise_sigma, options.edge_z, options.bf16_logits} {
    const double t = effective_temperature(p.order, c.sampling.temperature);
    greedy = p.family == SamplerFamily::greedy || t == 0.0;
    temperature = greedy ? 1.0 : t;
    if (greedy) {
      plan = FilterPlan{};
    } else if (c.seed) {
      const NoiseKey key{
          .seed = *c.seed, .prompt_len = static_cast<int>(c.prompt.size()), .vocab = v, .choice = c.choice};
      noise = make_noise(p, key);
      uniform = make_uniform(p, key);
    }
  }

  FilterCut cut(std::span<const float> row, float own) const {
    const ClaimedEntry y{own, std::nullopt};
    const double top[] = {static_cast<double>(own)};
    if (!plan.active()) return cut_row(plan, tolerance, {top}, y);
    RowHeadBuilder builder(row, plan.temperature);
    if (builder.finite() == 0) return cut_row({}, tolerance, {top}, y);
    for (std::size_t n = 256;; n *= 16) {
      const auto head = builder.head(n);
      ClaimedEntry claimed = y;
      if (head.rest_count > 0 && own < head.values.back()) claimed.mass_above = builder.mass_above(own);
      const auto result = cut_row(plan, tolerance, head, claimed);
      if (!result.needs_more || head.rest_count == 0) return result;
    }
  }

  void race(RaceEntries entries, const RawMetrics& raw, std::size_t y, const FilterCut& cut_here) {
    const auto t = static_cast<int>(scores.size());
    const auto claimed = static_cast<TokenId>(y);
    if (!greedy) {
      g.resize(vocab);
      fill_noise(*noise, profile, t, {}, entries.x, g);
      entries.g = g;
    }
    // By rank the exact values cannot be asked by id; rows of such profiles are exact already.
    NoiseSource* exact = greedy || profile.column_is_rank ? nullptr : noise.get();
    append_scores(scores, raw, cut_here, run_race(entries, y, cut_here, exact, t), claimed, temperature, greedy);
    if (!greedy) widen_by_uncertainty(scores, entries, y, cut_here, *noise, temperature);
  }

  SamplerProfile profile;
  std::vector<TokenId> output;
  std::size_t vocab;
  LogitProcessing processing;
  FilterPlan plan;
  FilterTolerance tolerance;
  bool greedy = false;
  double temperature = 1.0;
  std::unique_ptr<NoiseSource> noise;
  std::unique_ptr<UniformSource> uniform;
  TokenScores scores;
  std::vector<float> x, s;
  std::vector<double> g;
};

RowScorer::RowScorer(const Claim& claim, const SamplerProfile& profile, int vocab, const ScoreOptions& options)
    : impl_(std::make_unique<Impl>(claim, profile, vocab, options)) {}
RowScorer::~RowScorer() = default;
RowScorer::RowScorer(RowScorer&&) noexcept = default;

void RowScorer::add(std::span<const float> logits) {
  Impl& m = *impl_;
  const std::size_t t = m.scores.size();
  if (logits.size() != m.vocab) {
    throw bad_input("logits", fmt::format("a row of {} entries where {} were announced", logits.size(), m.vocab));
  }
  if (t >= m.output.size()) throw bad_input("logits", "more rows than claimed output tokens");
  const TokenId claimed = m.output[t];
  const auto y = static_cast<std::size_t>(claimed);
  const auto row = summarise_row(logits, claimed);
  if (!row.finite) {
    append_refused(m.scores);
    m.processing.emit(claimed);
    return;
  }
  const RawMetrics raw{static_cast<double>(logits[y]) - row.log_sum_exp, row.claimed_rank};
  std::span<const float> x = logits;
  if (!m.processing.neutral()) {
    m.x.assign(logits.begin(), logits.end());
    m.processing.apply(m.x);
    x = m.x;
  }
  std::span<const float> s = x;
  if (m.temperature != 1.0) {
    m.s.resize(x.size());
    const auto divisor = static_cast<float>(m.temperature);
    for (std::size_t i = 0; i < x.size(); ++i) m.s[i] = x[i] / divisor;
    s = m.s;
  }
  const auto cut = m.cut(x, x[y]);
  const RaceEntries entries{{}, x, s, {}};
  if (m.uniform != nullptr) {
    const bool by_value = m.plan.top_k > 0 || m.plan.top_p < 1.0;
    const auto result = invert_cdf(entries, y, cut, m.uniform->at(static_cast<int>(t)), by_value, 0.0);
    append_cdf_scores(m.scores, raw, cut, result, claimed);
  } else if (!m.greedy && m.noise == nullptr) {
    append_without_noise(m.scores, raw, cut);
  } else {
    m.race(entries, raw, y, cut);
  }
  m.processing.emit(claimed);
}

const TokenScores& RowScorer::scores() const {
  return impl_->scores;
}
TokenScores RowScorer::take() {
  return std::move(impl_->scores);
}

}  // namespace difr
