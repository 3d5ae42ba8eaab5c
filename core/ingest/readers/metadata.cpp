// Formats that carry no token ids: what they are, what is missing, and how to turn it on.

#include <array>

#include "core/ingest/fields.h"
#include "core/ingest/readers/readers.h"

namespace difr {
namespace {

struct Known {
  const char* key;     ///< of the record, or of "data" within it
  const char* second;  ///< another that must be there
  const char* kind;
  const char* message;
  const char* remedy;
};

constexpr std::array<Known, 8> known = {{
    {"traceId", "usageDetails", "no-token-ids", "a Langfuse observation has text and counts, but no token ids",
     "log vLLM's answers (return_token_ids=true) in the observation's metadata, or put the workbench's capture in "
     "front"},
    {"provider_name", "native_tokens_completion", "no-token-ids",
     "an OpenRouter generation record has counts, but no token ids",
     "OpenRouter passes no ids on: audit the provider's own endpoint, or use the text-only methods"},
    {"gen_ai.operation.name", nullptr, "no-token-ids",
     "an OpenTelemetry GenAI span has text and counts, but no token ids",
     "add the ids as attributes of your own, or log the server's answers with return_token_ids=true"},
    {"doc_id", "resps", "no-token-ids", "an lm-eval sample has texts, but no token ids",
     "run lm-eval against a vLLM server behind the workbench's capture"},
    {"sampled_gumbel_scores", nullptr, "scores-only", "a row of scores has no token ids",
     "export the generated token ids to JSON and score them here"},
    {"margin", "exact_match", "scores-only", "a row of DiFR results has scores, but no token ids",
     "import the samples file that it was made from"},
    {"proofs", nullptr, "activation-proofs", "these are TOPLOC proofs, not a log",
     "import them as fingerprints of a log"},
    {"messages", "model", "request-only", "this is a request without its answer",
     "import the file of the answers, with this one beside it"},
}};

class MetadataReader final : public FormatReader {
 public:
  const char* name() const override { return "metadata"; }
  bool recognises(const JsonObject& record, bool) const override { return find(record) != nullptr; }
  void read(const JsonObject& record, const ReadContext&, ReadRecord& out) override {
    const auto* found = find(record);
    out.reject(found->kind, found->message, found->remedy);
  }

 private:
  static const Known* find(const JsonObject& record) {
    const auto inner = object_member(record, "data").value_or(record);
    for (const auto& format : known)
      if (member(inner, format.key) && (!format.second || has(inner, format.second))) return &format;
    return nullptr;
  }
  /// Present, be it null: some exporters write every field.
  static bool has(const JsonObject& object, std::string_view key) { return object[key].error() == simdjson::SUCCESS; }
};

}  // namespace

std::unique_ptr<FormatReader> make_metadata_reader() {
  return std::make_unique<MetadataReader>();
}

}  // namespace difr
