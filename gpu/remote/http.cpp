#include "gpu/remote/http.h"

#include <curl/curl.h>

#include <array>

#include "core/util/error.h"

namespace difr::gpu {

namespace {

struct Transfer {
  std::string body;
  std::size_t limit = 0;
  const std::stop_token* stop = nullptr;
};

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t bytes = size * count;
  if (bytes > transfer.limit - transfer.body.size()) return 0;  // makes curl fail the transfer
  transfer.body.append(data, bytes);
  return bytes;
}

int check_stop(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Transfer*>(user)->stop->stop_requested() ? 1 : 0;
}

bool initialise_curl() {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return ready;
}

}  // namespace

struct HttpSession::Impl {
  CURL* curl = nullptr;
  curl_slist* headers = nullptr;
  HttpLimits limits;
  std::array<char, CURL_ERROR_SIZE> error{};

  ~Impl() {
    curl_slist_free_all(headers);
    if (curl != nullptr) curl_easy_cleanup(curl);
  }
};

HttpSession::HttpSession(const ApiKey& key, const HttpLimits& limits) : impl_(std::make_unique<Impl>()) {
  if (initialise_curl()) impl_->curl = curl_easy_init();
  if (impl_->curl == nullptr) throw environment_error("libcurl", "cannot be initialised", "check the installation");
  impl_->limits = limits;
  impl_->headers = curl_slist_append(nullptr, "Content-Type: application/json");
  // Without this, curl waits a second for "100 Continue" before it sends a large body.
  impl_->headers = curl_slist_append(impl_->headers, "Expect:");
  if (!key.empty()) impl_->headers = curl_slist_append(impl_->headers, key.authorization().c_str());
}

HttpSession::HttpSession(HttpSession&&) noexcept = default;
HttpSession::~HttpSession() = default;

HttpReply HttpSession::get(const std::string& url, const std::stop_token& stop) {
  return perform(url, nullptr, stop);
}

HttpReply HttpSession::post_json(const std::string& url, const std::string& body, const std::stop_token& stop) {
  return perform(url, &body, stop);
}

HttpReply HttpSession::perform(const std::string& url, const std::string* body, const std::stop_token& stop) {
  CURL* const curl = impl_->curl;
  Transfer transfer{.body = {}, .limit = impl_->limits.body_bytes, .stop = &stop};
  impl_->error[0] = '\0';
  curl_easy_reset(curl);  // keeps the connection
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, impl_->headers);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "difr-audit");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, impl_->error.data());
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(impl_->limits.connect.count()));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(impl_->limits.total.count()));
  curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, check_stop);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  if (body != nullptr) {
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->data());
  }

  HttpReply reply;
  const CURLcode code = curl_easy_perform(curl);
  if (code == CURLE_OK) {
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
    curl_off_t wait = 0;
    if (curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK && wait > 0)
      reply.retry_after = std::chrono::seconds(wait);
    reply.body = std::move(transfer.body);
    return reply;
  }
  reply.stopped = code == CURLE_ABORTED_BY_CALLBACK;
  reply.failure = code == CURLE_WRITE_ERROR ? "the answer is larger than allowed"
                  : impl_->error[0] != '\0' ? std::string(impl_->error.data())
                                            : std::string(curl_easy_strerror(code));
  return reply;
}

}  // namespace difr::gpu
