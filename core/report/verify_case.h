#pragma once

#include <filesystem>
#include <vector>

#include "core/report/bundle.h"
#include "core/report/json_out.h"

namespace difr::report {

/// Makes the report again from the case and compares it, number by number; then the case itself: its own integrity, its
/// audit trail against the manifest's, and its stored decisions against the scores they were made from.
void check_against_case(const CaseFile& file, const Json& tree, const Json& manifest, const std::filesystem::path& base,
                        const VerifyOptions& options, std::vector<ReportCheck>& checks);

}  // namespace difr::report
