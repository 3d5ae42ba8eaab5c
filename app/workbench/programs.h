#pragma once
// Where the pieces of the installation lie.

#include <QDir>
#include <QString>

namespace difr::workbench {

/// The model of the bundled case, as its logs declare it.
inline constexpr const char* demo_model_name = "kjv-devil-2.7m";

/// difr-audit beside this program, else on the PATH; empty when there is none.
[[nodiscard]] QString audit_program();
/// resources/demo of the installation, else of the source tree this was built from.
[[nodiscard]] QDir demo_dir();
/// Where cases lie that the user did not place anywhere; made when missing.
[[nodiscard]] QDir case_folder();

}  // namespace difr::workbench
