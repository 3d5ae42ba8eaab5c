#include "gpu/recompute/case_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/util/error.h"

namespace difr::gpu {

namespace {

/// Why this reference cannot score the claim; empty when it can.
std::string obstacle(const Claim& claim, const CaseLimits& limits) {
  if (claim.prompt.empty()) return "the prompt is empty: the first output token has nothing to be predicted from";
  if (claim.output.empty()) return "the output is empty";
  for (const auto* ids : {&claim.prompt, &claim.output})
    for (const auto id : *ids)
      if (id < 0 || id >= limits.vocab)
        return fmt::format("token id {} is outside the reference's vocabulary 0..{}", id, limits.vocab - 1);
  const auto length = claim.prompt.size() + claim.output.size();
  if (length > static_cast<std::size_t>(limits.max_tokens))
    return fmt::format("{} tokens are more than the {} that fit the model's positions", length, limits.max_tokens);
  return {};
}

class CaseLoop {
 public:
  CaseLoop(CaseFile& file, const CaseLimits& limits, const RecomputeOptions& options, const BatchWork& work,
           const ProgressCallback& progress, std::stop_token stop)
      : file_(file), limits_(limits), options_(options), work_(work), progress_(progress), stop_(std::move(stop)) {
    for (const auto& provider : file_.providers()) providers_[provider.id] = provider.config;
  }

  RecomputeResult run(const ReferenceEnvironment& environment, std::span<const std::int64_t> provider_ids) {
    result_.run_id = file_.begin_run(environment);
    try {
      survey(provider_ids);
      report();
      std::size_t at = 0;
      while (at < todo_.size() && !stop_.stop_requested()) at = run_batch(at);
      result_.stopped = stop_.stop_requested() && state_.requests_done < state_.requests_total;
    } catch (...) {
      file_.set_run_state(result_.run_id, RunState::failed);
      throw;
    }
    file_.set_run_state(result_.run_id, result_.stopped ? RunState::cancelled : RunState::done);
    return std::move(result_);
  }

 private:
  struct Todo {
    std::int64_t request_id = 0;
    std::int64_t tokens = 0;
  };

  /// What is left to do, in id order, without keeping the claims.
  void survey(std::span<const std::int64_t> provider_ids) {
    const auto pending = file_.pending_requests(result_.run_id, provider_ids);
    std::vector<std::int64_t> ids(provider_ids.begin(), provider_ids.end());
    if (ids.empty()) ids.push_back(0);
    for (const auto provider : ids) {
      file_.for_each_claim(provider, [&](Claim&& claim) {
        if (!std::ranges::binary_search(pending, claim.id)) return !stop_.stop_requested();
        if (auto reason = obstacle(claim, limits_); !reason.empty())
          result_.skipped.push_back({claim.id, claim.external_id, std::move(reason)});
        else
          todo_.push_back({claim.id, static_cast<std::int64_t>(claim.prompt.size() + claim.output.size())});
        return !stop_.stop_requested();
      });
    }
    std::ranges::sort(todo_, {}, &Todo::request_id);
    state_.requests_total = static_cast<std::int64_t>(todo_.size());
    for (const auto& item : todo_) state_.tokens_total += item.tokens;
  }

  const SamplerProfile* profile_of(const Claim& claim) const {
    if (claim.sampling.greedy()) return find_profile("greedy");
    const auto provider = providers_.find(claim.provider_id);
    if (provider == providers_.end()) return nullptr;
    const auto* profile = find_profile(provider->second.sampler);
    // A log that says "greedy" and samples at T > 0 contradicts itself; no noise can be assumed for it.
    return profile != nullptr && profile->family == SamplerFamily::greedy ? nullptr : profile;
  }

  /// Runs requests from `first` on up to the token budget; returns the first request after them.
  std::size_t run_batch(std::size_t first) {
    std::vector<BatchItem> items;
    std::int64_t tokens = 0;
    std::size_t last = first;
    while (last < todo_.size() && (items.empty() || tokens + todo_[last].tokens <= options_.batch_tokens)) {
      tokens += todo_[last].tokens;
      auto claim = file_.claim(todo_[last++].request_id);
      if (!claim) continue;
      const auto* profile = profile_of(*claim);
      items.push_back({std::move(*claim), profile});
    }
    store(items, work_(items));
    report();
    return last;
  }

  void store(std::span<const BatchItem> items, std::vector<BatchOutcome> outcomes) {
    std::vector<ScoredRequest> batch;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto& claim = items[i].claim;
      if (auto& scored = outcomes[i].scored) {
        result_.tokens += static_cast<std::int64_t>(claim.output.size());
        result_.refused_tokens +=
            std::ranges::count_if(scored->scores.flags, [](auto flags) { return (flags & TokenFlag::refused) != 0; });
        batch.push_back(std::move(*scored));
      } else if (!outcomes[i].failure.empty()) {
        result_.skipped.push_back({claim.id, claim.external_id, outcomes[i].failure});
      } else {
        continue;  // stopped before its last row: stays pending
      }
      ++state_.requests_done;
      state_.tokens_done += static_cast<std::int64_t>(claim.prompt.size() + claim.output.size());
    }
    file_.store_batch(result_.run_id, batch);
    result_.requests += static_cast<std::int64_t>(batch.size());
  }

  void report() const {
    if (progress_) progress_(state_);
  }

  CaseFile& file_;
  CaseLimits limits_;
  const RecomputeOptions& options_;
  const BatchWork& work_;
  const ProgressCallback& progress_;
  std::stop_token stop_;
  std::map<std::int64_t, ProviderConfig> providers_;
  std::vector<Todo> todo_;
  RecomputeProgress state_;
  RecomputeResult result_;
};

}  // namespace

RecomputeResult run_case(CaseFile& file, const ReferenceEnvironment& environment, const CaseLimits& limits,
                         std::span<const std::int64_t> provider_ids, const RecomputeOptions& options,
                         const BatchWork& work, const ProgressCallback& progress, std::stop_token stop) {
  return CaseLoop(file, limits, options, work, progress, std::move(stop)).run(environment, provider_ids);
}

}  // namespace difr::gpu
