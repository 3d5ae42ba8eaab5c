#include "core/statistics/power.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/statistics/counter_rng.h"
#include "core/statistics/quantile.h"
#include "core/util/error.h"

namespace difr {

namespace {

using Members = std::span<const std::size_t>;  // requests of one bootstrap resample

/// Draws pools; token draws need to find the request of a token, hence the cumulated lengths.
class Pooler {
 public:
  Pooler(const TokenFeatures& provider, Members members) : provider_(provider), members_(members) {
    std::size_t total = 0;
    for (const std::size_t member : members) ends_.push_back(total += provider.tokens(member));
  }

  void draw(std::size_t tokens, Pooling pooling, CounterRng& rng, std::span<double> sums) const {
    if (pooling == Pooling::tokens) {
      for (std::size_t i = 0; i < tokens; ++i) {
        const std::size_t token = rng.below(ends_.back());
        const auto slot = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), token) - ends_.begin());
        const std::size_t from = token - (slot == 0 ? 0 : ends_[slot - 1]);
        provider_.add_range(members_[slot], from, from + 1, sums);
      }
      return;
    }
    for (std::size_t left = tokens; left > 0;) {
      const std::size_t member = members_[rng.below(members_.size())];
      const std::size_t length = provider_.tokens(member);
      // A pool that ends within a request takes a stretch from anywhere in it, so that no position is preferred.
      const std::size_t taken = std::min(left, length);
      const std::size_t from = rng.below(length - taken + 1);
      provider_.add_range(member, from, from + taken, sums);
      left -= taken;
    }
  }

 private:
  const TokenFeatures& provider_;
  Members members_;
  std::vector<std::size_t> ends_;
};

std::vector<double> pool_scores(const TokenFeatures& provider, Members members, std::size_t tokens, Pooling pooling,
                                int pools, std::uint64_t seed, std::uint64_t stream, const PoolScore& score) {
  const Pooler pooler(provider, members);
  std::vector<double> scores(static_cast<std::size_t>(pools));
  std::vector<double> sums(provider.features());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    CounterRng rng(seed, stream, i);
    std::fill(sums.begin(), sums.end(), 0.0);
    pooler.draw(tokens, pooling, rng, sums);
    for (double& sum : sums) sum /= static_cast<double>(tokens);
    scores[i] = score ? score(sums) : sums[0];
  }
  return scores;
}

std::vector<std::size_t> all_requests(const TokenFeatures& provider) {
  std::vector<std::size_t> members(provider.requests());
  std::iota(members.begin(), members.end(), std::size_t{0});
  return members;
}

std::vector<std::size_t> resampled_requests(const TokenFeatures& provider, std::uint64_t seed, std::uint64_t stream,
                                            std::uint64_t index) {
  CounterRng rng(seed, stream, index);
  std::vector<std::size_t> members(provider.requests());
  for (std::size_t& member : members) member = rng.below(provider.requests());
  return members;
}

}  // namespace

void TokenFeatures::add_request(std::span<const double> values) {
  if (features_ == 0 || values.size() % features_ != 0)
    throw bad_input("power", "a request's scores do not fill its tokens");
  if (values.empty()) return;
  for (const double value : values) {
    if (!std::isfinite(value)) throw bad_input("power", "a score is not finite", "clip margins first");
  }
  starts_.push_back(prefix_.size() / features_);
  lengths_.push_back(values.size() / features_);
  total_ += lengths_.back();
  prefix_.insert(prefix_.end(), features_, 0.0);
  for (const double value : values) prefix_.push_back(prefix_[prefix_.size() - features_] + value);
}

void TokenFeatures::add_range(std::size_t request, std::size_t from, std::size_t to, std::span<double> sums) const {
  const double* low = prefix_.data() + (starts_[request] + from) * features_;
  const double* high = prefix_.data() + (starts_[request] + to) * features_;
  for (std::size_t f = 0; f < features_; ++f) sums[f] += high[f] - low[f];
}

std::vector<double> pooled_scores(const TokenFeatures& provider, std::size_t tokens, Pooling pooling, int pools,
                                  std::uint64_t seed, std::uint64_t stream, const PoolScore& score) {
  if (provider.requests() == 0 || tokens == 0 || pools < 1)
    throw bad_input("power", "needs requests, tokens and pools");
  const std::vector<std::size_t> members = all_requests(provider);
  return pool_scores(provider, members, tokens, pooling, pools, seed, stream, score);
}

std::vector<PowerPoint> power_by_tokens(const TokenFeatures& trusted, const TokenFeatures& untrusted,
                                        const PowerOptions& options, const PoolScore& score) {
  if (trusted.requests() == 0 || untrusted.requests() == 0)
    throw bad_input("power", "a provider has no scored requests");
  if (trusted.features() != untrusted.features()) throw bad_input("power", "the providers have different scores");
  if (options.pools < 1) throw bad_input("power", "needs at least one pool");
  std::vector<PowerPoint> points;
  for (const std::size_t tokens : options.budgets) {
    if (tokens == 0) throw bad_input("power", "a budget must be positive");
    const auto curve = [&](Members first, Members second, std::uint64_t round) {
      const std::uint64_t stream = 2 * (tokens + 1'000'003 * round);
      const auto a = pool_scores(trusted, first, tokens, options.pooling, options.pools, options.seed, stream, score);
      const auto b =
          pool_scores(untrusted, second, tokens, options.pooling, options.pools, options.seed, stream + 1, score);
      return roc_curve(a, b, options.positive);
    };
    const RocCurve roc = curve(all_requests(trusted), all_requests(untrusted), 0);
    PowerPoint point;
    point.tokens = tokens;
    point.auc = auc(roc);
    point.partial_auc = partial_auc(roc, 0.01);
    point.tpr_1 = tpr_at_fpr(roc, 0.01);
    point.tpr_001 = tpr_at_fpr(roc, 0.0001);
    std::vector<double> aucs;
    std::vector<double> partials;
    for (int b = 0; b < options.bootstraps; ++b) {
      const auto index = static_cast<std::uint64_t>(b);
      const auto first = resampled_requests(trusted, options.seed, 41, index);
      const auto second = resampled_requests(untrusted, options.seed, 43, index);
      const RocCurve resampled = curve(first, second, index + 1);
      aucs.push_back(auc(resampled));
      partials.push_back(partial_auc(resampled, 0.01));
    }
    const double tail = (1 - options.confidence) / 2;
    point.auc_band =
        aucs.empty() ? Interval{point.auc, point.auc} : Interval{quantile(aucs, tail), quantile(aucs, 1 - tail)};
    point.partial_auc_band = partials.empty() ? Interval{point.partial_auc, point.partial_auc}
                                              : Interval{quantile(partials, tail), quantile(partials, 1 - tail)};
    points.push_back(point);
  }
  return points;
}

}  // namespace difr
