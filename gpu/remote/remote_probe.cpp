// Is this server fit to be a reference? Faults that would look like a cheating provider are looked for beforehand.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/util/error.h"
#include "gpu/remote/remote_reference.h"

namespace difr::gpu {

namespace {

constexpr std::size_t kUnknownBeginning = 16;  // one block of vLLM's prefix cache
constexpr std::size_t kLongestProbe = 512;
/// Another batch shape moves log-probabilities of bf16 logits by a few hundredths in the mean; a temperature of 0.5, or
/// rows of another prompt, by whole units.
constexpr double kSame = 0.25;
constexpr std::size_t kCompared = 5;  // candidates a row: those whose values are largest and steadiest

/// Mean |difference| of the values that both have, over rows [0, rows) and their best candidates.
double mean_difference(const Evidence& a, const Evidence& b, std::size_t rows) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t t = 0; t < rows; ++t) {
    const auto compared = std::min(kCompared, static_cast<std::size_t>(a.top_m));
    for (std::size_t i = 0; i < compared; ++i) {
      const auto ids = b.ids(t);
      const auto found = std::ranges::find(ids, a.ids(t)[i]);
      // Not among the other's K best: it lies at or below the K-th there.
      const auto other =
          b.logits(t)[found == ids.end() ? ids.size() - 1 : static_cast<std::size_t>(found - ids.begin())];
      sum += std::abs(double{a.logits(t)[i]} - double{other});
      ++count;
    }
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace

PromptLogprobs RemoteReference::require(HttpSession& session, const Sequence& sequence,
                                        const PromptLogprobsQuery& query, const std::stop_token& stop) const {
  auto answer = ask_one(session, sequence, query, stop);
  if (answer.reply) return std::move(*answer.reply);
  throw error(answer.refusal.empty() ? "was not probed to the end: stopped" : "refuses the probe: " + answer.refusal,
              "check --vocab, and that the server serves the model of the logs");
}

RemoteProbe RemoteReference::probe(std::span<const TokenId> tokens, const std::stop_token& stop) const {
  tokens = tokens.first(std::min(tokens.size(), kLongestProbe));
  std::vector<TokenId> prompt(kUnknownBeginning);
  std::random_device device;
  std::uniform_int_distribution<TokenId> any(0, options_.vocab - 1);
  for (auto& id : prompt) id = any(device);
  const std::vector<TokenId> output(tokens.begin(), tokens.end());
  // Shares all but the last third, which runs backwards.
  std::vector<TokenId> branch = output;
  const std::size_t shared = output.size() - output.size() / 3;
  std::reverse(branch.begin() + static_cast<std::ptrdiff_t>(shared), branch.end());

  HttpSession session(options_.key, options_.limits);
  const PromptLogprobsQuery neutral{.model = options_.model, .top_k = options_.top_k};
  auto processed = neutral;
  processed.temperature = 0.5;
  processed.sampler_top_k = 2;
  const auto cold = require(session, {prompt, output}, neutral, stop);
  const auto warm = require(session, {prompt, output}, neutral, stop);
  const auto other = require(session, {prompt, branch}, neutral, stop);
  const auto sampled = require(session, {prompt, output}, processed, stop);

  RemoteProbe result;
  result.top_mass = cold.mean_top_mass;
  result.repeat_difference = mean_difference(cold.evidence, warm.evidence, output.size());
  result.prefix_difference = mean_difference(cold.evidence, other.evidence, shared);
  result.processed_difference = mean_difference(cold.evidence, sampled.evidence, output.size());
  result.cached_tokens = std::max(warm.cached_prompt_tokens.value_or(0), other.cached_prompt_tokens.value_or(0));
  const char* const no_cache =
      "start the server with --no-enable-prefix-caching: cached prompts have stale or no values";
  if (result.cached_tokens > 0)
    throw error(fmt::format("takes {} tokens of a repeated prompt from a prefix cache", result.cached_tokens),
                no_cache);
  if (!(result.repeat_difference <= kSame))
    throw error(fmt::format("answers the same request differently the second time (by {:.3g} in the mean)",
                            result.repeat_difference),
                no_cache);
  if (!(result.prefix_difference <= kSame))
    throw error(fmt::format("answers a shared prefix differently (by {:.3g} in the mean)", result.prefix_difference),
                no_cache);
  if (!(result.processed_difference <= kSame))
    throw error(
        fmt::format("returns processed log-probabilities: they change with the temperature (by {:.3g} in the mean)",
                    result.processed_difference),
        "start the server with --logprobs-mode raw_logprobs");
  return result;
}

}  // namespace difr::gpu
