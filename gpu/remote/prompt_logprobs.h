#pragma once
// What is asked of an OpenAI-compatible server, and what its answer says: pure functions, no network.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "core/domain/evidence.h"
#include "gpu/reference_engine.h"

namespace difr::gpu {

/// Body of POST /v1/completions: token ids in, one token generated, log-probabilities of the K best and of the given
/// token at each position. All sampling settings are sent and neutral, so that no server default can process the
/// logits.
struct PromptLogprobsQuery {
  std::string model;
  int top_k = 20;            ///< K
  double temperature = 1.0;  ///< anything else only to find out whether it matters
  int sampler_top_k = -1;    ///< as above; -1: off in every version
};
[[nodiscard]] std::string prompt_logprobs_body(const PromptLogprobsQuery& query, const Sequence& sequence);

enum class ReplyFault : std::uint8_t {
  malformed,      ///< not JSON, or cut short: worth another try
  unsupported,    ///< the server does not answer with prompt_logprobs
  other_tokens,   ///< it worked on other token ids than those sent
  missing_rows,   ///< positions without values, as prefix caches leave them
  not_log_probs,  ///< logits or filtered values
  wrong_shape,    ///< another number of candidates, bad ids or numbers
};

struct ReplyError {
  ReplyFault fault = ReplyFault::malformed;
  std::string text;  ///< one clause, for people
};

struct PromptLogprobs {
  /// Of the output positions. Values are log-probabilities: logits up to a constant of their row, log_sum_exp = 0.
  Evidence evidence;
  double mean_top_mass = 0;                          ///< probability of the K best, mean over the output positions
  std::optional<std::int64_t> cached_prompt_tokens;  ///< as the server reports them
};

/// Row t of the evidence holds the K best of position prompt + t and the claimed token, which vLLM always includes with
/// its rank (entries >= its value). A claimed token outside the K best gets claimed_rank = rank - 1, so ties count as
/// larger.
[[nodiscard]] tl::expected<PromptLogprobs, ReplyError> parse_prompt_logprobs(std::string_view body,
                                                                             const Sequence& sequence, int vocab,
                                                                             int top_k);

/// The message of an error answer, however the server spells it; else the beginning of the body.
[[nodiscard]] std::string server_message(std::string_view body);

}  // namespace difr::gpu
