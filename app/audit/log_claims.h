#pragma once
// The claims of one log, for commands that need no case file.

#include <filesystem>
#include <stop_token>
#include <vector>

#include "app/audit/context.h"
#include "core/domain/claim.h"

namespace difr::app {

/// Imports the log (any format) into a case that lasts as long as the call. Throws difr::Error when nothing is usable.
[[nodiscard]] std::vector<Claim> claims_of_log(const std::filesystem::path& log, const GlobalOptions& options,
                                               std::stop_token stop);

}  // namespace difr::app
