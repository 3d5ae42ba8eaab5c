#pragma once
// Generation with a declared sampler, and exact replay of what was generated (DESIGN §3).

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/replay/generation_log.h"
#include "core/sampling/profile.h"
#include "gpu/reference_engine.h"

namespace difr::gpu {

/// Tokens done; may be called from any thread, one at a time.
using TokenProgress = std::function<void(std::int64_t tokens)>;

/// What ends an output, as generation_config.json, config.json or GGUF metadata state it; ascending.
[[nodiscard]] std::vector<TokenId> end_tokens(const std::filesystem::path& model);

/// The environment in which `engine` would generate.
[[nodiscard]] GenerationEnvironment generation_environment(const ReferenceEngine& engine, const GenerateLimits& limits,
                                                           std::vector<TokenId> end_tokens);

/// Fills output, finish reason and links (when `with_links`) of every sample under log.sampling, the sample's seed and
/// `profile`; log.environment says where it stops. Returns false when stopped: outputs are then incomplete. Throws
/// difr::Error (usage) for a sampler that cannot draw, (bad_input) for prompts that the model cannot read.
bool generate_samples(ReferenceEngine& engine, GenerationLog& log, const SamplerProfile& profile, bool with_links,
                      const TokenProgress& progress, std::stop_token stop);

enum class DivergenceKind : std::uint8_t {
  token,       ///< the replay draws another token
  activation,  ///< same tokens so far, another state: found by the hash chain
  ended,       ///< the claimed output ends where the replay would go on
  went_on,     ///< the claimed output goes on after an end token
  refused,     ///< the replay's own row was not finite
};
[[nodiscard]] const char* to_string(DivergenceKind kind);

/// Where a sample first differs from its replay.
struct Divergence {
  std::size_t sample = 0;
  int t = 0;
  DivergenceKind kind = DivergenceKind::token;
  TokenId claimed = -1, own = -1;
  double margin = 0;  ///< logit units; of kind token
};

struct ReplayResult {
  std::int64_t samples = 0, tokens = 0;  ///< tokens: up to each sample's first divergence
  std::int64_t links_checked = 0;
  std::vector<Divergence> divergences;  ///< at most one a sample, in order of the log
  bool stopped = false;
};

/// Feeds the claimed tokens in the very groups in which they were generated and draws beside them. Only a replay in the
/// same environment means anything: see compare_environments().
[[nodiscard]] ReplayResult replay_samples(ReferenceEngine& engine, const GenerationLog& log,
                                          const SamplerProfile& profile, const GenerateLimits& limits,
                                          const TokenProgress& progress, std::stop_token stop);

}  // namespace difr::gpu
