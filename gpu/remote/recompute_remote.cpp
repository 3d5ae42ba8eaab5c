#include "gpu/remote/recompute_remote.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/util/error.h"
#include "gpu/recompute/case_loop.h"

namespace difr::gpu {

namespace {

/// As in a local recomputation: without a known sampler only ranks and cross-entropy hold.
const SamplerProfile kUnknownSampler{};

BatchOutcome scored(const BatchItem& item, RemoteAnswer answer, const ScoreOptions& scoring) {
  BatchOutcome outcome;
  outcome.failure = std::move(answer.refusal);
  if (!answer.reply) return outcome;
  ScoredRequest result;
  result.request_id = item.claim.id;
  result.evidence = std::move(answer.reply->evidence);
  if (item.profile != nullptr) result.profile = item.profile->id;
  try {
    result.scores =
        score_evidence(item.claim, result.evidence, item.profile != nullptr ? *item.profile : kUnknownSampler, scoring);
    outcome.scored = std::move(result);
  } catch (const Error& error) {
    // One claim that cannot be scored must not stop the others.
    if (error.code() != ExitCode::bad_input) throw;
    outcome.failure = error.what();
  }
  return outcome;
}

}  // namespace

RecomputeResult recompute_case_remote(CaseFile& file, const RemoteReference& reference,
                                      std::span<const std::int64_t> provider_ids, const RecomputeOptions& options,
                                      const ProgressCallback& progress, std::stop_token stop) {
  const CaseLimits limits{
      .vocab = reference.options().vocab,
      // One token is generated besides: the server's limit counts it.
      .max_tokens = reference.max_positions() > 0 ? reference.max_positions() - 1 : std::numeric_limits<int>::max()};
  bool probed = false;
  const auto work = [&](std::span<const BatchItem> items) {
    std::vector<Sequence> sequences;
    for (const auto& item : items) sequences.push_back({item.claim.prompt, item.claim.output});
    if (!probed) {
      const auto longest = std::ranges::max_element(sequences, {}, [](const Sequence& s) { return s.output.size(); });
      try {
        (void)reference.probe(longest->output, stop);
      } catch (const Error&) {
        if (!stop.stop_requested()) throw;
        return std::vector<BatchOutcome>(items.size());
      }
      probed = true;
    }
    auto answers = reference.ask(sequences, stop);
    std::vector<BatchOutcome> outcomes;
    for (std::size_t i = 0; i < items.size(); ++i)
      outcomes.push_back(scored(items[i], std::move(answers[i]), options.scoring));
    return outcomes;
  };
  return run_case(file, reference.environment(), limits, provider_ids, options, work, progress, stop);
}

}  // namespace difr::gpu
