#pragma once
// The requests of a log of answers, when they lie in a second file: OpenAI batch input beside batch output, or
// X.request.json beside X.

#include <simdjson.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace difr {

/// The file that belongs to `log` by its name, if there is one: “output” → “input”, or <stem>.request.json.
[[nodiscard]] std::optional<std::filesystem::path> find_companion(const std::filesystem::path& log);
/// True when the file's name says that it is the companion of another that is there.
[[nodiscard]] bool is_companion(const std::filesystem::path& path);

class Companion {
 public:
  /// Reads all requests. Throws difr::Error when the file is unusable or holds more than 256 MiB of requests.
  explicit Companion(const std::filesystem::path& path);
  /// By custom_id; a file with one request without an id answers to every id. Valid until the next call.
  [[nodiscard]] std::optional<simdjson::dom::object> find(std::string_view id);
  [[nodiscard]] std::size_t size() const { return by_id_.size() + !any_.empty(); }

 private:
  std::map<std::string, std::string, std::less<>> by_id_;
  std::string any_;
  simdjson::dom::parser parser_;
};

}  // namespace difr
