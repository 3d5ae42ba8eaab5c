#pragma once
// Byte-pair encoding of one pre-token. Internal to core/tokenizer.

#include <simdjson.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/domain/claim.h"

namespace difr::tokenizer {

class Bpe {
 public:
  /// `byte_level`: pre-tokens are bytes spelled by GPT-2's printable map; else characters, with <0xNN> fallback where
  /// the model has it. Throws difr::Error naming `where` and the member.
  Bpe(simdjson::dom::element model, bool byte_level, const std::string& where);

  void encode(std::string_view piece, std::vector<TokenId>& out) const;
  [[nodiscard]] TokenId id(std::string_view token) const;  ///< -1: not in the vocabulary

 private:
  struct Merge {
    std::uint32_t rank = 0;
    TokenId id = -1;
  };
  [[nodiscard]] std::vector<TokenId> symbols(std::string_view piece) const;
  void merge(std::vector<TokenId>& ids) const;

  std::unordered_map<std::string, TokenId> vocab_;
  std::unordered_map<std::uint64_t, Merge> merges_;
  std::array<TokenId, 256> bytes_{};  ///< id of each byte, or of its <0xNN> token; -1: none
  TokenId unknown_ = -1;
  bool byte_level_ = false, byte_fallback_ = false, ignore_merges_ = false, fuse_unknown_ = false;
};

/// A byte as GPT-2's vocabulary spells it, UTF-8.
[[nodiscard]] std::string byte_level_spelling(std::uint8_t byte);

}  // namespace difr::tokenizer
