#pragma once

#include <string>
#include <string_view>

namespace difr::report {

/// One CSV cell: clean UTF-8, quoted where needed, never a formula.
[[nodiscard]] std::string csv_text(std::string_view bytes);
/// Shortest text that reads back as the same double; empty for NaN, "Infinity" for infinity.
[[nodiscard]] std::string csv_number(double value);

}  // namespace difr::report
