#include "gpu/recompute/recompute.h"

#include <vector>

#include "gpu/recompute/batch_scorer.h"
#include "gpu/recompute/case_loop.h"

namespace difr::gpu {

RecomputeResult recompute_case(CaseFile& file, ReferenceEngine& engine, std::span<const std::int64_t> provider_ids,
                               const RecomputeOptions& options, const ProgressCallback& progress,
                               std::stop_token stop) {
  const auto environment = engine.environment();
  // The last output token is predicted, not read: it needs no position.
  const CaseLimits limits{.vocab = engine.info().vocab, .max_tokens = engine.info().max_positions + 1};
  const auto work = [&](std::span<const BatchItem> items) {
    std::vector<Sequence> sequences;
    for (const auto& item : items) sequences.push_back({item.claim.prompt, item.claim.output});
    BatchScorer scorer(items, limits.vocab, options.top_m, options.scoring, environment.threads);
    engine.score(
        sequences,
        [&](std::size_t s, int, int, std::span<const float> logits, std::span<const float>) { scorer.add(s, logits); },
        stop);
    scorer.flush();
    std::vector<BatchOutcome> outcomes;
    for (std::size_t i = 0; i < items.size(); ++i) outcomes.push_back({scorer.take(i), scorer.failure(i)});
    return outcomes;
  };
  return run_case(file, environment, limits, provider_ids, options, work, progress, stop);
}

}  // namespace difr::gpu
