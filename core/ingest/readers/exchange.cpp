#include "core/ingest/readers/exchange.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "core/casefile/sampling_json.h"

namespace difr {
namespace {

bool is_integer_list(const JsonElement& element) {
  simdjson::dom::array list;
  if (element.get(list) != simdjson::SUCCESS) return false;
  for (const JsonElement first : list) return first.is_int64() || first.is_uint64() || first.is_double();
  return true;
}

/// "token_id:123", which vLLM writes in place of text with return_tokens_as_token_ids.
std::optional<TokenId> written_id(const JsonElement& element) {
  constexpr std::string_view prefix = "token_id:";
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS || !text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  TokenId id = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), id);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || id < 0) return std::nullopt;
  return id;
}

/// The list that stands for the generated tokens in a choice's logprobs: {"content": [{"token"}]} or {"tokens": []}.
std::optional<simdjson::dom::array> logprob_list(const JsonObject& choice) {
  const auto logprobs = object_member(choice, "logprobs");
  if (!logprobs) return std::nullopt;
  for (const auto key : {"content", "tokens"}) {
    simdjson::dom::array list;
    if (const auto found = member(*logprobs, key); found && found->get(list) == simdjson::SUCCESS) return list;
  }
  return std::nullopt;
}

std::optional<std::vector<TokenId>> ids_in_logprobs(const JsonObject& choice) {
  const auto list = logprob_list(choice);
  if (!list) return std::nullopt;
  std::vector<TokenId> ids;
  for (const JsonElement element : *list) {
    JsonObject entry;
    const auto token = element.get(entry) == simdjson::SUCCESS ? member(entry, "token") : std::optional(element);
    const auto id = token ? written_id(*token) : std::nullopt;
    if (!id) return std::nullopt;
    ids.push_back(*id);
  }
  return ids;
}

/// {"content": [{"logprob"}]} or {"token_logprobs": []}; empty unless there is one for each token.
std::vector<float> stated_logprobs(const JsonObject& choice, std::size_t tokens) {
  const auto logprobs = object_member(choice, "logprobs");
  if (!logprobs) return {};
  if (const auto list = member(*logprobs, "token_logprobs")) return read_logprobs(*list, tokens);
  simdjson::dom::array content;
  const auto found = member(*logprobs, "content");
  if (!found || found->get(content) != simdjson::SUCCESS || content.size() != tokens) return {};
  std::vector<float> out;
  for (const JsonElement element : content) {
    JsonElement value;
    out.push_back(element["logprob"].get(value) == simdjson::SUCCESS ? read_logprob(value)
                                                                     : std::numeric_limits<float>::quiet_NaN());
  }
  return out;
}

/// The ids that a completion server makes of a prompt sent as text; it adds the special tokens unless told not to.
std::optional<std::vector<TokenId>> prompt_from_text(const JsonObject& request, const TextEncoder& encoder,
                                                     Claim& base) {
  const auto text = text_member(request, "prompt");
  if (text.empty()) return std::nullopt;
  bool special = true;
  if (const auto told = member(request, "add_special_tokens"); told && told->get(special) != simdjson::SUCCESS)
    special = true;
  base.ids_origin = IdsOrigin::retokenised;
  return encoder.encode(text, special);
}

std::optional<std::string> text_of_choice(const JsonObject& choice) {
  auto text = text_member(choice, "text");
  if (text.empty())
    if (const auto message = object_member(choice, "message")) text = text_member(*message, "content");
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

bool read_prompt(const Exchange& e, const JsonObject& first_choice, const ReadContext& context, Claim& base,
                 ReadRecord& out) {
  const auto faults = out.findings.size();
  auto answered = find_ids(*e.response, {"prompt_token_ids"}, context.vocab, out);
  if (!answered) answered = find_ids(first_choice, {"prompt_token_ids"}, context.vocab, out);
  auto asked = e.request
                   ? find_ids(*e.request, {"prompt", "token_ids", "input_ids", "prompt_token_ids"}, context.vocab, out)
                   : std::nullopt;
  if (out.findings.size() > faults) return false;
  if (asked && answered && *asked != *answered)
    out.remark("prompt-ids-differ", "the prompt's ids in the request are not those in the answer",
               "the engine's own are used; find out what changed the prompt on its way");
  if (!answered) answered = std::move(asked);
  if (!answered && context.encoder && e.request) answered = prompt_from_text(*e.request, *context.encoder, base);
  if (!answered || answered->empty()) {
    const bool chat = context.encoder && e.request && has_list(*e.request, "messages");
    out.reject("no-token-ids",
               chat ? "the prompt of a chat cannot be made from its messages: the server's template is not known"
                    : "the answer carries no token ids of the prompt",
               e.remedy);
    return false;
  }
  base.prompt = std::move(*answered);
  return true;
}

void read_choice(const Exchange& e, const JsonObject& choice, const ReadContext& context, Claim claim,
                 const ProviderConfig& provider, ReadRecord& out) {
  std::int64_t index = claim.choice;
  index = integer_member(choice, "index").value_or(index);
  claim.choice = static_cast<int>(index);
  claim.finish_reason = text_member(choice, "finish_reason");
  const auto faults = out.findings.size();
  auto ids = find_ids(choice, {"token_ids"}, context.vocab, out);
  if (!ids)
    if (const auto more = object_member(choice, "provider_specific_fields"))
      ids = find_ids(*more, {"token_ids"}, context.vocab, out);
  if (!ids) ids = ids_in_logprobs(choice);
  if (out.findings.size() > faults) return;
  if (!ids && context.encoder)
    if (const auto text = text_of_choice(choice)) {
      ids = context.encoder->encode(*text, false);
      claim.ids_origin = IdsOrigin::retokenised;
    }
  if (!ids) {
    out.reject("no-token-ids", fmt::format("choice {} carries no token ids", claim.choice), e.remedy);
    return;
  }
  if (ids->empty()) {
    out.reject("empty-output", fmt::format("choice {} has no tokens: there is nothing to audit", claim.choice),
               "leave such records out, or find out why nothing was generated");
    return;
  }
  if (const auto list = logprob_list(choice))
    compare_lengths("the list of log-probabilities", static_cast<std::int64_t>(list->size()), ids->size(), out);
  claim.output = std::move(*ids);
  claim.logprobs = stated_logprobs(choice, claim.output.size());
  add_entry(std::move(claim), provider, out);
}

}  // namespace

std::optional<std::vector<TokenId>> find_ids(const JsonObject& object, std::initializer_list<std::string_view> keys,
                                             int vocab, ReadRecord& out) {
  for (const auto key : keys)
    if (const auto found = member(object, key); found && is_integer_list(*found))
      return read_ids(*found, key, vocab, out);
  return std::nullopt;
}

void compare_lengths(std::string_view what, std::int64_t stated, std::size_t ids, ReadRecord& out) {
  if (stated != static_cast<std::int64_t>(ids))
    out.remark("length-mismatch", fmt::format("{} counts {} tokens, the ids are {}", what, stated, ids),
               "ids may be cut, or a stop token left out: compare with the engine's own count");
}

bool read_request(const std::optional<JsonObject>& request, const ReadContext& context, Claim& base, ReadRecord& out) {
  base.sampling = context.declared.sampling;
  base.seed = context.declared_seed;
  if (!request) {
    out.remark("request-missing", "the answer stands without its request: seed and sampling parameters are not known",
               "store the request beside the answer; the neutral temperature 1 without filters is assumed");
    return true;
  }
  bool temperature = false;
  const auto read = [&](const JsonObject& from) {
    temperature |= member(from, "temperature").has_value();
    return read_sampling(from, base.sampling, out) && read_seed(from, "seed", base.seed, out) &&
           read_seed(from, "sampling_seed", base.seed, out);
  };
  if (!read(*request)) return false;
  for (const auto key : {"sampling_params", "parameters", "options", "extra_body"})
    if (const auto nested = object_member(*request, key); nested && !read(*nested)) return false;
  if (!temperature)
    out.remark("temperature-not-stated",
               fmt::format("the request states no temperature; {} is assumed", base.sampling.temperature),
               "engines fall back on the model's generation_config.json: state it in each request");
  return true;
}

ProviderConfig provider_of(const std::optional<JsonObject>& request, const JsonObject& response,
                           const ReadContext& context) {
  auto provider = context.declared;
  const auto fingerprint = text_member(response, "system_fingerprint");
  if (provider.model.empty()) provider.model = text_member(response, "model");
  if (provider.model.empty() && request) provider.model = text_member(*request, "model");
  constexpr std::string_view vllm = "vllm-";
  if (provider.engine.empty() && fingerprint.starts_with(vllm)) {
    provider.engine = "vllm";
    provider.engine_version = fingerprint.substr(vllm.size(), fingerprint.find('-', vllm.size()) - vllm.size());
  }
  if (provider.raw_json == "{}")
    provider.raw_json =
        fmt::format(R"({{"model":{},"system_fingerprint":{}}})", json_quoted(provider.model), json_quoted(fingerprint));
  return provider;
}

void add_entry(Claim claim, const ProviderConfig& provider, ReadRecord& out) {
  if (!claim.seed)
    claim.seed_origin = SeedOrigin::none;
  else if (claim.seed_origin == SeedOrigin::none)
    claim.seed_origin = SeedOrigin::requested;
  ReadRecord::Entry entry;
  entry.claim = std::move(claim);
  entry.provider = provider;
  entry.own_provider = true;
  out.entries.push_back(std::move(entry));
}

void read_exchange(const Exchange& e, const ReadContext& context, ReadRecord& out) {
  if (!e.response) {
    out.reject("request-only", "this is a request without its answer",
               "import the file of the answers, with this one beside it");
    return;
  }
  const auto& response = *e.response;
  if (e.status >= 400 || member(response, "error_body") ||
      (member(response, "error") && !member(response, "choices"))) {
    out.reject("request-failed", fmt::format("the server answered with an error (status {})", e.status),
               "nothing was generated: leave it out, or send the request again");
    return;
  }
  simdjson::dom::array choices;
  const auto found = member(response, "choices");
  if (!found || found->get(choices) != simdjson::SUCCESS) {
    const bool responses_api = text_member(response, "object") == "response";
    out.reject(
        responses_api ? "no-token-ids" : "not-a-generation",
        responses_api ? "the Responses API gives no token ids" : "the answer is not that of a generation",
        responses_api ? "use /v1/chat/completions or /v1/completions with “return_token_ids”: true" : "leave it out");
    return;
  }
  Claim base;
  base.external_id = e.id.empty() ? text_member(response, "id") : e.id;
  if (base.external_id.empty()) base.external_id = text_member(response, "request_id");
  if (!read_request(e.request, context, base, out)) return;
  if (choices.size() == 0) {
    out.reject("empty-outputs", "“choices” is an empty list",
               "leave such records out, or find out why nothing was generated");
    return;
  }
  JsonObject first;
  if (choices.at(0).get(first) != simdjson::SUCCESS) {
    out.reject("wrong-type", "a choice is not an object", "check how the log was written");
    return;
  }
  if (!read_prompt(e, first, context, base, out)) return;
  const auto provider = provider_of(e.request, response, context);
  if (e.request)
    if (const auto asked = text_member(*e.request, "model"), got = text_member(response, "model");
        !asked.empty() && !got.empty() && asked != got)
      out.remark("model-differs", fmt::format("{} was asked for, {} answered", in_quotes(asked), in_quotes(got)),
                 "an alias is harmless; another model is not");
  std::size_t before = out.entries.size();
  for (const JsonElement element : choices) {
    JsonObject choice;
    if (element.get(choice) == simdjson::SUCCESS)
      read_choice(e, choice, context, base, provider, out);
    else
      out.reject("wrong-type", "a choice is not an object", "check how the log was written");
    ++base.choice;
  }
  if (const auto usage = object_member(response, "usage")) {
    std::size_t ids = 0;
    for (; before < out.entries.size(); ++before) ids += out.entries[before].claim.output.size();
    std::int64_t stated = 0;
    if (const auto value = member(*usage, "completion_tokens");
        value && value->get(stated) == simdjson::SUCCESS && ids > 0)
      compare_lengths("“usage”", stated, ids, out);
  }
  if (choices.size() > 1)
    out.remark("n-greater-1",
               fmt::format("{} sequences of one request: sequence i is taken to use the seed + i, as vLLM does",
                           choices.size()),
               "if the engine gives children their seeds differently, send one request for each");
}

}  // namespace difr
