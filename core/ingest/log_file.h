#pragma once
// The identity of a log: where it is, its SHA-256 and size. A pipe is spooled to an unnamed file first.

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

namespace difr {

class LogFile {
 public:
  /// Hashes the whole file. `spool_folder`: where a pipe's bytes go. Throws difr::Error when it cannot be read.
  LogFile(const std::filesystem::path& path, const std::filesystem::path& spool_folder, const std::stop_token& stop);
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }    ///< to open it again
  [[nodiscard]] const std::filesystem::path& given() const { return given_; }  ///< as given
  [[nodiscard]] std::string recorded_path() const;                             ///< absolute; "-" for a pipe
  [[nodiscard]] const std::string& name() const { return name_; }              ///< as given, for messages
  [[nodiscard]] std::string stem() const;                                      ///< without .json, .jsonl, .gz, …
  [[nodiscard]] const std::string& sha256() const { return sha256_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Throws when the file was written to since it was hashed.
  void require_unchanged() const;

 private:
  std::filesystem::path given_, path_;
  std::string name_, sha256_;
  std::int64_t size_ = 0, modified_ns_ = 0;
  int spool_ = -1;
};

}  // namespace difr
