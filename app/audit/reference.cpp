#include "app/audit/reference.h"

#include <fmt/core.h>

#include "gpu/remote/recompute_remote.h"

namespace difr::app {

Reference::Reference(const GlobalOptions& options, const std::stop_token& stop) {
  if (options.remote.url.empty())
    engine_ = gpu::load_engine(options.require_model(), options.engine());
  else
    server_.emplace(options.remote_reference(), stop);
}

ReferenceEnvironment Reference::environment() const {
  return engine_ ? engine_->environment() : server_->environment();
}

gpu::RecomputeResult Reference::recompute(CaseFile& file, std::span<const std::int64_t> provider_ids, int top_m,
                                          const gpu::ProgressCallback& progress, std::stop_token stop) {
  gpu::RecomputeOptions options;
  options.top_m = top_m;
  return engine_ ? gpu::recompute_case(file, *engine_, provider_ids, options, progress, std::move(stop))
                 : gpu::recompute_case_remote(file, *server_, provider_ids, options, progress, std::move(stop));
}

std::string skipped_text(const gpu::SkippedClaim& claim) {
  return fmt::format("request {} was left out: {}", claim.external_id, claim.reason);
}

}  // namespace difr::app
