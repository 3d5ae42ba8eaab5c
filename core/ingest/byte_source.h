#pragma once
// Bytes of a log: plain, gzip or zstd, from a file or a pipe, never loaded whole.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace difr {

class ByteSource {
 public:
  /// Throws difr::Error when it cannot be opened or is a container that is not supported. `name` is for messages.
  ByteSource(const std::filesystem::path& path, std::string name);
  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  /// Up to `size` decompressed bytes; 0 at the end or after damage.
  std::size_t read(char* to, std::size_t size);
  /// Says why the stream ended early (truncated or damaged compression, a read error).
  [[nodiscard]] const std::optional<std::string>& damage() const;
  /// Bytes taken from the disk so far, and the file's size (-1 for a pipe).
  [[nodiscard]] std::int64_t raw_done() const;
  [[nodiscard]] std::int64_t raw_total() const;
  /// "plain", "gzip" or "zstd".
  [[nodiscard]] const char* compression() const;
  [[nodiscard]] const std::string& name() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace difr
