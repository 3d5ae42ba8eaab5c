#include "gpu/recompute/batch_scorer.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "core/util/error.h"

namespace difr::gpu {

namespace {

/// Floats held between two flushes (256 MiB).
constexpr std::size_t kHeldFloats = std::size_t{1} << 26;

/// What a claim without a reproducible sampler is scored under: ranks and cross-entropy, no noise.
const SamplerProfile kUnknownSampler{};

}  // namespace

BatchScorer::BatchScorer(std::span<const BatchItem> items, int vocab, int top_m, const ScoreOptions& scoring,
                         int threads)
    : items_(items),
      vocab_(static_cast<std::size_t>(vocab)),
      top_m_(top_m),
      scoring_(scoring),
      threads_(static_cast<std::size_t>(std::max(threads, 1))),
      states_(items.size()) {}

void BatchScorer::add(std::size_t sequence, std::span<const float> logits) {
  blocks_.push_back({sequence, {logits.begin(), logits.end()}});
  held_ += logits.size();
  if (held_ >= kHeldFloats) flush();
}

void BatchScorer::flush() {
  // Blocks of a sequence arrive together: a stable sort keeps their order and brings split ones together.
  std::ranges::stable_sort(blocks_, {}, &Block::sequence);
  std::vector<std::span<const Block>> tasks;
  for (std::size_t first = 0; first < blocks_.size();) {
    std::size_t last = first;
    while (last < blocks_.size() && blocks_[last].sequence == blocks_[first].sequence) ++last;
    tasks.emplace_back(blocks_.data() + first, last - first);
    first = last;
  }
  std::atomic<std::size_t> next{0};
  std::exception_ptr failed;
  std::mutex guard;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < tasks.size(); i = next++)
        for (const auto& block : tasks[i]) fold(block);
    } catch (...) {
      const std::lock_guard lock(guard);
      failed = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min(threads_, tasks.size()); ++i) helpers.emplace_back(work);
    work();
  }
  blocks_.clear();
  held_ = 0;
  if (failed) std::rethrow_exception(failed);
}

void BatchScorer::fold(const Block& block) {
  auto& state = states_[block.sequence];
  const auto& item = items_[block.sequence];
  if (!state.failure.empty()) return;
  try {
    if (!state.scorer)
      state.scorer.emplace(item.claim, item.profile != nullptr ? *item.profile : kUnknownSampler,
                           static_cast<int>(vocab_), scoring_);
    const std::span<const float> rows(block.logits);
    for (std::size_t at = 0; at + vocab_ <= rows.size(); at += vocab_) {
      const auto row = rows.subspan(at, vocab_);
      append_evidence(state.evidence, row, item.claim.output[state.evidence.size()], top_m_);
      state.scorer->add(row);
    }
  } catch (const Error& error) {
    // One claim that cannot be scored must not stop the others.
    if (error.code() != ExitCode::bad_input) throw;
    state.failure = error.what();
  }
}

std::optional<ScoredRequest> BatchScorer::take(std::size_t sequence) {
  auto& state = states_[sequence];
  const auto& item = items_[sequence];
  if (!state.failure.empty() || !state.scorer || state.evidence.size() != item.claim.output.size()) return std::nullopt;
  ScoredRequest scored;
  scored.request_id = item.claim.id;
  scored.evidence = std::move(state.evidence);
  if (item.profile != nullptr) scored.profile = item.profile->id;
  scored.scores = state.scorer->take();
  return scored;
}

}  // namespace difr::gpu
