// Prompt and completion as text, side by side. Without a tokenizer such records are refused.

#include <array>

#include "core/ingest/readers/exchange.h"
#include "core/ingest/readers/readers.h"

namespace difr {
namespace {

constexpr std::array<const char*, 5> completion_keys = {"completion", "output", "response", "generated_text", "text"};

class TextReader final : public FormatReader {
 public:
  const char* name() const override { return "text"; }
  bool recognises(const JsonObject& r, bool) const override {
    return !text_member(r, "prompt").empty() && completion_of(r);
  }

  void read(const JsonObject& r, const ReadContext& context, ReadRecord& out) override {
    if (!context.encoder) {
      out.reject("no-token-ids", "the record has text, but no token ids",
                 "log token ids; or import with --retokenise and the model's tokenizer, for a verdict of undetermined "
                 "at most");
      return;
    }
    Claim claim;
    if (!read_request(r, context, claim, out)) return;
    for (const auto key : {"id", "request_id", "custom_id"})
      if (claim.external_id.empty()) claim.external_id = text_member(r, key);
    claim.finish_reason = text_member(r, "finish_reason");
    claim.prompt = context.encoder->encode(text_member(r, "prompt"), true);
    claim.output = context.encoder->encode(*completion_of(r), false);
    claim.ids_origin = IdsOrigin::retokenised;
    if (claim.prompt.empty() || claim.output.empty()) {
      out.reject(claim.prompt.empty() ? "empty-prompt" : "empty-output", "the text is empty: there is nothing to audit",
                 "leave such records out, or find out why nothing was generated");
      return;
    }
    add_entry(std::move(claim), provider_of(r, r, context), out);
  }

 private:
  static std::optional<std::string> completion_of(const JsonObject& r) {
    for (const auto* key : completion_keys) {
      std::string_view text;
      if (const auto found = member(r, key); found && found->get(text) == simdjson::SUCCESS) return std::string(text);
    }
    return std::nullopt;
  }
};

}  // namespace

std::unique_ptr<FormatReader> make_text_reader() {
  return std::make_unique<TextReader>();
}

}  // namespace difr
