#include "gpu/generate/generate.h"

#include <algorithm>
#include <mutex>

#include "core/replay/activation_chain.h"
#include "core/scoring/token_difr.h"

namespace difr::gpu {

namespace {

/// Exact replay knows no tolerance: ties at a filter's cut are settled as generation settles them.
constexpr ScoreOptions kExact{.noise_sigma = 0, .edge_z = 0, .bf16_logits = false};

bool contains(const std::vector<TokenId>& ids, TokenId id) {
  return std::ranges::find(ids, id) != ids.end();
}

Claim claim_of(const GenerationLog& log, const GeneratedSample& sample) {
  Claim claim;
  claim.prompt = sample.prompt;
  claim.output = sample.output;
  claim.seed = sample.seed;
  claim.sampling = log.sampling;
  return claim;
}

std::vector<std::span<const TokenId>> prompts_of(const GenerationLog& log) {
  std::vector<std::span<const TokenId>> prompts;
  for (const auto& sample : log.samples) prompts.emplace_back(sample.prompt);
  return prompts;
}

class Counter {
 public:
  explicit Counter(const TokenProgress& progress) : progress_(progress) {}
  void add() {
    const std::lock_guard lock(guard_);
    ++tokens_;
    if (progress_) progress_(tokens_);
  }

 private:
  const TokenProgress& progress_;
  std::mutex guard_;
  std::int64_t tokens_ = 0;
};

}  // namespace

const char* to_string(DivergenceKind kind) {
  switch (kind) {
    case DivergenceKind::token:
      return "token";
    case DivergenceKind::activation:
      return "activation";
    case DivergenceKind::ended:
      return "ended";
    case DivergenceKind::went_on:
      return "went-on";
    case DivergenceKind::refused:
      return "refused";
  }
  return "?";
}

bool generate_samples(ReferenceEngine& engine, GenerationLog& log, const SamplerProfile& profile, bool with_links,
                      const TokenProgress& progress, std::stop_token stop) {
  const auto& environment = log.environment.value();
  std::vector<RowScorer> samplers;
  for (auto& sample : log.samples) {
    sample.output.clear();
    sample.links.clear();
    sample.finish_reason.clear();
    samplers.emplace_back(claim_of(log, sample), profile, engine.info().vocab, kExact);
  }
  std::vector<ActivationChain> chains(log.samples.size());
  Counter counter(progress);
  const NextToken next = [&](std::size_t i, int, std::span<const float> logits,
                             std::span<const float> hidden) -> std::optional<TokenId> {
    auto& sample = log.samples[i];
    const auto token = samplers[i].draw(logits);
    if (!token) {
      sample.finish_reason = "error";
      return std::nullopt;
    }
    sample.output.push_back(*token);
    if (with_links) {
      chains[i].add(hidden);
      sample.links.push_back(chains[i].link());
    }
    counter.add();
    if (contains(environment.end_tokens, *token)) {
      sample.finish_reason = "stop";
      return std::nullopt;
    }
    return token;
  };
  engine.generate(prompts_of(log), {.max_tokens = environment.max_tokens, .group = environment.group}, next, stop);
  for (auto& sample : log.samples)
    if (sample.finish_reason.empty()) sample.finish_reason = "length";
  return !stop.stop_requested();
}

ReplayResult replay_samples(ReferenceEngine& engine, const GenerationLog& log, const SamplerProfile& profile,
                            const GenerateLimits& limits, const TokenProgress& progress, std::stop_token stop) {
  std::vector<RowScorer> scorers;
  for (const auto& sample : log.samples)
    scorers.emplace_back(claim_of(log, sample), profile, engine.info().vocab, kExact);
  std::vector<ActivationChain> chains(log.samples.size());
  std::vector<std::optional<Divergence>> first(log.samples.size());
  std::vector<std::int64_t> agreed(log.samples.size()), linked(log.samples.size());
  const auto ends = log.environment ? log.environment->end_tokens : std::vector<TokenId>{};
  Counter counter(progress);
  const NextToken next = [&](std::size_t i, int step, std::span<const float> logits,
                             std::span<const float> hidden) -> std::optional<TokenId> {
    const auto& sample = log.samples[i];
    const auto t = static_cast<std::size_t>(step);
    if (t >= sample.output.size()) return std::nullopt;
    const TokenId claimed = sample.output[t];
    auto& found = first[i];
    if (!found) {
      scorers[i].add(logits);
      const auto& scores = scorers[i].scores();
      const auto flags = scores.flags.back();
      const TokenId own = scores.reference_token.back();
      if (!sample.links.empty()) {
        chains[i].add(hidden);
        ++linked[i];
      }
      const auto note = [&](DivergenceKind kind) {
        found = Divergence{i, step, kind, claimed, own, static_cast<double>(scores.margin.back())};
      };
      if ((flags & TokenFlag::refused) != 0)
        note(DivergenceKind::refused);
      else if (!sample.links.empty() && chains[i].link() != sample.links[t])
        note(DivergenceKind::activation);
      else if (own != claimed)
        note(DivergenceKind::token);
      else
        ++agreed[i];
      counter.add();
    }
    const bool last = t + 1 == sample.output.size();
    if (!found && contains(ends, claimed) && !last) found = Divergence{i, step, DivergenceKind::went_on, claimed, -1, 0};
    // What the generating run did next follows from the claim, not from the replay: the group must keep its shape.
    return last && sample.finish_reason != "error" ? std::nullopt : std::optional(claimed);
  };
  engine.generate(prompts_of(log), limits, next, stop);
  ReplayResult result;
  result.samples = static_cast<std::int64_t>(log.samples.size());
  result.stopped = stop.stop_requested();
  for (std::size_t i = 0; i < log.samples.size(); ++i) {
    const auto& sample = log.samples[i];
    const auto length = static_cast<int>(sample.output.size());
    const auto room = engine.info().max_positions + 1 - static_cast<int>(sample.prompt.size());
    const bool complete = sample.finish_reason == "error" || length >= std::min(limits.max_tokens, room) ||
                          (length > 0 && contains(ends, sample.output.back()));
    // Without an environment nobody knows what ended the output.
    if (!first[i] && log.environment && !complete && !result.stopped)
      first[i] = Divergence{i, length, DivergenceKind::ended};
    result.tokens += agreed[i];
    result.links_checked += linked[i];
    if (first[i]) result.divergences.push_back(*first[i]);
  }
  return result;
}

}  // namespace difr::gpu
