#pragma once
// The key of a remote server. It lives in memory only: no case file, log line or error text ever holds it.

#include <filesystem>
#include <string>
#include <string_view>

namespace difr::gpu {

class ApiKey {
 public:
  /// No key: no Authorization header is sent.
  ApiKey() = default;
  /// Throws difr::Error (environment) naming the variable when it is unset or holds no usable key.
  static ApiKey from_environment(const std::string& variable);
  /// The first line of the file. Throws difr::Error naming the file, also when others than its owner may read it.
  static ApiKey from_file(const std::filesystem::path& file);

  [[nodiscard]] bool empty() const { return value_.empty(); }
  /// The header line to send.
  [[nodiscard]] std::string authorization() const { return "Authorization: Bearer " + value_; }
  /// `text` with every occurrence of the key blotted out: servers quote rejected keys in their answers.
  [[nodiscard]] std::string redact(std::string text) const;

 private:
  ApiKey(std::string value, const std::string& where);
  std::string value_;
};

}  // namespace difr::gpu
