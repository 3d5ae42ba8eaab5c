#include "core/util/write_file.h"

#include <fstream>
#include <system_error>

#include "core/util/error.h"

namespace difr {

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::path partial = path;
  partial += ".partial";
  std::ofstream out(partial, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(partial, path, error);
  if (!out || error) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    throw environment_error(path.string(), "cannot write the file",
                            "check that the folder exists, is writable and has space");
  }
}

}  // namespace difr
