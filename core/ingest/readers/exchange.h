#pragma once
// A request and its answer, wherever a format keeps the two, and what they come to.

#include "core/ingest/fields.h"

namespace difr {

struct Exchange {
  std::optional<JsonObject> request, response;
  std::string id;
  std::int64_t status = 200;
  const char* remedy = "";  ///< how to make this format carry token ids
};

/// Sampling and seed as the request states them, over the file's own. False, with a rejection, when they are unusable.
/// Without a request, or without a temperature in it, a remark says what is then assumed.
bool read_request(const std::optional<JsonObject>& request, const ReadContext& context, Claim& base, ReadRecord& out);

/// The provider that an answer's "model" and "system_fingerprint" speak of.
[[nodiscard]] ProviderConfig provider_of(const std::optional<JsonObject>& request, const JsonObject& response,
                                         const ReadContext& context);

/// Adds the claim with its provider; a seed makes it `requested` unless it was marked echoed.
void add_entry(Claim claim, const ProviderConfig& provider, ReadRecord& out);

/// Remarks when a length that the log states is not that of the ids it holds.
void compare_lengths(std::string_view what, std::int64_t stated, std::size_t ids, ReadRecord& out);

/// A list of integers under one of the keys, checked as ids; absent keys and other types are passed over.
[[nodiscard]] std::optional<std::vector<TokenId>> find_ids(const JsonObject& object,
                                                           std::initializer_list<std::string_view> keys, int vocab,
                                                           ReadRecord& out);

/// Everything of an OpenAI-style answer: one entry per choice.
void read_exchange(const Exchange& exchange, const ReadContext& context, ReadRecord& out);

}  // namespace difr
