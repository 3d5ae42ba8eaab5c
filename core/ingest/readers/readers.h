#pragma once
// The formats known, one factory each.

#include "core/ingest/format_reader.h"

namespace difr {

[[nodiscard]] std::unique_ptr<FormatReader> make_token_record_reader();
/// Answers of OpenAI-compatible servers, with their requests beside them where a format has them.
void add_exchange_readers(std::vector<std::unique_ptr<FormatReader>>& readers);
[[nodiscard]] std::unique_ptr<FormatReader> make_stream_reader();
/// Native answers of SGLang, TGI, llama.cpp and Ollama.
void add_engine_readers(std::vector<std::unique_ptr<FormatReader>>& readers);
/// Formats without token ids: refused, with what is missing and how to turn it on.
[[nodiscard]] std::unique_ptr<FormatReader> make_metadata_reader();

/// Prompt and completion as plain text; behind all others, since it knows least.
[[nodiscard]] std::unique_ptr<FormatReader> make_text_reader();

}  // namespace difr
