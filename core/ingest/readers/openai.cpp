// The places where logs keep an OpenAI-style answer and its request.

#include "core/ingest/readers/exchange.h"
#include "core/ingest/readers/readers.h"

namespace difr {
namespace {

constexpr const char* vllm_remedy =
    "ask vLLM for them with “return_token_ids”: true in the request; the ids cannot be had from the text with "
    "certainty";

bool is_answer(const JsonObject& object) {
  return has_list(object, "choices");
}

/// {"request": {...}, "response": {...}, "status": 200}: the workbench's capture, K2-Vendor-Verifier and hand-made
/// pairs.
class PairReader final : public FormatReader {
 public:
  const char* name() const override { return "request-response"; }
  bool recognises(const JsonObject& r, bool) const override {
    return object_member(r, "request") && (object_member(r, "response") || member(r, "status"));
  }
  void read(const JsonObject& r, const ReadContext& context, ReadRecord& out) override {
    Exchange e{object_member(r, "request"), object_member(r, "response"), text_member(r, "id"), 200, vllm_remedy};
    e.status = integer_member(r, "status").value_or(e.status);
    read_exchange(e, context, out);
  }
};

/// One line of an OpenAI batch: output with the answer in response.body, or input with the request in body.
class BatchReader final : public FormatReader {
 public:
  const char* name() const override { return "openai-batch"; }
  bool recognises(const JsonObject& r, bool) const override {
    return member(r, "custom_id") && (object_member(r, "response") || object_member(r, "body") || member(r, "error"));
  }
  void read(const JsonObject& r, const ReadContext& context, ReadRecord& out) override {
    Exchange e;
    e.id = text_member(r, "custom_id");
    e.remedy = "OpenAI gives no token ids; vLLM's run-batch does with “return_token_ids”: true in each body";
    if (const auto input = object_member(r, "_input_line")) e.request = object_member(*input, "body");
    if (!e.request && context.request_of) e.request = context.request_of(e.id);
    if (const auto response = object_member(r, "response")) {
      e.response = object_member(*response, "body");
      e.status = integer_member(*response, "status_code").value_or(e.status);
    } else if (member(r, "error")) {
      e.response = r;
      e.status = 500;
    }
    read_exchange(e, context, out);
  }
};

/// LiteLLM's standard logging payload; ids survive only in provider_specific_fields.
class LiteLlmReader final : public FormatReader {
 public:
  const char* name() const override { return "litellm"; }
  bool recognises(const JsonObject& r, bool) const override {
    return member(r, "call_type") && object_member(r, "model_parameters");
  }
  void read(const JsonObject& r, const ReadContext& context, ReadRecord& out) override {
    Exchange e{object_member(r, "model_parameters"), object_member(r, "response"), text_member(r, "id"), 200, ""};
    e.remedy =
        "LiteLLM passes no ids of the prompt on: put the workbench's capture in front of the server, or log vLLM's own "
        "answers with “return_token_ids”: true in extra_body";
    read_exchange(e, context, out);
  }
};

/// Inspect: the sample's own output has text only; the raw call, when it was kept, may hold ids.
class InspectReader final : public FormatReader {
 public:
  const char* name() const override { return "inspect"; }
  bool recognises(const JsonObject& r, bool) const override {
    const auto output = object_member(r, "output");
    return output && is_answer(*output);
  }
  void read(const JsonObject& r, const ReadContext& context, ReadRecord& out) override {
    Exchange e{object_member(r, "config"), object_member(r, "output"), text_member(r, "id"), 200, ""};
    e.remedy =
        "Inspect keeps ids only in the raw call: run it with extra_body return_token_ids=true and --log-model-api, and "
        "audit the calls";
    if (const auto call = object_member(r, "call"))
      if (const auto response = object_member(*call, "response"); response && is_answer(*response))
        e.response = response;
    read_exchange(e, context, out);
  }
};

class HeliconeReader final : public FormatReader {
 public:
  const char* name() const override { return "helicone"; }
  bool recognises(const JsonObject& r, bool) const override {
    return object_member(r, "request_body") && object_member(r, "response_body");
  }
  void read(const JsonObject& r, const ReadContext& context, ReadRecord& out) override {
    Exchange e{object_member(r, "request_body"), object_member(r, "response_body"), text_member(r, "request_id"), 200,
               vllm_remedy};
    e.status = integer_member(r, "response_status").value_or(e.status);
    read_exchange(e, context, out);
  }
};

/// The bare answer, with the request under "_request" or in a second file.
class AnswerReader final : public FormatReader {
 public:
  const char* name() const override { return "openai-answer"; }
  bool recognises(const JsonObject& r, bool) const override { return is_answer(r); }
  void read(const JsonObject& r, const ReadContext& context, ReadRecord& out) override {
    Exchange e{object_member(r, "_request"), r, text_member(r, "id"), 200, vllm_remedy};
    if (!e.request && context.request_of) e.request = context.request_of(e.id);
    read_exchange(e, context, out);
  }
};

}  // namespace

void add_exchange_readers(std::vector<std::unique_ptr<FormatReader>>& readers) {
  readers.push_back(std::make_unique<BatchReader>());
  readers.push_back(std::make_unique<LiteLlmReader>());
  readers.push_back(std::make_unique<InspectReader>());
  readers.push_back(std::make_unique<HeliconeReader>());
  readers.push_back(std::make_unique<PairReader>());
  readers.push_back(std::make_unique<AnswerReader>());
}

}  // namespace difr
