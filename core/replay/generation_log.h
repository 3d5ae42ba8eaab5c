#pragma once
// A log of generated text with all that exact replay needs: a DiFR samples log whose `config.environment` pins where it
// was made (schema: docs/json.md).

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/domain/claim.h"
#include "core/domain/evidence.h"

namespace difr {

/// Whatever the rounding of a generated text depends on.
struct GenerationEnvironment {
  ReferenceEnvironment engine;
  std::string hardware;  ///< CPU or GPU model
  int group = 0;         ///< sequences that step together; 0: not stated
  int max_tokens = 0;
  std::vector<TokenId> end_tokens;
  bool operator==(const GenerationEnvironment&) const = default;
};

/// A fact in which two environments differ, e.g. {"threads", "2", "1"}.
struct EnvironmentDifference {
  std::string fact, claimed, own;
};
[[nodiscard]] std::vector<EnvironmentDifference> compare_environments(const GenerationEnvironment& claimed,
                                                                      const GenerationEnvironment& own);

struct GeneratedSample {
  std::string id;
  std::vector<TokenId> prompt, output;
  std::optional<std::int64_t> seed;
  std::string finish_reason;       ///< stop | length | error
  std::vector<std::string> links;  ///< of the activation chain, one per output token; empty: none were kept
};

struct GenerationLog {
  std::string provider, model, engine, engine_version, sampler;
  SamplingParams sampling;
  std::optional<GenerationEnvironment> environment;  ///< absent: the log does not say where it was made
  std::vector<GeneratedSample> samples;
};

/// JSON text of the log.
[[nodiscard]] std::string write_generation_log(const GenerationLog& log);
/// Reads such a log, or any DiFR samples log (then without environment and links). Throws difr::Error (bad_input) naming
/// the file, the sample and the remedy.
[[nodiscard]] GenerationLog read_generation_log(const std::filesystem::path& path);
[[nodiscard]] GenerationLog parse_generation_log(std::string_view text, const std::string& where);

}  // namespace difr
