#include "gpu/remote/remote_reference.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "core/util/error.h"

namespace difr::gpu {

namespace {

namespace dom = simdjson::dom;

/// Base URL without a trailing slash or /v1.
std::string normalised(std::string url) {
  const auto usage = [&](const char* what) {
    return Error(ExitCode::usage, "--url", what, "give http://host:port or https://host/path");
  };
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    throw usage("does not begin with http:// or https://");
  // It is written to the case file: no credentials may be in it.
  if (url.find('@') != std::string::npos || url.find('?') != std::string::npos || url.find('#') != std::string::npos)
    throw usage("holds a user, password or query");
  while (url.ends_with('/')) url.pop_back();
  if (url.ends_with("/v1")) url.resize(url.size() - 3);
  return url;
}

bool worth_retrying(const HttpReply& reply) {
  return reply.status == 0 || reply.status == 408 || reply.status == 425 || reply.status == 429 || reply.status >= 500;
}

std::string described(const HttpReply& reply) {
  if (reply.status == 0) return reply.failure;
  return fmt::format("HTTP {}: {}", reply.status, server_message(reply.body));
}

}  // namespace

RemoteReference::RemoteReference(RemoteOptions options, const std::stop_token& stop) : options_(std::move(options)) {
  options_.url = normalised(options_.url);
  const auto usage = [](const char* option, const char* what, const char* remedy) {
    return Error(ExitCode::usage, option, what, remedy);
  };
  if (options_.vocab < 2) throw usage("--vocab", "is missing", "give vocab_size of the model's config.json");
  if (options_.top_k < 1) throw usage("--top-k", "is below 1", "give 20, or what the server's --max-logprobs allows");
  options_.concurrency = std::clamp(options_.concurrency, 1, 256);
  options_.attempts = std::max(options_.attempts, 1);
  HttpSession session(options_.key, options_.limits);
  choose_model(session, stop);
  // Not part of the OpenAI interface: servers other than vLLM may not have it.
  const auto reply = session.get(options_.url + "/version", stop);
  dom::parser parser;
  std::string_view version;
  if (reply.status == 200 &&
      parser.parse(simdjson::padded_string(reply.body))["version"].get_string().get(version) == simdjson::SUCCESS)
    version_ = options_.key.redact(std::string(version.substr(0, 60)));
}

Error RemoteReference::error(const std::string& what, const std::string& remedy) const {
  return environment_error(options_.url, options_.key.redact(what), remedy);
}

void RemoteReference::choose_model(HttpSession& session, const std::stop_token& stop) {
  const auto reply = send(session, "/v1/models", nullptr, stop, "the list of models");
  if (reply.stopped) throw error("was not asked to the end: stopped", "start again");
  dom::parser parser;
  dom::array models;
  if (reply.status != 200 ||
      parser.parse(simdjson::padded_string(reply.body))["data"].get_array().get(models) != simdjson::SUCCESS)
    throw error("does not list its models: " + described(reply), "give the URL of an OpenAI-compatible server");
  std::string names;
  std::size_t matches = 0;
  std::string chosen;
  for (const auto model : models) {
    std::string_view id;
    if (model["id"].get_string().get(id) != simdjson::SUCCESS) continue;
    names += (names.empty() ? "" : ", ") + std::string(id);
    if (!options_.model.empty() && id != options_.model) continue;
    ++matches;
    chosen = id;
    std::string_view root;
    root_ = model["root"].get_string().get(root) == simdjson::SUCCESS ? std::string(root) : std::string();
    std::int64_t length = 0;
    max_positions_ = model["max_model_len"].get_int64().get(length) == simdjson::SUCCESS
                         ? static_cast<int>(std::clamp<std::int64_t>(length, 0, 1 << 30))
                         : 0;
  }
  if (matches != 1)
    throw error(options_.model.empty() ? fmt::format("serves {} models", matches) : "does not serve " + options_.model,
                "name one of: " + names);
  options_.model = chosen;
}

ReferenceEnvironment RemoteReference::environment() const {
  ReferenceEnvironment environment;
  environment.model_name = options_.model;
  // Nobody can hash weights through this interface; what the server calls them stands in, marked as such.
  environment.weights_digest = "unverified:" + (root_.empty() ? options_.model : root_);
  environment.dtype = options_.dtype;
  environment.device = "remote:" + options_.url;
  environment.engine_build = version_.empty() ? "OpenAI-compatible server" : "vllm " + version_;
  environment.variant = fmt::format("top-{}", options_.top_k);
  environment.batch_tokens = 0;
  return environment;
}

void RemoteReference::wait_before(int attempt, const HttpReply& reply, const std::stop_token& stop) const {
  auto wait = options_.first_backoff * (1LL << std::min(attempt - 1, 20));
  if (reply.retry_after) wait = std::max<std::chrono::milliseconds>(wait, *reply.retry_after);
  wait = std::min<std::chrono::milliseconds>(wait, options_.longest_wait);
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  woken.wait_for(lock, stop, wait, [] { return false; });
}

HttpReply RemoteReference::send(HttpSession& session, const std::string& path, const std::string* body,
                                const std::stop_token& stop, const std::string& place) const {
  const std::string url = options_.url + path;
  for (int attempt = 1;; ++attempt) {
    auto reply = body == nullptr ? session.get(url, stop) : session.post_json(url, *body, stop);
    if (reply.stopped || stop.stop_requested()) {
      reply.stopped = true;
      return reply;
    }
    if (reply.status == 401 || reply.status == 403)
      throw error("refuses the API key: " + described(reply), "check the key that the variable or the file holds");
    if (reply.status == 404)
      throw error("does not know " + path + ": " + described(reply), "give the URL of an OpenAI-compatible server");
    if (!worth_retrying(reply)) return reply;
    if (attempt >= options_.attempts)
      throw error(fmt::format("failed {} times for {}: {}", attempt, place, described(reply)),
                  "see the server's log; then run the same command again, it goes on where it stopped");
    wait_before(attempt, reply, stop);
  }
}

RemoteAnswer RemoteReference::ask_one(HttpSession& session, const Sequence& sequence, const PromptLogprobsQuery& query,
                                      const std::stop_token& stop) const {
  const auto body = prompt_logprobs_body(query, sequence);
  const std::string place = fmt::format("a request of {} tokens", sequence.prompt.size() + sequence.output.size());
  for (int attempt = 1;; ++attempt) {
    auto reply = send(session, "/v1/completions", &body, stop, place);
    if (reply.stopped) return {};
    if (reply.status != 200) {
      const auto message = options_.key.redact(described(reply));
      // A wrong K concerns every request, not this one.
      if (message.find("logprobs") != std::string::npos)
        throw error(
            "refuses prompt_logprobs: " + message,
            fmt::format("lower --top-k below {}, or start the server with a larger --max-logprobs", query.top_k));
      return {std::nullopt, message};
    }
    auto parsed = parse_prompt_logprobs(reply.body, sequence, options_.vocab, query.top_k);
    if (parsed) return {std::move(*parsed), {}};
    const auto text = "answers with something that " + parsed.error().text;
    switch (parsed.error().fault) {
      case ReplyFault::malformed:
        if (attempt >= options_.attempts)
          throw error(fmt::format("{}, {} times", text, attempt), "see the server's log and what lies between");
        wait_before(attempt, reply, stop);
        break;
      case ReplyFault::unsupported:
        throw error(text, "use a server that answers prompt_logprobs, such as vLLM");
      case ReplyFault::other_tokens:
        throw error(text, "the server changes prompts: turn off its template or BOS handling");
      case ReplyFault::missing_rows:
        throw error(text, "start the server with --no-enable-prefix-caching");
      case ReplyFault::not_log_probs:
        throw error(text, "start the server with --logprobs-mode raw_logprobs and without logits processors");
      case ReplyFault::wrong_shape:
        throw error(text, "check --vocab and --top-k, and that the server is a known version of vLLM");
    }
  }
}

std::vector<RemoteAnswer> RemoteReference::ask(std::span<const Sequence> sequences, const std::stop_token& stop) const {
  std::vector<RemoteAnswer> answers(sequences.size());
  const PromptLogprobsQuery query{.model = options_.model, .top_k = options_.top_k};
  std::atomic<std::size_t> next{0};
  std::exception_ptr failed;
  std::mutex guard;
  // One failure that concerns the server as a whole ends the others.
  std::stop_source all;
  const std::stop_callback forward(stop, [&all] { all.request_stop(); });
  const auto work = [&] {
    try {
      HttpSession session(options_.key, options_.limits);
      for (std::size_t i = next++; i < sequences.size() && !all.stop_requested(); i = next++)
        answers[i] = ask_one(session, sequences[i], query, all.get_token());
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!failed) failed = std::current_exception();
      all.request_stop();
    }
  };
  {
    std::vector<std::jthread> workers;
    const auto count = std::min(static_cast<std::size_t>(options_.concurrency), sequences.size());
    for (std::size_t i = 0; i < count; ++i) workers.emplace_back(work);
  }
  if (failed) std::rethrow_exception(failed);
  return answers;
}

}  // namespace difr::gpu
