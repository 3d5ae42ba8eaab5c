#pragma once
// Whole small files.

#include <cstdint>
#include <filesystem>
#include <vector>

namespace difr {

/// Throws difr::Error (bad_input) naming the file when it cannot be read or is larger than `limit`.
[[nodiscard]] std::vector<std::uint8_t> read_file_bytes(const std::filesystem::path& path, std::uint64_t limit);

}  // namespace difr
