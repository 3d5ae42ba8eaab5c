#pragma once
// What an engine does to raw logits before it draws: masks, bias, penalties, temperature, and the filter plan.

#include <span>
#include <unordered_map>
#include <vector>

#include "core/domain/claim.h"
#include "core/sampling/filter.h"
#include "core/sampling/profile.h"

namespace difr {

/// Temperature as the engine of `order` applies it; 0 means greedy. vLLM: below 1e-5 greedy, below 0.01 raised to 0.01.
[[nodiscard]] double effective_temperature(ProcessingOrder order, double temperature);

/// Filters in the order and at the temperature at which the engine of `order` applies them.
[[nodiscard]] FilterPlan make_filter_plan(ProcessingOrder order, const SamplingParams& sampling);

/// Masks, bias and penalties of one sequence; advance it with emit() after each token. Raw logits in, processed logits
/// (before temperature) out. Pure per entry, so single entries can be asked as well as rows.
class LogitProcessing {
 public:
  LogitProcessing(ProcessingOrder order, const SamplingParams& sampling, std::span<const TokenId> prompt);

  /// True when apply() is the identity for every entry at this step.
  [[nodiscard]] bool neutral() const;
  void apply(std::span<float> row) const;
  [[nodiscard]] float apply(TokenId id, float raw) const;
  /// Appends the token that was sampled.
  void emit(TokenId id);
  /// Entries that apply() may change, ascending; everything else passes unchanged unless allowed_only().
  [[nodiscard]] std::vector<TokenId> touched() const;
  /// Non-empty: only these entries survive, everything else is -inf.
  [[nodiscard]] std::span<const TokenId> allowed_only() const { return allowed_; }

 private:
  struct Count {
    int prompt = 0;
    int output = 0;
  };
  [[nodiscard]] bool penalised() const;
  [[nodiscard]] float penalise(float x, const Count& count) const;
  [[nodiscard]] bool suppressed(TokenId id) const;
  void count(TokenId id, bool output);

  ProcessingOrder order_;
  double repetition_, frequency_, presence_;
  int min_tokens_;
  std::vector<std::pair<TokenId, double>> bias_;
  std::vector<TokenId> allowed_, stop_;
  std::unordered_map<TokenId, Count> counts_;
  std::vector<std::pair<TokenId, bool>> recent_;  ///< only where the engine's window is limited
  std::size_t window_ = 0;                        ///< 0: unlimited
  int emitted_ = 0;
};

}  // namespace difr
