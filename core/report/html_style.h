#pragma once

#include <string_view>

namespace difr::report {

/// Style sheet of the HTML report: light, dark and print; Okabe-Ito colours.
[[nodiscard]] std::string_view html_style();

}  // namespace difr::report
