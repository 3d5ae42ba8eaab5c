#pragma once
// The part of a recomputation that does not depend on where rows come from: what is left to do, batches, progress.

#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "gpu/recompute/batch_scorer.h"
#include "gpu/recompute/recompute.h"

namespace difr::gpu {

/// Claims outside these limits are skipped with the reason.
struct CaseLimits {
  int vocab = 0;
  int max_tokens = 0;  ///< prompt + output
};

/// Of one item: its scores, or why there are none; neither when it was stopped before its last row.
struct BatchOutcome {
  std::optional<ScoredRequest> scored;
  std::string failure;
};

/// Outcomes in the order of the items.
using BatchWork = std::function<std::vector<BatchOutcome>(std::span<const BatchItem>)>;

/// Begins or resumes the run of `environment` and stores each batch of `work` in one transaction. Throws what `work`
/// and the case file throw; the run is then marked failed.
RecomputeResult run_case(CaseFile& file, const ReferenceEnvironment& environment, const CaseLimits& limits,
                         std::span<const std::int64_t> provider_ids, const RecomputeOptions& options,
                         const BatchWork& work, const ProgressCallback& progress, std::stop_token stop);

}  // namespace difr::gpu
