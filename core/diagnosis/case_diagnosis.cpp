#include "core/diagnosis/case_diagnosis.h"

#include <deque>

namespace difr {

Diagnosis diagnose_provider(const CaseFile& file, const RunRow& run, const ProviderRow& provider, DiagnosisOptions options, std::stop_token stop) {
  const auto calibrations = file.calibrations();
  if (!calibrations.empty() && calibrations.back().noise_sigma > 0) options.honest_sigma = calibrations.back().noise_sigma;
  std::deque<std::pair<Claim, Evidence>> loaded;  // stable addresses
  std::size_t tokens = 0;
  file.for_each_claim(provider.id, [&](Claim&& claim) {
    if (auto evidence = file.evidence(run.id, claim.id)) {
      tokens += claim.output.size();
      loaded.emplace_back(std::move(claim), std::move(*evidence));
    }
    return tokens < options.max_tokens;
  });
  std::vector<DiagnosisRequest> requests;
  for (const auto& [claim, evidence] : loaded) requests.push_back({&claim, &evidence});
  return diagnose(provider.config.name, requests, find_profile(provider.config.sampler), options, stop);
}

}  // namespace difr
