#pragma once
// Recomputation of a case on a remote reference: as recompute.h, with evidence that holds the K best.

#include "gpu/recompute/recompute.h"
#include "gpu/remote/remote_reference.h"

namespace difr::gpu {

/// As recompute_case. The server is probed first with a claim of the case. `options.top_m` is not used: the evidence
/// holds RemoteOptions::top_k candidates, so scores are exact where the top-K certificate allows and intervals
/// elsewhere. Claims that the server refuses are skipped with its reason.
RecomputeResult recompute_case_remote(CaseFile& file, const RemoteReference& reference,
                                      std::span<const std::int64_t> provider_ids, const RecomputeOptions& options,
                                      const ProgressCallback& progress, std::stop_token stop);

}  // namespace difr::gpu
