#pragma once
// Text to token ids, for logs that hold text alone. What it gives is the tokenizer's own spelling of a text, which need
// not be the sequence an engine sampled: claims made from it carry IdsOrigin::retokenised.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/domain/claim.h"

namespace difr {

/// Immutable; may be used from several threads.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  /// Ids of valid UTF-8 `text`; special tokens written in it are recognised, as engines do. `add_special` puts in front
  /// what the tokenizer puts in front of a prompt (mostly the first special token).
  [[nodiscard]] virtual std::vector<TokenId> encode(std::string_view text, bool add_special) const = 0;
};

/// Loads a Hugging Face tokenizer.json (BPE: byte level, or metaspace with byte fallback, as SentencePiece models are
/// saved there), or the folder that holds one. SentencePiece's own library cannot share a process with LibTorch: both
/// bring a protobuf runtime of their own. Throws difr::Error (bad input) naming the file, and the
/// component that is not supported: a tokenizer is read completely or not at all.
[[nodiscard]] std::unique_ptr<const TextEncoder> load_encoder(const std::filesystem::path& path);
/// The same from the text of a tokenizer.json; `where` names it in errors.
[[nodiscard]] std::unique_ptr<const TextEncoder> parse_encoder(std::string_view json, const std::string& where);

}  // namespace difr
