#pragma once
// What token ids look like: the vocabulary of a Hugging Face tokenizer.json, as bytes per id. Decoding only.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/domain/claim.h"

namespace difr {

/// How vocabulary strings spell bytes: GPT-2's printable byte map, or SentencePiece's U+2581 with <0xNN> fallback.
enum class TokenSpelling : std::uint8_t { byte_level, metaspace, plain };

/// Immutable once made, so one instance may be read from several threads.
class TokenizerText {
 public:
  /// Throws difr::Error (bad_input) that names the file when it cannot be read or is no tokenizer.json.
  [[nodiscard]] static TokenizerText load(const std::filesystem::path& file);
  /// `where` names the origin in error messages.
  [[nodiscard]] static TokenizerText parse(std::string_view json, const std::string& where);

  /// The token's bytes, not necessarily valid UTF-8 on their own; nullopt for ids outside the vocabulary.
  [[nodiscard]] std::optional<std::string_view> bytes(TokenId id) const;
  [[nodiscard]] bool special(TokenId id) const;
  /// Text for people: the bytes made printable, or "#id" for unknown ids.
  [[nodiscard]] std::string text(TokenId id) const;
  /// Bytes of a whole sequence; unknown ids as "#id".
  [[nodiscard]] std::string join(std::span<const TokenId> ids) const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] TokenSpelling spelling() const { return spelling_; }

 private:
  struct Entry {
    std::string bytes;
    bool known = false;
    bool special = false;
  };
  Entry& slot(std::int64_t id, const std::string& where);

  std::vector<Entry> entries_;
  TokenSpelling spelling_ = TokenSpelling::plain;
};

/// Valid UTF-8 passes; every other byte becomes "<0xNN>", so that nothing is hidden or replaced.
[[nodiscard]] std::string printable_bytes(std::string_view bytes);

}  // namespace difr
