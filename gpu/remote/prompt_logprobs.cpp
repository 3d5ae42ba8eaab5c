#include "gpu/remote/prompt_logprobs.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace difr::gpu {

namespace {

namespace dom = simdjson::dom;

/// vLLM writes -9999 where a log-probability is -inf, which only a filter makes.
constexpr double kFiltered = -9998.5;
/// Log-probabilities are rounded to fp32 and their K-sum to a few ulp; logits miss by far more.
constexpr double kMassTolerance = 1e-3;

struct Candidate {
  TokenId id = 0;
  double logprob = 0;
  std::int64_t rank = 0;
};

tl::unexpected<ReplyError> fail(ReplyFault fault, std::string text) {
  return tl::unexpected(ReplyError{fault, std::move(text)});
}

tl::expected<std::vector<Candidate>, ReplyError> read_row(dom::object row, int vocab) {
  std::vector<Candidate> list;
  for (const auto field : row) {
    Candidate candidate;
    const auto [end, error] = std::from_chars(field.key.data(), field.key.data() + field.key.size(), candidate.id);
    if (error != std::errc() || end != field.key.data() + field.key.size())
      return fail(ReplyFault::wrong_shape, fmt::format("'{}' is not a token id", field.key.substr(0, 40)));
    if (candidate.id < 0 || candidate.id >= vocab)
      return fail(ReplyFault::wrong_shape,
                  fmt::format("token id {} is outside the vocabulary of {}", candidate.id, vocab));
    if (field.value["logprob"].get_double().get(candidate.logprob) != simdjson::SUCCESS)
      return fail(ReplyFault::wrong_shape, fmt::format("token {} has no logprob", candidate.id));
    // Absent in some versions for the K best, whose order says it.
    if (field.value["rank"].get_int64().get(candidate.rank) != simdjson::SUCCESS) candidate.rank = 0;
    if (candidate.logprob <= kFiltered)
      return fail(ReplyFault::not_log_probs, fmt::format("token {} was filtered out", candidate.id));
    if (!(candidate.logprob <= kMassTolerance))
      return fail(ReplyFault::not_log_probs,
                  fmt::format("token {} has the log-probability {}", candidate.id, candidate.logprob));
    list.push_back(candidate);
  }
  std::ranges::sort(list, [](const Candidate& a, const Candidate& b) {
    return a.logprob != b.logprob ? a.logprob > b.logprob : a.id < b.id;
  });
  return list;
}

/// Appends one token; returns the probability of the K best.
tl::expected<double, ReplyError> add_row(Evidence& evidence, std::vector<Candidate> list, TokenId claimed) {
  const auto top = static_cast<std::size_t>(evidence.top_m);
  const auto own = std::ranges::find(list, claimed, &Candidate::id);
  if (own == list.end()) return fail(ReplyFault::wrong_shape, fmt::format("token {} itself is missing", claimed));
  const Candidate given = *own;
  const auto larger = std::ranges::count_if(list, [&](const Candidate& c) { return c.logprob > given.logprob; });
  std::int64_t rank = larger;
  if (list.size() == top + 1) {
    if (given.rank <= larger)
      return fail(ReplyFault::wrong_shape, fmt::format("token {} has the rank {}", claimed, given.rank));
    rank = given.rank - 1;
    list.erase(own);
  }
  if (list.size() != top)
    return fail(ReplyFault::wrong_shape, fmt::format("{} candidates in place of {}", list.size(), top));
  double mass = 0;
  for (const auto& candidate : list) {
    evidence.top_ids.push_back(candidate.id);
    evidence.top_logits.push_back(static_cast<float>(candidate.logprob));
    mass += std::exp(candidate.logprob);
  }
  std::ranges::sort(list, {}, &Candidate::id);
  if (std::ranges::adjacent_find(list, {}, &Candidate::id) != list.end())
    return fail(ReplyFault::wrong_shape, "a token is listed twice");
  if (!(mass <= 1 + kMassTolerance))
    return fail(ReplyFault::not_log_probs, fmt::format("the probabilities of a row add up to {:.4g}", mass));
  evidence.claimed_logit.push_back(static_cast<float>(given.logprob));
  evidence.log_sum_exp.push_back(0);
  evidence.claimed_rank.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(rank, evidence.vocab)));
  return mass;
}

/// The ids that the server says it read, where it says so: a doubled BOS or a retokenised text shows here.
tl::expected<void, ReplyError> check_ids(dom::element choice, const Sequence& sequence) {
  dom::array ids;
  if (choice["prompt_token_ids"].get_array().get(ids) != simdjson::SUCCESS) return {};
  std::size_t i = 0;
  for (const auto element : ids) {
    std::int64_t id = -1;
    const bool in_prompt = i < sequence.prompt.size();
    const std::size_t rest = i - (in_prompt ? 0 : sequence.prompt.size());
    if (element.get_int64().get(id) != simdjson::SUCCESS || (!in_prompt && rest >= sequence.output.size()) ||
        id != (in_prompt ? sequence.prompt[i] : sequence.output[rest]))
      return fail(ReplyFault::other_tokens, fmt::format("token {} is not the one that was sent", i));
    ++i;
  }
  if (i != sequence.prompt.size() + sequence.output.size())
    return fail(ReplyFault::other_tokens, fmt::format("{} tokens were read", i));
  return {};
}

}  // namespace

std::string prompt_logprobs_body(const PromptLogprobsQuery& query, const Sequence& sequence) {
  std::vector<TokenId> tokens(sequence.prompt.begin(), sequence.prompt.end());
  tokens.insert(tokens.end(), sequence.output.begin(), sequence.output.end());
  const nlohmann::json body{{"model", query.model},
                            {"prompt", tokens},
                            {"max_tokens", 1},
                            {"temperature", query.temperature},
                            {"top_p", 1.0},
                            {"top_k", query.sampler_top_k},
                            {"min_p", 0.0},
                            {"repetition_penalty", 1.0},
                            {"presence_penalty", 0.0},
                            {"frequency_penalty", 0.0},
                            {"prompt_logprobs", query.top_k},
                            {"add_special_tokens", false},
                            {"return_token_ids", true},
                            {"stream", false}};
  return body.dump();
}

tl::expected<PromptLogprobs, ReplyError> parse_prompt_logprobs(std::string_view body, const Sequence& sequence,
                                                               int vocab, int top_k) {
  dom::parser parser;
  dom::element root;
  if (const auto error = parser.parse(simdjson::padded_string(body)).get(root))
    return fail(ReplyFault::malformed, std::string("is not JSON: ") + simdjson::error_message(error));
  dom::element choice;
  if (root["choices"].at(0).get(choice) != simdjson::SUCCESS) return fail(ReplyFault::malformed, "has no choices");
  dom::array rows;
  // Chat answers, and some versions, carry the field at the top.
  if (choice["prompt_logprobs"].get_array().get(rows) != simdjson::SUCCESS &&
      root["prompt_logprobs"].get_array().get(rows) != simdjson::SUCCESS)
    return fail(ReplyFault::unsupported, "has no prompt_logprobs");
  if (auto same = check_ids(choice, sequence); !same) return tl::unexpected(same.error());
  const std::size_t length = sequence.prompt.size() + sequence.output.size();
  if (rows.size() != length)
    return fail(ReplyFault::missing_rows, fmt::format("has {} rows for {} tokens", rows.size(), length));

  PromptLogprobs result;
  result.evidence.vocab = vocab;
  result.evidence.top_m = std::min(top_k, vocab);
  std::size_t position = 0;
  for (const auto element : rows) {
    const std::size_t at = position++;
    if (at < sequence.prompt.size()) continue;
    dom::object row;
    if (element.get_object().get(row) != simdjson::SUCCESS)
      return fail(ReplyFault::missing_rows, fmt::format("has nothing at position {}", at));
    auto candidates = read_row(row, vocab);
    if (!candidates)
      return fail(candidates.error().fault, fmt::format("at position {}: {}", at, candidates.error().text));
    auto mass = add_row(result.evidence, std::move(*candidates), sequence.output[at - sequence.prompt.size()]);
    if (!mass) return fail(mass.error().fault, fmt::format("at position {}: {}", at, mass.error().text));
    result.mean_top_mass += *mass / static_cast<double>(sequence.output.size());
  }
  std::int64_t cached = 0;
  if (root["usage"]["prompt_tokens_details"]["cached_tokens"].get_int64().get(cached) == simdjson::SUCCESS)
    result.cached_prompt_tokens = cached;
  return result;
}

std::string server_message(std::string_view body) {
  dom::parser parser;
  dom::element root;
  std::string_view text;
  if (parser.parse(simdjson::padded_string(body)).get(root) == simdjson::SUCCESS)
    for (const auto& found : {root["error"]["message"], root["message"], root["detail"], root["error"]})
      if (found.get_string().get(text) == simdjson::SUCCESS) return std::string(text.substr(0, 500));
  return std::string(body.substr(0, 200));
}

}  // namespace difr::gpu
