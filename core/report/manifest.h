#pragma once
// The manifest: what a report was made from and how, so that somebody else can check it.

#include <string>

#include "core/report/report_model.h"

namespace difr::report {

/// Compact JSON with stable key order; includes the SHA-256 of report_json(model).
[[nodiscard]] std::string manifest_json(const ReportModel& model);

/// The same, indented for reading, with long lists of sources cut at limits.sources.
[[nodiscard]] std::string manifest_excerpt(const ReportModel& model);

}  // namespace difr::report
