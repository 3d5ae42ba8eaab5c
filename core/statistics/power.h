#pragma once
// Power against the number of tokens: how well would pools of n tokens tell two providers apart?

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/statistics/intervals.h"
#include "core/statistics/roc.h"

namespace difr {

/// Per-token scores of one provider, grouped by request; F features per token (F = 1 for a plain score).
class TokenFeatures {
 public:
  explicit TokenFeatures(std::size_t features) : features_(features) {}
  /// `values`: tokens x features of one request; empty requests are skipped. NaN or infinities throw difr::Error.
  void add_request(std::span<const double> values);
  [[nodiscard]] std::size_t features() const { return features_; }
  [[nodiscard]] std::size_t requests() const { return starts_.size(); }
  [[nodiscard]] std::size_t tokens(std::size_t request) const { return lengths_[request]; }
  [[nodiscard]] std::size_t tokens() const { return total_; }
  /// Adds the sums over tokens [from, to) of a request.
  void add_range(std::size_t request, std::size_t from, std::size_t to, std::span<double> sums) const;

 private:
  std::size_t features_;
  std::size_t total_ = 0;
  std::vector<std::size_t> starts_;  ///< row of the request's first prefix sum
  std::vector<std::size_t> lengths_;
  std::vector<double> prefix_;  ///< (tokens + 1) x features per request
};

/// How a pool of n tokens is drawn.
enum class Pooling {
  requests,  ///< whole stretches of randomly drawn requests: keeps the dependence within a request
  tokens     ///< single tokens drawn at random, as the paper's shuffled buckets
};

struct PowerOptions {
  std::vector<std::size_t> budgets = {1, 3, 10, 30, 100, 300, 1000, 3000};
  Pooling pooling = Pooling::requests;
  PositiveClass positive = PositiveClass::untrusted;
  int pools = 2000;      ///< per provider and budget
  int bootstraps = 100;  ///< over requests, for the bands; 0: no bands
  double confidence = 0.95;
  std::uint64_t seed = 20261201;
};

struct PowerPoint {
  std::size_t tokens = 0;
  double auc = 0.5;
  double partial_auc = 0.5;  ///< standardised, FPR <= 1 %
  double tpr_1 = 0;          ///< TPR at FPR <= 1 %
  double tpr_001 = 0;        ///< TPR at FPR <= 0.01 %; needs 10,000 pools to be above the resolution
  Interval auc_band;
  Interval partial_auc_band;
};

/// Mean features of a pool to one score, higher = less like the trusted runs. Default: the first feature.
using PoolScore = std::function<double(std::span<const double> means)>;

/// One point per budget. Deterministic given the seed. Throws difr::Error on empty or unlike inputs.
[[nodiscard]] std::vector<PowerPoint> power_by_tokens(const TokenFeatures& trusted, const TokenFeatures& untrusted,
                                                      const PowerOptions& options, const PoolScore& score = {});

/// Pool scores themselves, for distributions; stream separates the providers.
[[nodiscard]] std::vector<double> pooled_scores(const TokenFeatures& provider, std::size_t tokens, Pooling pooling,
                                                int pools, std::uint64_t seed, std::uint64_t stream,
                                                const PoolScore& score = {});

}  // namespace difr
