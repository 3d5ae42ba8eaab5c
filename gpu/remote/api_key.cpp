#include "gpu/remote/api_key.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "core/util/error.h"

namespace difr::gpu {

namespace fs = std::filesystem;

ApiKey::ApiKey(std::string value, const std::string& where) : value_(std::move(value)) {
  while (!value_.empty() && (value_.back() == ' ' || value_.back() == '\r' || value_.back() == '\t')) value_.pop_back();
  // Anything else could end the header line and begin another.
  const bool printable = std::ranges::all_of(value_, [](char c) { return c > ' ' && c < '\x7f'; });
  if (value_.empty() || !printable)
    throw environment_error(where, "holds no usable API key", "put the bare key there, in one line");
}

ApiKey ApiKey::from_environment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr)
    throw environment_error("environment variable " + variable, "is not set", "set it to the server's API key");
  return {value, "environment variable " + variable};
}

ApiKey ApiKey::from_file(const fs::path& file) {
  std::error_code failed;
  const auto status = fs::status(file, failed);
  if (failed || !fs::is_regular_file(status))
    throw environment_error(file.string(), "is not a readable file", "give the file that holds the API key");
  if ((status.permissions() & (fs::perms::group_read | fs::perms::others_read)) != fs::perms::none)
    throw environment_error(file.string(), "may be read by others than its owner", "chmod 600 the key file");
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line))
    throw environment_error(file.string(), "cannot be read or is empty", "give the file that holds the API key");
  return {line, file.string()};
}

std::string ApiKey::redact(std::string text) const {
  if (value_.empty()) return text;
  for (auto at = text.find(value_); at != std::string::npos; at = text.find(value_, at))
    text.replace(at, value_.size(), "***");
  return text;
}

}  // namespace difr::gpu
