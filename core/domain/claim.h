#pragma once
// What the provider says of its requests: the input of every audit. Value types, no I/O.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace difr {

using TokenId = std::int32_t;

/// Where the output token ids come from. No verdict above "undetermined" rests on retokenised ids alone.
enum class IdsOrigin : std::uint8_t { engine, retokenised };

/// Where the seed comes from; `none` when the record carries no seed.
enum class SeedOrigin : std::uint8_t { none, requested, echoed };

/// Declared sampling. Neutral values mean "off": top_p = 1, top_k = 0, min_p = 0, penalties 1/0/0.
struct SamplingParams {
  double temperature = 1.0;
  double top_p = 1.0;
  int top_k = 0;
  double min_p = 0.0;
  double repetition_penalty = 1.0;
  double frequency_penalty = 0.0;
  double presence_penalty = 0.0;
  int min_tokens = 0;
  std::vector<std::pair<TokenId, double>> logit_bias;  ///< added to raw logits, ascending ids
  std::vector<TokenId> allowed_token_ids;              ///< empty: all allowed
  std::vector<TokenId> stop_token_ids;                 ///< suppressed while fewer than min_tokens are out

  bool operator==(const SamplingParams&) const = default;
  [[nodiscard]] bool greedy() const { return temperature < 1e-5; }
};

/// One provider configuration as declared in its log.
struct ProviderConfig {
  std::string name;            ///< `config.provider`, else the file's stem
  std::string model;
  std::string engine;
  std::string engine_version;
  std::string sampler;         ///< declared sampler profile id; empty when not declared
  std::string dtype;
  SamplingParams sampling;
  std::string raw_json;        ///< the declaration verbatim, for the report
};

/// One generated sequence (request × choice).
struct Claim {
  std::int64_t id = 0;          ///< case-file row id; 0 before it is stored
  std::int64_t provider_id = 0;
  std::string external_id;      ///< the log's own id, or "#<record>" when it has none
  int choice = 0;               ///< index among n > 1 completions
  std::vector<TokenId> prompt;
  std::vector<TokenId> output;
  std::vector<float> logprobs;  ///< as stated, one per output token, NaN where none is; empty: the log states none
  std::optional<std::int64_t> seed;
  SeedOrigin seed_origin = SeedOrigin::none;
  IdsOrigin ids_origin = IdsOrigin::engine;
  SamplingParams sampling;      ///< request's own, already merged with the provider's defaults
  std::string finish_reason;
  std::int64_t record = 0;      ///< 0-based record index in the source
};

}  // namespace difr
