#pragma once

namespace difr {

/// Version of the workbench, e.g. "0.1.0"; recorded in case files and reports.
[[nodiscard]] const char* version();

}  // namespace difr
