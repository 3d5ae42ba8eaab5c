#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "core/sampling/filter.h"
#include "core/sampling/processing.h"
#include "core/scoring/evidence_row.h"
#include "core/scoring/inverse_cdf.h"
#include "core/scoring/scoring_rows.h"
#include "core/scoring/token_difr.h"
#include "core/scoring/token_race.h"
#include "core/util/error.h"

namespace difr {
namespace {

constexpr float kOut = -std::numeric_limits<float>::infinity();

/// Parts of a row in descending order, found by buckets of falling logit instead of a sort of the whole row.
class RowHeadBuilder {
 public:
  RowHeadBuilder(std::span<const float> x, double temperature, std::vector<double>& weights,
                 std::vector<std::int32_t>& buckets)
      : x_(x), temperature_(temperature), weights_(weights), buckets_(buckets) {
    const auto level = vector_level();
    largest_ = row_extent(level, x, 0.0F).largest;
    if (largest_ == kOut) return;
    weights_.resize(x.size());
    buckets_.resize(x.size());
    row_weights(level, x, largest_, temperature, weights_);
    row_buckets(level, x, largest_, kPerLogit, kBuckets - 1, buckets_);
    for (std::size_t i = 0; i < x.size(); ++i) {
      auto& b = sums_[static_cast<std::size_t>(buckets_[i])];
      const double w = weights_[i];
      b.count += x[i] != kOut ? 1 : 0;
      b.mass += w;
      b.square += w * w;
    }
    for (const auto& b : sums_) total_ += b;
  }
  [[nodiscard]] std::size_t finite() const { return total_.count; }
  [[nodiscard]] const std::vector<double>& weights() const { return weights_; }

  /// At least the n largest values.
  RowHead head(std::size_t n) {
    Sums inside;
    int last = -1;
    while (inside.count < std::min(n, total_.count)) inside += sums_[static_cast<std::size_t>(++last)];
    return window(0, last, {}, inside);
  }
  /// The buckets around the one in which `mass` (a share of the whole) is reached; `reach` buckets to either side.
  RowHead around(double mass, int reach) {
    Sums above;
    int crossing = 0;
    while (crossing + 1 < kBuckets && above.mass + sum_at(crossing).mass < mass * total_.mass)
      above += sum_at(crossing++);
    const int first = std::max(0, crossing - reach), last = std::min(kBuckets - 1, crossing + reach);
    Sums before, inside;
    for (int b = 0; b < first; ++b) before += sum_at(b);
    for (int b = first; b <= last; ++b) inside += sum_at(b);
    return window(before.count > 0 ? first : 0, last, before, inside);
  }
  [[nodiscard]] double largest() const { return largest_; }
  [[nodiscard]] static int reach_of(double logits) { return static_cast<int>(logits * kPerLogit) + 2; }
  /// Share of the mass that the n largest values (whole buckets of them) hold.
  [[nodiscard]] double share_of_head(std::size_t n) const {
    Sums inside;
    for (int b = 0; inside.count < std::min(n, total_.count); ++b) inside += sum_at(b);
    return inside.mass / total_.mass;
  }
  [[nodiscard]] double mass_above(double value) {
    if (above_) return *above_;
    double mass = 0.0;
    for (std::size_t i = 0; i < x_.size(); ++i) mass += x_[i] > value ? weights_[i] : 0.0;
    above_ = mass;
    return mass;
  }

 private:
  static constexpr int kBuckets = 2048;
  static constexpr float kPerLogit = 64.0F;
  struct Sums {
    std::size_t count = 0;
    double mass = 0.0, square = 0.0;
    Sums& operator+=(const Sums& o) {
      count += o.count;
      mass += o.mass;
      square += o.square;
      return *this;
    }
  };
  [[nodiscard]] const Sums& sum_at(int b) const { return sums_[static_cast<std::size_t>(b)]; }

  RowHead window(int first, int last, const Sums& above, const Sums& inside) {
    sorted_.clear();
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (buckets_[i] >= first && buckets_[i] <= last && x_[i] != kOut) sorted_.push_back(x_[i]);
    }
    std::ranges::sort(sorted_, std::greater<>{});
    RowHead out{.values = sorted_, .rest_count = total_.count - above.count - inside.count};
    for (int b = last + 1; b < kBuckets; ++b) {
      out.rest_mass += sum_at(b).mass;
      out.rest_square += sum_at(b).square;
    }
    out.above_count = above.count;
    out.above_mass = above.mass;
    out.above_square = above.square;
    out.top = largest_;
    return out;
  }

  std::span<const float> x_;
  double temperature_;
  std::vector<double>& weights_;
  std::vector<std::int32_t>& buckets_;
  float largest_ = 0.0F;
  std::array<Sums, kBuckets> sums_{};
  Sums total_;
  std::vector<double> sorted_;
  std::optional<double> above_;  ///< of the one value asked for
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

  struct Processed {
    std::span<const float> x, s;  ///< before and after temperature
  };
  Processed process(std::span<const float> logits) {
    std::span<const float> in = logits;
    if (!processing.neutral()) {
      x.assign(logits.begin(), logits.end());
      processing.apply(x);
      in = x;
    }
    if (temperature == 1.0) return {in, in};
    s.resize(in.size());
    row_divide(vector_level(), in, static_cast<float>(temperature), s);
    return {in, s};
  }

  void expect_width(std::span<const float> logits) const {
    if (logits.size() != vocab)
      throw bad_input("logits", fmt::format("a row of {} entries where {} were announced", logits.size(), vocab));
  }

  FilterCut cut(std::span<const float> row, float own) {
    const ClaimedEntry y{own, std::nullopt};
    const double top[] = {static_cast<double>(own)};
    if (!plan.active()) return cut_row(plan, tolerance, {.values = top}, y);
    RowHeadBuilder builder(row, plan.temperature, weights, buckets);
    if (builder.finite() == 0) return cut_row({}, tolerance, {.values = top}, y);
    const auto attempt = [&](const RowHead& head) {
      ClaimedEntry claimed = y;
      if (!head.values.empty() && own < head.values.back()) claimed.mass_above = builder.mass_above(own);
      return cut_row(plan, tolerance, head, claimed);
    };
    RowHead head;
    FilterCut result;
    const bool flat = plan.top_p < 1.0 && builder.share_of_head(256) < plan.top_p;
    if (!flat) {
      head = builder.head(256);
      result = attempt(head);
      if (!result.needs_more || head.rest_count == 0) return result;
    }
    // A flat row under top-p alone: the cut lies far down, and only its surroundings need sorting.
    if (plan.top_k == 0 && plan.min_p == 0.0) {
      // Wide enough for the tolerance at the cut; once more, wider, for cuts with few entries around them.
      const int near = builder.reach_of(tolerance.logits(builder.largest()));
      for (const int reach : {near, 4 * near}) {
        head = builder.around(plan.top_p, reach);
        if (head.values.empty()) continue;
        result = attempt(head);
        if (!result.needs_more) return result;
      }
    }
    for (std::size_t n = 4096;; n *= 16) {
      head = builder.head(n);
      result = attempt(head);
      if (!result.needs_more || head.rest_count == 0) return result;
    }
  }

  Race race_of(RaceEntries& entries, std::size_t y, const FilterCut& cut_here, int t) {
    if (!greedy) {
      g.resize(vocab);
      fill_noise(*noise, profile, t, {}, entries.x, g);
      entries.g = g;
    }
    // By rank the exact values cannot be asked by id; rows of such profiles are exact already.
    NoiseSource* exact = greedy || profile.column_is_rank ? nullptr : noise.get();
    return run_race(entries, y, cut_here, exact, t);
  }

  void race(RaceEntries entries, const RawMetrics& raw, std::size_t y, const FilterCut& cut_here) {
    const auto outcome = race_of(entries, y, cut_here, static_cast<int>(scores.size()));
    append_scores(scores, raw, cut_here, outcome, static_cast<TokenId>(y), temperature, greedy);
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
  int drawn = 0;
  std::vector<float> x, s;
  std::vector<double> g, weights;
  std::vector<std::int32_t> buckets;
};

RowScorer::RowScorer(const Claim& claim, const SamplerProfile& profile, int vocab, const ScoreOptions& options)
    : impl_(std::make_unique<Impl>(claim, profile, vocab, options)) {}
RowScorer::~RowScorer() = default;
RowScorer::RowScorer(RowScorer&&) noexcept = default;

void RowScorer::add(std::span<const float> logits) {
  Impl& m = *impl_;
  const std::size_t t = m.scores.size();
  m.expect_width(logits);
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
  const auto [x, s] = m.process(logits);
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

std::optional<TokenId> RowScorer::draw(std::span<const float> logits) {
  Impl& m = *impl_;
  m.expect_width(logits);
  if (!m.greedy && m.noise == nullptr && m.uniform == nullptr)
    throw Error(ExitCode::usage, "sampler", "cannot draw without a reproducible profile and a seed",
                "name a profile of `difr-audit samplers` and give seeds, or sample at temperature 0");
  if (!row_extent(vector_level(), logits, 0.0F).sound) return std::nullopt;
  const auto [x, s] = m.process(logits);
  const auto best = static_cast<std::size_t>(std::ranges::max_element(x) - x.begin());
  if (x[best] == kOut) return std::nullopt;
  const auto cut = m.cut(x, x[best]);
  RaceEntries entries{{}, x, s, {}};
  const int t = m.drawn++;
  TokenId winner = -1;
  if (m.uniform != nullptr) {
    const bool by_value = m.plan.top_k > 0 || m.plan.top_p < 1.0;
    winner = invert_cdf(entries, best, cut, m.uniform->at(t), by_value, 0.0).winner;
  } else {
    winner = m.race_of(entries, best, cut, t).winner;
  }
  if (winner < 0) return std::nullopt;
  m.processing.emit(winner);
  return winner;
}

const TokenScores& RowScorer::scores() const {
  return impl_->scores;
}
TokenScores RowScorer::take() {
  return std::move(impl_->scores);
}

}  // namespace difr
