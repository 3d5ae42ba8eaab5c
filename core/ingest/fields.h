#pragma once
// Typed fields of log records. A wrong type is a finding with the field's name, never an exception.

#include <simdjson.h>

#include <optional>
#include <string_view>
#include <vector>

#include "core/ingest/format_reader.h"

namespace difr {

using JsonObject = simdjson::dom::object;
using JsonElement = simdjson::dom::element;

/// The member, unless it is absent or null.
[[nodiscard]] std::optional<JsonElement> member(const JsonObject& object, std::string_view key);
[[nodiscard]] std::optional<JsonObject> object_member(const JsonObject& object, std::string_view key);
/// Nothing when absent or not an integer.
[[nodiscard]] std::optional<std::int64_t> integer_member(const JsonObject& object, std::string_view key);
/// Empty when absent or not a string.
[[nodiscard]] std::string text_member(const JsonObject& object, std::string_view key);
[[nodiscard]] bool has_list(const JsonObject& object, std::string_view key);

/// Token ids: integers in [0, vocab), or below 2^31 when vocab is 0. Nothing, and a rejection, otherwise.
[[nodiscard]] std::optional<std::vector<TokenId>> read_ids(const JsonElement& list, std::string_view field, int vocab,
                                                           ReadRecord& out);

/// Overwrites what `object` states; false, with a rejection, when a value is of the wrong type or out of range.
/// Parameters that change the sampling and are not modelled are remarked.
bool read_sampling(const JsonObject& object, SamplingParams& into, ReadRecord& out);

/// The integer under `key`. A seed of -1 means "random" to the engines and counts as none (remarked).
/// False, with a rejection, for a wrong type.
bool read_seed(const JsonObject& object, std::string_view key, std::optional<std::int64_t>& into, ReadRecord& out);

/// Stated log-probabilities: numbers, or null (NaN). Nothing unless there is exactly one for each of `tokens`.
[[nodiscard]] std::vector<float> read_logprobs(const JsonElement& list, std::size_t tokens);
/// One number of such a list.
[[nodiscard]] float read_logprob(const JsonElement& value);

/// name, model, engine, ... and sampling of a `config` object; raw_json is its text.
[[nodiscard]] ProviderConfig read_config(const JsonObject& config, std::string fallback_name, ReadRecord& out);

/// What to store for choice i when its own seed was logged: profiles add the choice to a claim's seed, as vLLM does.
[[nodiscard]] std::optional<std::int64_t> seed_before_choice(std::optional<std::int64_t> own, int choice);

/// For messages; cut when long.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace difr
