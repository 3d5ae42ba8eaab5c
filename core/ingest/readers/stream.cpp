// Chunks of a streamed answer, put together by the answer's id.

#include <fmt/format.h>

#include <map>

#include "core/ingest/readers/exchange.h"
#include "core/ingest/readers/readers.h"

namespace difr {
namespace {

class StreamReader final : public FormatReader {
 public:
  const char* name() const override { return "openai-stream"; }

  bool recognises(const JsonObject& r, bool transcript) const override {
    return text_member(r, "object") == "chat.completion.chunk" || (transcript && has_list(r, "choices"));
  }

  void read(const JsonObject& chunk, const ReadContext& context, ReadRecord& out) override {
    const auto id = text_member(chunk, "id");
    const auto [found, is_new] = streams_.try_emplace(id);
    auto& stream = found->second;
    if (is_new) {
      stream.record = context.record;
      stream.base.external_id = id;
      std::optional<JsonObject> request = context.request_of ? context.request_of(id) : std::nullopt;
      stream.usable = read_request(request, context, stream.base, out);
      if (request) {
        if (auto ids = find_ids(*request, {"prompt", "token_ids"}, context.vocab, out))
          stream.base.prompt = std::move(*ids);
      }
      stream.provider = provider_of(request, chunk, context);
    }
    if (auto ids = find_ids(chunk, {"prompt_token_ids"}, context.vocab, out)) stream.base.prompt = std::move(*ids);
    if (const auto usage = object_member(chunk, "usage"))
      stream.stated_tokens = integer_member(*usage, "completion_tokens").value_or(stream.stated_tokens);
    // The last chunk alone tells the fingerprint: which engine and version it was.
    if (member(chunk, "system_fingerprint")) stream.provider = provider_of(std::nullopt, chunk, context);
    simdjson::dom::array choices;
    if (const auto list = member(chunk, "choices"); !list || list->get(choices) != simdjson::SUCCESS) return;
    for (const JsonElement element : choices) {
      JsonObject choice;
      if (element.get(choice) == simdjson::SUCCESS) add(choice, context, stream, out);
    }
  }

  void finish(const ReadContext&, ReadRecord& out) override {
    for (auto& [id, stream] : streams_) close(stream, out);
    streams_.clear();
  }

 private:
  struct Choice {
    std::vector<TokenId> ids;
    std::string finish_reason;
    bool broken = false;
  };
  struct Stream {
    Claim base;
    ProviderConfig provider;
    std::int64_t record = 0, stated_tokens = -1;
    bool usable = true;
    std::map<int, Choice> choices;
  };

  static void add(const JsonObject& chunk, const ReadContext& context, Stream& stream, ReadRecord& out) {
    std::int64_t index = 0;
    index = integer_member(chunk, "index").value_or(index);
    auto& choice = stream.choices[static_cast<int>(index)];
    if (stream.base.prompt.empty())
      if (auto ids = find_ids(chunk, {"prompt_token_ids"}, context.vocab, out)) stream.base.prompt = std::move(*ids);
    if (auto reason = text_member(chunk, "finish_reason"); !reason.empty()) choice.finish_reason = std::move(reason);
    if (const auto list = member(chunk, "token_ids")) {
      if (auto ids = read_ids(*list, "token_ids", context.vocab, out))
        choice.ids.insert(choice.ids.end(), ids->begin(), ids->end());
      else
        choice.broken = true;  // with a chunk missing, all that follows stands at the wrong place
    }
  }

  static void close(Stream& stream, ReadRecord& out) {
    if (!stream.usable) return;
    if (stream.choices.empty()) return;
    const char* remedy = "stream with “return_token_ids”: true";
    if (stream.base.prompt.empty()) {
      out.reject("no-token-ids",
                 fmt::format("the stream {} carries no token ids of the prompt", in_quotes(stream.base.external_id)),
                 remedy);
      return;
    }
    std::size_t total = 0;
    for (auto& [index, choice] : stream.choices) {
      if (choice.broken) continue;
      if (choice.ids.empty()) {
        out.reject("no-token-ids",
                   fmt::format("the stream {} carries no token ids", in_quotes(stream.base.external_id)), remedy);
        continue;
      }
      if (choice.finish_reason.empty())
        out.remark("stream-cut",
                   fmt::format("the stream {} ends without a finish reason", in_quotes(stream.base.external_id)),
                   "only the ids seen are audited");
      auto claim = stream.base;
      claim.choice = index;
      total += choice.ids.size();
      claim.output = std::move(choice.ids);
      claim.finish_reason = choice.finish_reason;
      add_entry(std::move(claim), stream.provider, out);
      out.entries.back().record = stream.record;
    }
    if (stream.stated_tokens >= 0 && total > 0) compare_lengths("“usage”", stream.stated_tokens, total, out);
  }

  std::map<std::string, Stream> streams_;
};

}  // namespace

std::unique_ptr<FormatReader> make_stream_reader() {
  return std::make_unique<StreamReader>();
}

}  // namespace difr
