#pragma once
// Which seeded sampler made these tokens? Every known profile is tried against claims and stored evidence; and whether
// the tokens are plausible under the model at all, without any seed. Pure; method and numbers: docs/sampling.md.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/domain/claim.h"
#include "core/domain/evidence.h"
#include "core/sampling/profile.h"

namespace difr {

/// How the children of one request (n > 1) got their seeds.
enum class ChildSeeds : std::uint8_t { seed_plus_choice, same_seed };
[[nodiscard]] const char* to_string(ChildSeeds rule);

enum class Conclusion : std::uint8_t { unique, ambiguous, none };
[[nodiscard]] const char* to_string(Conclusion conclusion);

/// One request with its evidence. References must outlive the call.
struct IdentifySample {
  const Claim* claim = nullptr;
  const Evidence* evidence = nullptr;
};

struct IdentifyOptions {
  std::size_t max_tokens = 500;  ///< tokens looked at, spread over the requests
  std::vector<int> shifts{0, 1, -1, 2, -2};
  bool all_orders = true;     ///< also try foreign processing orders where filters or penalties are declared
  double noise_sigma = 0.03;  ///< honest logit noise per entry, for tokens at a filter's edge
  double significance = 5.0;  ///< standard deviations above what independent noise would match
};

/// One hypothesis and how often it picks the claimed token. Intervals are Wilson's, 95 %.
struct SamplerCandidate {
  std::string profile;
  ProcessingOrder order = ProcessingOrder::vllm;
  int shift = 0;
  ChildSeeds child_seeds = ChildSeeds::seed_plus_choice;
  std::size_t tokens = 0, matches = 0;
  double match_rate = 0.0, low = 0.0, high = 1.0;
  double chance = 0.0;  ///< rate expected if the tokens were drawn from the model independently of this noise
  double z = 0.0;       ///< standard deviations of the matches above that
};

/// Are the tokens plausible under the model and the declared temperature and filters, whatever the seed?
struct Plausibility {
  std::size_t tokens = 0;
  std::size_t outside_filter = 0;  ///< beyond the tolerance; not in the means
  double mean_surprise = 0.0;      ///< mean -log p(y), processed, nats
  double expected_entropy = 0.0;   ///< mean entropy of the same distributions
  double low = 0.0, high = 0.0;    ///< 95 % interval of mean_surprise - expected_entropy
  bool plausible = false;
};

struct Identification {
  Conclusion conclusion = Conclusion::none;
  std::vector<SamplerCandidate> candidates;  ///< best first
  std::vector<std::string> not_tested;       ///< "profile: reason"
  Plausibility plausibility;
  std::size_t tokens = 0;
  std::string text;  ///< the finding in one sentence
};

[[nodiscard]] Identification identify_sampler(std::span<const IdentifySample> samples,
                                              const IdentifyOptions& options = {});

/// A provider's requests in their order, cut into windows of about equal size; a fleet may run two versions at once.
struct WindowIdentification {
  std::size_t first = 0, last = 0;  ///< requests [first, last)
  Identification result;
};
[[nodiscard]] std::vector<WindowIdentification> identify_windows(std::span<const IdentifySample> samples,
                                                                 std::size_t windows,
                                                                 const IdentifyOptions& options = {});

}  // namespace difr
