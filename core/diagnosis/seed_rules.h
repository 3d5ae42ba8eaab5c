#pragma once
// Ways in which a seed may have been something else than the log declares, screened by how many tokens they explain.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/diagnosis/candidates.h"

namespace difr {

struct NamedSeedRule {
  std::string name;   ///< plain words, e.g. "the seed of the next request"
  SeedRule rule;
  int shift = 0;      ///< draws by which the stream is shifted
  const SamplerProfile* profile = nullptr;
};

struct ScreenedRule {
  NamedSeedRule rule;
  double match = 0;         ///< share of screened tokens that win under the rule
  std::size_t tried = 0;    ///< how many rules were tried
};

/// Neighbouring requests' seeds, seed ± small offsets, one seed for all, child seeds, shifted streams.
[[nodiscard]] std::optional<ScreenedRule> best_seed_rule(const CandidateTable& table, std::span<const DiagnosisRequest> requests,
                                                         const SamplerProfile& profile, std::span<const std::size_t> tokens);

/// The declared seeds under every other reproducible Gumbel profile of the registry.
[[nodiscard]] std::optional<ScreenedRule> best_other_profile(const CandidateTable& table, std::span<const DiagnosisRequest> requests,
                                                             const SamplerProfile* declared, std::span<const std::size_t> tokens);

[[nodiscard]] SeedRule declared_seed(std::span<const DiagnosisRequest> requests);

}  // namespace difr
