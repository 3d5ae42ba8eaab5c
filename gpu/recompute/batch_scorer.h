#pragma once
// Turns the engine's rows into evidence and scores, over several threads, while holding a bounded number of rows.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/casefile/case_file.h"
#include "core/scoring/token_difr.h"

namespace difr::gpu {

/// A claim on its way through one batch.
struct BatchItem {
  Claim claim;
  const SamplerProfile* profile = nullptr;  ///< null: the provider's sampler is not known
};

/// Rows are collected up to a budget and then folded by as many threads as the engine uses, which rests meanwhile:
/// the two never compete for cores. One sequence stays with one thread, so its rows are folded in order.
class BatchScorer {
 public:
  BatchScorer(std::span<const BatchItem> items, int vocab, int top_m, const ScoreOptions& scoring, int threads);

  /// Takes rows of one sequence as a RowSink gets them.
  void add(std::size_t sequence, std::span<const float> logits);
  /// Folds what is left.
  void flush();

  /// Complete after flush(); absent when rows are missing (stopped) or the claim failed.
  [[nodiscard]] std::optional<ScoredRequest> take(std::size_t sequence);
  /// Why a claim could not be scored; empty when it could.
  [[nodiscard]] const std::string& failure(std::size_t sequence) const { return states_[sequence].failure; }

 private:
  struct State {
    Evidence evidence;
    std::optional<RowScorer> scorer;
    std::string failure;
  };
  struct Block {
    std::size_t sequence = 0;
    std::vector<float> logits;
  };
  void fold(const Block& block);

  std::span<const BatchItem> items_;
  std::size_t vocab_;
  int top_m_;
  ScoreOptions scoring_;
  std::size_t threads_;
  std::vector<State> states_;
  std::vector<Block> blocks_;
  std::size_t held_ = 0;
};

}  // namespace difr::gpu
