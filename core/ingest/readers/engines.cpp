// Native answers of inference engines. The request stands under "_request", "request", or in a second file.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/ingest/readers/exchange.h"
#include "core/ingest/readers/readers.h"

namespace difr {
namespace {

/// What the engines' answers have in common; each reader says where its ids are.
class EngineReader : public FormatReader {
 public:
  void read(const JsonObject& answer, const ReadContext& context, ReadRecord& out) final {
    auto request = object_member(answer, "_request");
    if (!request && context.request_of) request = context.request_of({});
    Claim claim;
    if (!read_request(request, context, claim, out)) return;
    const auto faults =
        std::count_if(out.findings.begin(), out.findings.end(), [](const auto& f) { return f.rejected; });
    if (!take(answer, request, context, claim, out)) {
      const auto now =
          std::count_if(out.findings.begin(), out.findings.end(), [](const auto& f) { return f.rejected; });
      if (now == faults)
        out.reject("no-token-ids", fmt::format("the answer of {} carries no token ids of prompt and output", engine()),
                   remedy());
      return;
    }
    if (claim.prompt.empty() || claim.output.empty()) {
      out.reject(claim.prompt.empty() ? "empty-prompt" : "empty-output",
                 "the list of ids is empty: there is nothing to audit",
                 "leave such records out, or find out why nothing was generated");
      return;
    }
    auto provider = provider_of(request, answer, context);
    if (provider.engine.empty()) provider.engine = engine();
    add_entry(std::move(claim), provider, out);
  }

 protected:
  [[nodiscard]] virtual const char* engine() const = 0;
  [[nodiscard]] virtual const char* remedy() const = 0;
  /// Fills prompt, output and finish reason; false when ids are missing.
  virtual bool take(const JsonObject& answer, const std::optional<JsonObject>& request, const ReadContext& context,
                    Claim& claim, ReadRecord& out) const = 0;

  static void compare(const JsonObject& from, std::string_view key, std::size_t ids, ReadRecord& out) {
    std::int64_t stated = 0;
    if (const auto value = member(from, key); value && value->get(stated) == simdjson::SUCCESS)
      compare_lengths(in_quotes(key), stated, ids, out);
  }

  /// The seed that the engine says it used wins over the one it was asked for; a difference is remarked.
  static bool take_echoed_seed(const JsonObject& from, Claim& claim, ReadRecord& out) {
    std::optional<std::int64_t> echoed;
    if (!read_seed(from, "seed", echoed, out)) return false;
    if (!echoed) return true;
    if (claim.seed && claim.seed != echoed)
      out.remark("seed-echo-differs",
                 fmt::format("seed {} was asked for, {} is what the engine says it used", *claim.seed, *echoed),
                 "the engine's own is used; find out who changed it");
    claim.seed = echoed;
    claim.seed_origin = SeedOrigin::echoed;
    return true;
  }

  /// [{"id": 5, ...}, ...]
  static std::optional<std::vector<TokenId>> ids_of_details(const JsonObject& details, std::string_view key,
                                                            const ReadContext& context, ReadRecord& out) {
    const auto list = member(details, key);
    simdjson::dom::array array;
    if (!list || list->get(array) != simdjson::SUCCESS) return std::nullopt;
    std::vector<TokenId> ids;
    for (const JsonElement element : array) {
      JsonObject entry;
      std::int64_t id = -1;
      if (element.get(entry) != simdjson::SUCCESS || entry["id"].get(id) != simdjson::SUCCESS || id < 0 ||
          id >= (context.vocab > 0 ? context.vocab : std::int64_t{1} << 31)) {
        out.reject("ids-out-of-range",
                   fmt::format("{} has an entry without a usable id at position {}", in_quotes(key), ids.size()),
                   "check that the log belongs to this model and its tokenizer");
        return std::nullopt;
      }
      ids.push_back(static_cast<TokenId>(id));
    }
    return ids;
  }
};

class SglangReader final : public EngineReader {
 public:
  const char* name() const override { return "sglang"; }
  bool recognises(const JsonObject& r, bool) const override {
    return object_member(r, "meta_info") && member(r, "text");
  }

 private:
  const char* engine() const override { return "sglang"; }
  const char* remedy() const override {
    return "send “input_ids” and keep “output_ids” (or return_logprob=true, logprob_start_len=0)";
  }

  /// [[logprob, id, text], ...]
  static std::optional<std::vector<TokenId>> ids_of_logprobs(const JsonObject& meta, std::string_view key) {
    const auto list = member(meta, key);
    simdjson::dom::array array;
    if (!list || list->get(array) != simdjson::SUCCESS) return std::nullopt;
    std::vector<TokenId> ids;
    for (const JsonElement triple : array) {
      std::int64_t id = -1;
      if (triple.at(1).get(id) != simdjson::SUCCESS || id < 0 || id >= (std::int64_t{1} << 31)) return std::nullopt;
      ids.push_back(static_cast<TokenId>(id));
    }
    return ids;
  }

  bool take(const JsonObject& r, const std::optional<JsonObject>& request, const ReadContext& context, Claim& claim,
            ReadRecord& out) const override {
    const auto meta = object_member(r, "meta_info");
    claim.external_id = text_member(*meta, "id");
    auto prompt = request ? find_ids(*request, {"input_ids"}, context.vocab, out) : std::nullopt;
    if (!prompt) prompt = ids_of_logprobs(*meta, "input_token_logprobs");
    auto output = find_ids(r, {"output_ids"}, context.vocab, out);
    if (!output) output = ids_of_logprobs(*meta, "output_token_logprobs");
    if (!prompt || !output) return false;
    if (const auto reason = object_member(*meta, "finish_reason")) claim.finish_reason = text_member(*reason, "type");
    compare(*meta, "prompt_tokens", prompt->size(), out);
    compare(*meta, "completion_tokens", output->size(), out);
    if (integer_member(*meta, "spec_verify_ct").value_or(0) > 0)
      out.remark("speculative-decoding", "“spec_verify_ct” is not 0: tokens were drafted and verified",
                 "drafts are accepted with random numbers of their own: ask for a run without speculative decoding");
    claim.prompt = std::move(*prompt);
    claim.output = std::move(*output);
    if (const auto list = member(*meta, "output_token_logprobs"))
      claim.logprobs = logprobs_of(*list, claim.output.size());
    return true;
  }

  static std::vector<float> logprobs_of(const JsonElement& list, std::size_t tokens) {
    simdjson::dom::array array;
    std::vector<float> out;
    if (list.get(array) != simdjson::SUCCESS || array.size() != tokens) return out;
    for (const JsonElement triple : array) {
      JsonElement value;
      out.push_back(triple.at(0).get(value) == simdjson::SUCCESS ? read_logprob(value)
                                                                 : std::numeric_limits<float>::quiet_NaN());
    }
    return out;
  }
};

class TgiReader final : public EngineReader {
 public:
  const char* name() const override { return "tgi"; }
  bool recognises(const JsonObject& r, bool) const override { return member(r, "generated_text").has_value(); }

 private:
  const char* engine() const override { return "tgi"; }
  const char* remedy() const override { return "ask for “details”: true and “decoder_input_details”: true"; }
  bool take(const JsonObject& r, const std::optional<JsonObject>&, const ReadContext& context, Claim& claim,
            ReadRecord& out) const override {
    const auto details = object_member(r, "details");
    if (!details) return false;
    auto prompt = ids_of_details(*details, "prefill", context, out);
    auto output = ids_of_details(*details, "tokens", context, out);
    if (!prompt || prompt->empty() || !output || !take_echoed_seed(*details, claim, out)) return false;
    claim.finish_reason = text_member(*details, "finish_reason");
    compare(*details, "generated_tokens", output->size(), out);
    claim.prompt = std::move(*prompt);
    claim.output = std::move(*output);
    return true;
  }
};

class LlamaCppReader final : public EngineReader {
 public:
  const char* name() const override { return "llama.cpp"; }
  bool recognises(const JsonObject& r, bool) const override { return member(r, "tokens_predicted").has_value(); }

 private:
  const char* engine() const override { return "llama.cpp"; }
  const char* remedy() const override { return "send the prompt as a list of ids and ask for “return_tokens”: true"; }
  bool take(const JsonObject& r, const std::optional<JsonObject>& request, const ReadContext& context, Claim& claim,
            ReadRecord& out) const override {
    auto prompt = find_ids(r, {"prompt"}, context.vocab, out);
    if (!prompt && request) prompt = find_ids(*request, {"prompt"}, context.vocab, out);
    auto output = find_ids(r, {"tokens"}, context.vocab, out);
    if (!prompt || !output) return false;
    if (const auto settings = object_member(r, "generation_settings"))
      if (!read_sampling(*settings, claim.sampling, out) || !take_echoed_seed(*settings, claim, out)) return false;
    claim.finish_reason = text_member(r, "stop_type");
    compare(r, "tokens_evaluated", prompt->size(), out);
    compare(r, "tokens_predicted", output->size(), out);
    claim.prompt = std::move(*prompt);
    claim.output = std::move(*output);
    return true;
  }
};

/// Ollama's "context" is prompt and output in one list; prompt_eval_count says where the prompt ends.
class OllamaReader final : public EngineReader {
 public:
  const char* name() const override { return "ollama"; }
  bool recognises(const JsonObject& r, bool) const override { return member(r, "eval_count") && member(r, "done"); }

 private:
  const char* engine() const override { return "ollama"; }
  const char* remedy() const override { return "use /api/generate, which returns “context”; /api/chat does not"; }
  bool take(const JsonObject& r, const std::optional<JsonObject>&, const ReadContext& context, Claim& claim,
            ReadRecord& out) const override {
    const auto all = find_ids(r, {"context"}, context.vocab, out);
    std::int64_t prompt = 0;
    const auto stated = member(r, "prompt_eval_count");
    if (!all || !stated || stated->get(prompt) != simdjson::SUCCESS) return false;
    if (prompt < 1 || prompt >= static_cast<std::int64_t>(all->size())) {
      out.reject("length-mismatch",
                 fmt::format("“prompt_eval_count” is {}, but “context” has {} ids", prompt, all->size()),
                 "a cached prompt is counted short: generate with a fresh context");
      return false;
    }
    claim.prompt.assign(all->begin(), all->begin() + prompt);
    claim.output.assign(all->begin() + prompt, all->end());
    claim.finish_reason = text_member(r, "done_reason");
    compare(r, "eval_count", claim.output.size(), out);
    return true;
  }
};

}  // namespace

void add_engine_readers(std::vector<std::unique_ptr<FormatReader>>& readers) {
  readers.push_back(std::make_unique<SglangReader>());
  readers.push_back(std::make_unique<TgiReader>());
  readers.push_back(std::make_unique<LlamaCppReader>());
  readers.push_back(std::make_unique<OllamaReader>());
}

}  // namespace difr
