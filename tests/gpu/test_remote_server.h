#pragma once
// A small HTTP server on the loopback that answers like vLLM from a made-up model, and misbehaves on demand.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>
#include <vector>

/// Logits that depend on all tokens before a position and on nothing else; spread like a language model's.
class MadeUpModel {
 public:
  static constexpr int kVocab = 60;

  static std::vector<float> logits(std::span<const std::int32_t> before) {
    std::uint64_t state = 1469598103934665603ULL;
    for (const auto id : before) state = mixed(state ^ static_cast<std::uint64_t>(id + 1));
    std::vector<float> row;
    for (int v = 0; v < kVocab; ++v) {
      const double u = static_cast<double>(mixed(state + static_cast<std::uint64_t>(v)) >> 11) * 0x1p-53;
      row.push_back(static_cast<float>(-4.0 * std::log(u + 1e-3)));
    }
    return row;
  }
  static std::vector<double> log_softmax(std::span<const float> row, double temperature = 1) {
    double sum = 0;
    for (const float z : row) sum += std::exp(z / temperature);
    std::vector<double> result;
    for (const float z : row) result.push_back(z / temperature - std::log(sum));
    return result;
  }

 private:
  static std::uint64_t mixed(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
  }
};

class FakeServer {
 public:
  using json = nlohmann::json;
  /// Called for each completion with its running number from 1; a non-empty text is sent raw in place of the answer.
  std::function<std::string(int, const json&)> instead;
  /// Changes an honest answer.
  std::function<void(int, const json& request, json& answer)> edit;
  std::chrono::milliseconds delay{0};
  bool applies_temperature = false;

  FakeServer() {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(socket_, 64) != 0) std::abort();
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::jthread([this] { accept_all(); });
  }
  ~FakeServer() {
    ::shutdown(socket_, SHUT_RDWR);
    acceptor_.join();
    ::close(socket_);
    workers_.clear();
  }

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] int completions() const { return completions_; }
  [[nodiscard]] int most_at_once() const { return most_; }
  [[nodiscard]] std::string last_request_head() {
    const std::lock_guard lock(mutex_);
    return last_head_;
  }

  static std::string http(int status, const std::string& body, const std::string& headers = {}) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nConnection: close\r\n" + headers + "\r\n" + body;
  }

  static json honest_answer(const json& request, bool applies_temperature) {
    const auto tokens = request["prompt"].get<std::vector<std::int32_t>>();
    const auto top = request["prompt_logprobs"].get<std::size_t>();
    json rows = json::array({nullptr});
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      const auto row = MadeUpModel::logits(std::span(tokens).first(i));
      const auto p = MadeUpModel::log_softmax(row, applies_temperature ? request["temperature"].get<double>() : 1.0);
      std::vector<std::size_t> order(p.size());
      for (std::size_t v = 0; v < order.size(); ++v) order[v] = v;
      std::ranges::sort(order, [&](auto a, auto b) { return p[a] > p[b]; });
      json entries = json::object();
      const auto own = static_cast<std::size_t>(tokens[i]);
      const auto add = [&](std::size_t v) {
        const auto rank = std::ranges::count_if(p, [&](double x) { return x >= p[v]; });
        entries[std::to_string(v)] = {{"logprob", p[v]}, {"rank", rank}, {"decoded_token", "x"}};
      };
      add(own);
      for (std::size_t k = 0; k < std::min(top, order.size()); ++k) add(order[k]);
      rows.push_back(entries);
    }
    return {{"object", "text_completion"},
            {"choices", {{{"index", 0}, {"text", "x"}, {"prompt_logprobs", rows}, {"prompt_token_ids", tokens}}}},
            {"usage", {{"prompt_tokens", tokens.size()}, {"prompt_tokens_details", nullptr}}}};
  }

 private:
  void accept_all() {
    for (;;) {
      const int client = ::accept(socket_, nullptr, nullptr);
      if (client < 0) return;
      workers_.emplace_back([this, client] {
        serve(client);
        ::close(client);
      });
    }
  }

  void serve(int client) {
    std::string text;
    std::size_t end = std::string::npos;
    std::size_t length = 0;
    char buffer[65536];
    for (;;) {
      const auto got = ::recv(client, buffer, sizeof buffer, 0);
      if (got <= 0) return;
      text.append(buffer, static_cast<std::size_t>(got));
      if (end == std::string::npos) {
        end = text.find("\r\n\r\n");
        if (end == std::string::npos) continue;
        const auto at = text.find("Content-Length: ");
        length = at < end ? std::stoul(text.substr(at + 16)) : 0;
      }
      if (text.size() >= end + 4 + length) break;
    }
    {
      const std::lock_guard lock(mutex_);
      last_head_ = text.substr(0, end);
    }
    const auto reply = answer(text.substr(0, text.find('\r')), text.substr(end + 4));
    for (std::size_t sent = 0; sent < reply.size();) {
      const auto n = ::send(client, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += static_cast<std::size_t>(n);
    }
  }

  std::string answer(const std::string& line, const std::string& body) {
    if (line.starts_with("GET /v1/models "))
      return http(200, R"({"data":[{"id":"made-up","root":"org/made-up","max_model_len":100}]})");
    if (line.starts_with("GET /version ")) return http(200, R"({"version":"0.32.0"})");
    if (!line.starts_with("POST /v1/completions ")) return http(404, R"({"detail":"Not Found"})");
    const int number = ++completions_;
    const int now = ++running_;
    for (int most = most_; now > most && !most_.compare_exchange_weak(most, now);) continue;
    std::this_thread::sleep_for(delay);
    const auto request = json::parse(body);
    std::string reply = instead ? instead(number, request) : std::string();
    if (reply.empty()) {
      auto honest = honest_answer(request, applies_temperature);
      if (edit) edit(number, request, honest);
      reply = http(200, honest.dump());
    }
    --running_;
    return reply;
  }

  int socket_ = -1;
  int port_ = 0;
  std::atomic<int> completions_{0}, running_{0}, most_{0};
  std::mutex mutex_;
  std::string last_head_;
  std::vector<std::jthread> workers_;  // touched by the acceptor only, until it has ended
  std::jthread acceptor_;
};
