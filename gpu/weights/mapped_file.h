#pragma once
// Read-only memory map of a whole file.

#include <cstddef>
#include <filesystem>
#include <span>

namespace difr::gpu {

class MappedFile {
 public:
  /// Throws difr::Error when the file cannot be opened, is not a regular file, or is empty.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace difr::gpu
