#pragma once
// A trusted reference that runs elsewhere: an OpenAI-compatible server that answers token-id prompts with
// prompt_logprobs (vLLM; also in front of a cluster of any size).

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/util/error.h"
#include "gpu/remote/api_key.h"
#include "gpu/remote/http.h"
#include "gpu/remote/prompt_logprobs.h"

namespace difr::gpu {

struct RemoteOptions {
  std::string url;    ///< http://host:port, with or without /v1; no user, password or query
  std::string model;  ///< empty: the server's only one
  int vocab = 0;      ///< width of the model's logit row (vocab_size of its config.json): servers do not say it
  int top_k = 20;     ///< K; at most the server's --max-logprobs
  std::string dtype = "bf16";  ///< what the server computes in, as its operator declares
  int concurrency = 8;
  int attempts = 6;                                ///< of one request, the first one included
  std::chrono::milliseconds first_backoff{500};    ///< doubles each time
  std::chrono::milliseconds longest_wait{60'000};  ///< also for what Retry-After asks
  HttpLimits limits;
  ApiKey key;
};

/// What a probe of the server showed.
struct RemoteProbe {
  double repeat_difference = 0;     ///< mean |log-probability| difference of the same request sent twice
  double prefix_difference = 0;     ///< of a shared prefix in front of another continuation
  double processed_difference = 0;  ///< of the same request at T = 0.5 and top-k 2: nothing may change
  std::int64_t cached_tokens = 0;   ///< served from a prefix cache, as far as the server says it
  double top_mass = 0;              ///< mean probability of the K best: what the certificate can rest on
};

/// Answer to one sequence: evidence, or why there is none.
struct RemoteAnswer {
  std::optional<PromptLogprobs> reply;  ///< absent when refused or stopped
  std::string refusal;                  ///< the server cannot answer this one sequence (too long, bad ids)
};

class RemoteReference {
 public:
  /// Asks for the models and the version. Throws difr::Error naming the server and the remedy (environment), or the
  /// option (usage).
  RemoteReference(RemoteOptions options, const std::stop_token& stop);

  [[nodiscard]] const RemoteOptions& options() const { return options_; }
  [[nodiscard]] ReferenceEnvironment environment() const;
  [[nodiscard]] int max_positions() const { return max_positions_; }  ///< 0: the server does not say

  /// Asks about `tokens` (at least two) behind a random beginning that no cache can know: cold, warm, as a prefix, and
  /// with another temperature and filter. Throws difr::Error (environment) when answers are processed, come from a
  /// prefix cache or do not repeat: such a server is no reference.
  [[nodiscard]] RemoteProbe probe(std::span<const TokenId> tokens, const std::stop_token& stop) const;

  /// Answers in the order of the sequences, `concurrency` at a time. Answers may be missing only when stopped. Throws
  /// difr::Error (environment) when the server keeps failing, refuses the key, or answers with something else.
  [[nodiscard]] std::vector<RemoteAnswer> ask(std::span<const Sequence> sequences, const std::stop_token& stop) const;

 private:
  [[nodiscard]] RemoteAnswer ask_one(HttpSession& session, const Sequence& sequence, const PromptLogprobsQuery& query,
                                     const std::stop_token& stop) const;
  /// Retries what may pass; returns the first final reply. Throws when attempts run out.
  [[nodiscard]] HttpReply send(HttpSession& session, const std::string& path, const std::string* body,
                               const std::stop_token& stop, const std::string& place) const;
  void wait_before(int attempt, const HttpReply& reply, const std::stop_token& stop) const;
  [[nodiscard]] PromptLogprobs require(HttpSession& session, const Sequence& sequence, const PromptLogprobsQuery& query,
                                       const std::stop_token& stop) const;
  [[nodiscard]] Error error(const std::string& what, const std::string& remedy) const;
  void choose_model(HttpSession& session, const std::stop_token& stop);

  RemoteOptions options_;
  std::string version_;
  std::string root_;
  int max_positions_ = 0;
};

}  // namespace difr::gpu
