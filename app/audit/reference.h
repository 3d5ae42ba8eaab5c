#pragma once
// The trusted reference a command was told to use: weights on this machine, or a server.

#include <memory>
#include <optional>
#include <span>
#include <stop_token>

#include "app/audit/context.h"
#include "gpu/recompute/recompute.h"

namespace difr::app {

class Reference {
 public:
  /// Loads the weights, or greets the server. Throws difr::Error naming option, file or server.
  Reference(const GlobalOptions& options, const std::stop_token& stop);

  [[nodiscard]] ReferenceEnvironment environment() const;
  gpu::RecomputeResult recompute(CaseFile& file, std::span<const std::int64_t> provider_ids, int top_m,
                                 const gpu::ProgressCallback& progress, std::stop_token stop);

 private:
  std::unique_ptr<gpu::ReferenceEngine> engine_;
  std::optional<gpu::RemoteReference> server_;  ///< exactly one of the two is there
};

/// One line on a claim that this reference could not score.
[[nodiscard]] std::string skipped_text(const gpu::SkippedClaim& claim);

}  // namespace difr::app
