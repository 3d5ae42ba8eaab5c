// Records that carry token ids of prompt and output side by side: DiFR samples in both spellings, TensorRT-LLM's LLM
// API, verl- and prime-rl-style rows, and the workbench's own generations.

#include <fmt/format.h>

#include <array>

#include "core/ingest/fields.h"
#include "core/ingest/readers/readers.h"

namespace difr {
namespace {

constexpr std::array<std::string_view, 3> prompt_keys = {"prompt_token_ids", "input_ids", "input_tokens"};
constexpr std::array<std::string_view, 3> output_keys = {"output_token_ids", "output_ids", "output_tokens"};

template <std::size_t N>
std::optional<std::pair<std::string_view, JsonElement>> first_of(const JsonObject& record,
                                                                 const std::array<std::string_view, N>& keys) {
  for (const auto key : keys)
    if (const auto found = member(record, key)) return std::pair{key, *found};
  return std::nullopt;
}

class TokenRecordReader final : public FormatReader {
 public:
  const char* name() const override { return "difr-samples"; }

  bool recognises(const JsonObject& whole, bool) const override {
    const auto record = object_member(whole, "row").value_or(whole);
    return first_of(record, prompt_keys).has_value() || first_of(record, output_keys).has_value() ||
           has_list(record, "outputs");
  }

  void read(const JsonObject& whole, const ReadContext& context, ReadRecord& out) override {
    const auto record = object_member(whole, "row").value_or(whole);  // rows of tables exported with their schema
    Claim base;
    ProviderConfig own;
    bool own_provider = false;
    base.sampling = context.declared.sampling;
    base.seed = context.declared_seed;
    if (const auto config = object_member(record, "config")) {
      own = read_config(*config, context.declared.name, out);
      own_provider = true;
      base.sampling = own.sampling;
    }
    for (const auto key : {"sampling_params", "params", "parameters"})
      if (const auto nested = object_member(record, key)) {
        if (!read_sampling(*nested, base.sampling, out) || !read_seed(*nested, "seed", base.seed, out)) return;
      }
    if (!read_sampling(record, base.sampling, out) || !read_seed(record, "seed", base.seed, out)) return;
    if (!read_external_id(record, base.external_id, out)) return;

    const auto prompt = first_of(record, prompt_keys);
    if (!prompt) {
      out.reject("missing-prompt-ids", "the record has no token ids of its prompt",
                 "log “prompt_token_ids” (vLLM: return_token_ids=true)");
      return;
    }
    auto ids = read_ids(prompt->second, prompt->first, context.vocab, out);
    if (!ids) return;
    if (ids->empty()) {
      out.reject("empty-prompt", fmt::format("{} is empty", in_quotes(prompt->first)),
                 "log the ids that the engine was given");
      return;
    }
    base.prompt = std::move(*ids);
    read_outputs(record, context, base, own_provider ? &own : nullptr, out);
  }

 private:
  static bool read_external_id(const JsonObject& record, std::string& id, ReadRecord& out) {
    for (const auto key : {"id", "request_id", "custom_id", "problem_id"}) {
      const auto value = member(record, key);
      if (!value) continue;
      std::int64_t number = 0;
      std::string_view text;
      if (value->get(text) == simdjson::SUCCESS)
        id = text;
      else if (value->get(number) == simdjson::SUCCESS)
        id = std::to_string(number);
      else
        out.reject("wrong-type", fmt::format("{} is neither a string nor an integer", in_quotes(key)),
                   "give each record a plain id");
      return !id.empty() || out.findings.empty() || !out.findings.back().rejected;
    }
    return true;
  }

  static void add(Claim claim, const ProviderConfig* own, ReadRecord& out) {
    claim.seed_origin = claim.seed ? SeedOrigin::requested : SeedOrigin::none;
    ReadRecord::Entry entry;
    entry.claim = std::move(claim);
    if (own) {
      entry.provider = *own;
      entry.own_provider = true;
    }
    out.entries.push_back(std::move(entry));
  }

  static bool take_ids(const JsonElement& list, std::string_view field, const ReadContext& context, Claim& claim,
                       ReadRecord& out) {
    auto ids = read_ids(list, field, context.vocab, out);
    if (!ids) return false;
    if (ids->empty()) {
      out.reject("empty-output", fmt::format("{} is empty: there is nothing to audit", in_quotes(field)),
                 "leave such records out, or find out why nothing was generated");
      return false;
    }
    claim.output = std::move(*ids);
    return true;
  }

  static void take_logprobs(const JsonObject& from, Claim& claim) {
    for (const auto key : {"logprobs", "token_logprobs", "output_logprobs"})
      if (const auto list = member(from, key); list && claim.logprobs.empty())
        claim.logprobs = read_logprobs(*list, claim.output.size());
  }

  static void read_outputs(const JsonObject& record, const ReadContext& context, const Claim& base,
                           const ProviderConfig* own, ReadRecord& out) {
    if (const auto flat = first_of(record, output_keys)) {
      Claim claim = base;
      claim.finish_reason = text_member(record, "finish_reason");
      if (!take_ids(flat->second, flat->first, context, claim, out)) return;
      take_logprobs(record, claim);
      add(std::move(claim), own, out);
      return;
    }
    const auto outputs = member(record, "outputs");
    simdjson::dom::array list;
    if (!outputs) {
      out.reject("missing-output-ids", "the record has neither “outputs” nor “output_token_ids”",
                 "log the ids of what was generated");
      return;
    }
    if (outputs->get(list) != simdjson::SUCCESS) {
      out.reject("wrong-type", "“outputs” is not a list", "write one entry for each generated sequence");
      return;
    }
    if (list.size() == 0) {
      out.reject("empty-outputs", "“outputs” is an empty list",
                 "leave such records out, or find out why nothing was generated");
      return;
    }
    const auto choices = static_cast<int>(list.size());
    int choice = 0;
    for (const JsonElement element : list) {
      Claim claim = base;
      claim.choice = choice++;
      JsonObject output;
      if (element.get(output) != simdjson::SUCCESS) {
        out.reject("wrong-type", fmt::format("output {} is not an object", claim.choice),
                   "write {\"token_ids\": [...]}");
        continue;
      }
      if (member(output, "seed")) {
        if (!read_seed(output, "seed", claim.seed, out)) continue;
        claim.seed = seed_before_choice(claim.seed, claim.choice);
      }
      claim.finish_reason = text_member(output, "finish_reason");
      const auto ids = member(output, "token_ids");
      if (!ids) {
        out.reject("missing-output-ids", fmt::format("output {} has no “token_ids”", claim.choice),
                   "log the ids of what was generated");
        continue;
      }
      if (!take_ids(*ids, "token_ids", context, claim, out)) continue;
      take_logprobs(output, claim);
      add(std::move(claim), own, out);
    }
    if (choices > 1)
      out.remark(
          "n-greater-1",
          fmt::format("{} sequences of one request: sequence i is taken to use the seed + i, as vLLM does", choices),
          "if the engine gives children their seeds differently, log each output's own “seed”");
  }
};

}  // namespace

std::unique_ptr<FormatReader> make_token_record_reader() {
  return std::make_unique<TokenRecordReader>();
}

}  // namespace difr
