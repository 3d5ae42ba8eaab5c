#include "core/util/read_file.h"

#include <fmt/core.h>

#include <fstream>
#include <system_error>

#include "core/util/error.h"

namespace difr {

std::vector<std::uint8_t> read_file_bytes(const std::filesystem::path& path, std::uint64_t limit) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) throw bad_input(path.string(), error.message(), "check the path and its permissions");
  if (size > limit)
    throw bad_input(path.string(), fmt::format("has {} bytes, more than the {} read at once", size, limit),
                    "split it by requests");
  std::ifstream stream(path, std::ios::binary);
  std::vector<std::uint8_t> bytes(size);
  if (!stream || !stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size)))
    throw bad_input(path.string(), "cannot be read", "check its permissions");
  return bytes;
}

}  // namespace difr
