#pragma once
// Claims in, evidence and scores out: the expensive half of an audit, resumable and killable at any moment.

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/casefile/case_file.h"
#include "core/scoring/token_difr.h"
#include "gpu/reference_engine.h"

namespace difr::gpu {

struct RecomputeOptions {
  int top_m = 128;          ///< candidates kept per token (DESIGN §1)
  int batch_tokens = 8192;  ///< prompt + output tokens per batch; a batch is one transaction and the most a kill loses
  ScoreOptions scoring;
};

/// Requests and tokens (prompt + output) of this call; what earlier calls already stored counts as neither.
struct RecomputeProgress {
  std::int64_t requests_done = 0;
  std::int64_t requests_total = 0;
  std::int64_t tokens_done = 0;
  std::int64_t tokens_total = 0;
};

/// A claim that this reference cannot score; it stays pending in the case file.
struct SkippedClaim {
  std::int64_t request_id = 0;
  std::string external_id;
  std::string reason;
};

struct RecomputeResult {
  std::int64_t run_id = 0;
  bool stopped = false;             ///< cancelled before the last batch; call again to go on
  std::int64_t requests = 0;        ///< stored by this call
  std::int64_t tokens = 0;          ///< output tokens stored by this call
  std::int64_t refused_tokens = 0;  ///< rows that were not finite
  std::vector<SkippedClaim> skipped;
};

/// Called after every batch that was stored, and once at the start.
using ProgressCallback = std::function<void(const RecomputeProgress&)>;

/// Begins or resumes the run of `engine`'s environment over `provider_ids` (empty: all) and stores each batch in one
/// transaction. Rows are scored under the sampler that the provider declared (greedy below T = 1e-5); without a known
/// one, or without a seed, scores carry `no_noise`. Throws difr::Error from the case file or the engine; the run is
/// then marked failed and can be resumed.
RecomputeResult recompute_case(CaseFile& file, ReferenceEngine& engine, std::span<const std::int64_t> provider_ids,
                               const RecomputeOptions& options, const ProgressCallback& progress, std::stop_token stop);

}  // namespace difr::gpu
