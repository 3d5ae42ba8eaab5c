#include "core/verdict/case_identify.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace difr {
namespace {

/// Claims with evidence; `loaded` keeps the addresses stable.
struct Samples {
  std::deque<std::pair<Claim, Evidence>> loaded;
  std::vector<IdentifySample> view;
};

Samples load_samples(const CaseFile& file, const RunRow& run, const ProviderRow& provider, std::size_t tokens_wanted) {
  // Requests of a dozen tokens still give enough, and a long log costs no more than a short one.
  const auto mean_output = std::max<std::int64_t>(1, provider.output_tokens / std::max<std::int64_t>(1, provider.requests));
  const auto wanted = std::max<std::int64_t>(16, 2 * static_cast<std::int64_t>(tokens_wanted) / mean_output + 1);
  const auto stride = std::max<std::int64_t>(1, provider.requests / wanted);
  Samples samples;
  std::int64_t index = 0;
  file.for_each_claim(provider.id, [&](Claim&& claim) {
    if (index++ % stride != 0) return true;
    if (auto evidence = file.evidence(run.id, claim.id)) samples.loaded.emplace_back(std::move(claim), std::move(*evidence));
    return true;
  });
  for (const auto& [claim, evidence] : samples.loaded) samples.view.push_back({&claim, &evidence});
  return samples;
}

}  // namespace

Identification identify_provider(const CaseFile& file, const RunRow& run, const ProviderRow& provider, const IdentifyOptions& options) {
  const auto samples = load_samples(file, run, provider, options.max_tokens);
  return identify_sampler(samples.view, options);
}

std::vector<WindowIdentification> identify_provider_windows(const CaseFile& file, const RunRow& run, const ProviderRow& provider,
                                                            std::size_t windows, const IdentifyOptions& options) {
  const auto samples = load_samples(file, run, provider, options.max_tokens * std::max<std::size_t>(1, windows));
  return identify_windows(samples.view, windows, options);
}

}  // namespace difr
