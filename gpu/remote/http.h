#pragma once
// One HTTP connection at a time, through libcurl.

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "gpu/remote/api_key.h"

namespace difr::gpu {

struct HttpLimits {
  std::chrono::milliseconds connect{10'000};
  std::chrono::milliseconds total{600'000};  ///< of one request; a long prompt on a busy server takes its time
  std::size_t body_bytes = std::size_t{1} << 30;
};

struct HttpReply {
  long status = 0;  ///< 0: no complete answer came
  std::string body;
  std::string failure;                              ///< why not; empty when status is set
  bool stopped = false;                             ///< the stop token ended it
  std::optional<std::chrono::seconds> retry_after;  ///< from the header, seconds or date
};

/// Keeps its connection open between requests. Not thread-safe: one per worker. Redirects are not followed, since they
/// would carry the key elsewhere; only http and https are spoken.
class HttpSession {
 public:
  HttpSession(const ApiKey& key, const HttpLimits& limits);
  HttpSession(HttpSession&&) noexcept;
  ~HttpSession();

  [[nodiscard]] HttpReply get(const std::string& url, const std::stop_token& stop);
  [[nodiscard]] HttpReply post_json(const std::string& url, const std::string& body, const std::stop_token& stop);

 private:
  struct Impl;
  [[nodiscard]] HttpReply perform(const std::string& url, const std::string* body, const std::stop_token& stop);
  std::unique_ptr<Impl> impl_;
};

}  // namespace difr::gpu
