#include "core/ingest/plausibility.h"

#include <fmt/format.h>

#include <algorithm>

namespace difr {
namespace {

/// Longest run of one id: its length, id and place.
struct Run {
  std::size_t length = 0, at = 0;
  TokenId id = -1;
};

Run longest_run(const std::vector<TokenId>& ids) {
  Run best;
  for (std::size_t i = 0; i < ids.size();) {
    auto end = i + 1;
    while (end < ids.size() && ids[end] == ids[i]) ++end;
    if (end - i > best.length) best = {end - i, i, ids[i]};
    i = end;
  }
  return best;
}

/// How engines spell a draft model or n-gram drafts in their settings.
std::string_view speculative_key(std::string_view config) {
  for (const std::string_view key :
       {"\"speculative", "\"num_speculative_tokens", "\"draft_model", "\"spec_decoding", "\"mtp_"}) {
    const auto at = config.find(key);
    if (at == std::string_view::npos) continue;
    const auto end = config.find('"', at + 1);
    if (end == std::string_view::npos) continue;
    const auto value = config.substr(std::min(config.size(), end + 2));
    // Written, but switched off.
    if (value.starts_with("null") || value.starts_with("false") || value.starts_with("0") || value.starts_with("\"\""))
      continue;
    return config.substr(at + 1, end - at - 1);
  }
  return {};
}

bool is_stop(const std::string& reason) {
  return reason == "stop" || reason == "eos" || reason == "eos_token" || reason == "end_turn";
}

}  // namespace

void Plausibility::check(const Claim& claim, const ProviderConfig& provider, ReadRecord& out) {
  // A template that writes the first special token itself, and a tokenizer that adds it again.
  if (claim.prompt.size() > 2 && claim.prompt[0] == claim.prompt[1] &&
      std::count(claim.prompt.begin() + 2,
                 claim.prompt.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(claim.prompt.size(), 4)),
                 claim.prompt[0]) == 0)
    out.remark("doubled-bos", fmt::format("the prompt begins with the id {} twice", claim.prompt[0]),
               "usually a chat template that writes the first token which the tokenizer adds again; early margins may "
               "be large");
  // Argmax over NaN logits gives id 0; a runaway repetition gives any.
  constexpr std::size_t suspicious_zeros = 8, suspicious_run = 32;
  const auto run = longest_run(claim.output);
  if ((run.id == 0 && run.length >= suspicious_zeros) || run.length >= suspicious_run)
    out.remark("token-run",
               fmt::format("the id {} stands {} times in a row from position {}", run.id, run.length, run.at),
               run.id == 0 ? "runs of id 0 are what logits that are not numbers lead to"
                           : "a loop of the model, or a fault of the engine");
  const double t = claim.sampling.temperature;
  constexpr double floor = 0.01;
  const bool trt =
      provider.engine.find("trt") != std::string::npos || provider.engine.find("tensorrt") != std::string::npos;
  if (t > 0 && t < floor && (trt || provider.engine.empty() || provider.engine == "vllm"))
    out.remark("temperature-floor",
               fmt::format("the temperature {} lies below {}, to which vLLM and TensorRT-LLM raise it", t, floor),
               trt ? "TensorRT-LLM samples greedily up to 1e-4" : "vLLM samples greedily below 1e-5");
  if (claim.sampling.min_p > 0 && claim.seed && provider.engine == "sglang")
    out.remark("min-p-with-seed",
               fmt::format("min-p {} together with a seed: SGLang's seeded sampler refuses that", claim.sampling.min_p),
               "the seed was not used, or the filter was not: ask the provider which; the sampling cannot be checked "
               "as declared");
  if (is_stop(claim.finish_reason) && !claim.output.empty()) {
    ++stopped_;
    constexpr std::size_t most_kept = 1000;
    if (last_ids_.size() < most_kept || last_ids_.contains(claim.output.back())) ++last_ids_[claim.output.back()];
  }
}

void Plausibility::check(const ProviderConfig& provider, ReadRecord& out) {
  if (const auto key = speculative_key(provider.raw_json); !key.empty())
    out.remark(
        "speculative-decoding",
        fmt::format("the configuration sets “{}”: drafts are accepted or rejected with random numbers of their own",
                    key),
        "a seed then explains tokens only where the engine draws one Gumbel noise for draft and target; expect the "
        "sampler not to be identified, or ask for a run without speculative decoding");
}

void Plausibility::summarise(ReadRecord& out) const {
  constexpr std::int64_t enough = 4;
  if (stopped_ < enough) return;
  const auto common = std::max_element(last_ids_.begin(), last_ids_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (common->second * 10 >= stopped_ * 9)
    out.remark("eos-included",
               fmt::format("{} of {} stopped outputs end in the id {}: the end-of-sequence token is in the log",
                           common->second, stopped_, common->first),
               "nothing to do: the choice to stop is audited, too");
  else
    out.remark(
        "eos-left-out",
        fmt::format(
            "stopped outputs end in different ids (most often {}, {} of {}): the end-of-sequence token seems left out",
            common->first, common->second, stopped_),
        "the choice to stop cannot be audited; log the engine's ids with the last one");
}

}  // namespace difr
