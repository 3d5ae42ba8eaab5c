#pragma once
// Sampler identification of a provider in a recomputed case.

#include <cstddef>
#include <vector>

#include "core/casefile/case_file.h"
#include "core/sampling/identify.h"

namespace difr {

/// Looks at requests spread evenly over the provider's log, enough for `options.max_tokens`.
[[nodiscard]] Identification identify_provider(const CaseFile& file, const RunRow& run, const ProviderRow& provider,
                                               const IdentifyOptions& options = {});

/// The same for `windows` consecutive parts of the log, since a fleet may change versions.
[[nodiscard]] std::vector<WindowIdentification> identify_provider_windows(const CaseFile& file, const RunRow& run,
                                                                          const ProviderRow& provider, std::size_t windows,
                                                                          const IdentifyOptions& options = {});

}  // namespace difr
