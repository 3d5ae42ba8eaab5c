#pragma once
// Whole files, written so that a reader never sees half of one.

#include <filesystem>
#include <string_view>

namespace difr {

/// Writes beside the target and renames. Throws difr::Error (environment) naming the file; nothing is left behind then.
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace difr
