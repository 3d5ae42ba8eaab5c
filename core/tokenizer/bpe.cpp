#include "core/tokenizer/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>

#include "core/util/error.h"

namespace difr::tokenizer {
namespace {

namespace dom = simdjson::dom;
constexpr const char* kRemedy = "expected the tokenizer.json that lies beside the model's weights";

std::uint64_t pair_key(TokenId a, TokenId b) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 | static_cast<std::uint32_t>(b);
}

std::size_t character_length(char first) {
  const auto c = static_cast<unsigned char>(first);
  return c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

/// Both spellings in use: "a b" and ["a", "b"].
std::pair<std::string_view, std::string_view> merge_pair(dom::element entry, std::size_t index,
                                                         const std::string& where) {
  std::string_view text, first, second;
  if (entry.get(text) == simdjson::SUCCESS) {
    const auto space = text.find(' ', 1);
    if (space != std::string_view::npos) return {text.substr(0, space), text.substr(space + 1)};
  } else if (entry.at(0).get(first) == simdjson::SUCCESS && entry.at(1).get(second) == simdjson::SUCCESS) {
    return {first, second};
  }
  throw bad_input(where, fmt::format("model.merges[{}] is not a pair of tokens", index), kRemedy);
}

}  // namespace

std::string byte_level_spelling(std::uint8_t byte) {
  const auto self = [](unsigned b) { return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE; };
  unsigned code = byte;
  if (!self(byte)) {
    code = 0x100;
    for (unsigned b = 0; b < byte; ++b) code += !self(b);
  }
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

Bpe::Bpe(dom::element model, bool byte_level, const std::string& where) : byte_level_(byte_level) {
  const auto refuse = [&](const std::string& what) { return bad_input(where, what, kRemedy); };
  dom::object vocab;
  dom::array merges;
  if (model["vocab"].get(vocab)) throw refuse("has no model.vocab");
  if (model["merges"].get(merges)) throw refuse("has no model.merges");
  for (const auto [token, value] : vocab) {
    std::int64_t id = 0;
    if (value.get(id) || id < 0 || id > (1 << 24))
      throw refuse(fmt::format("model.vocab[\"{}\"] is no usable id", token));
    vocab_.emplace(token, static_cast<TokenId>(id));
  }
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    std::string_view text;
    if (model[affix].get(text) == simdjson::SUCCESS && !text.empty())
      throw refuse(fmt::format("uses model.{}, which is not supported", affix));
  }
  const auto flag = [&](const char* key) {
    bool value = false;
    return model[key].get(value) == simdjson::SUCCESS && value;
  };
  byte_fallback_ = flag("byte_fallback");
  ignore_merges_ = flag("ignore_merges");
  fuse_unknown_ = flag("fuse_unk");
  if (std::string_view unknown; model["unk_token"].get(unknown) == simdjson::SUCCESS) unknown_ = id(unknown);
  std::size_t rank = 0;
  for (const dom::element entry : merges) {
    const auto [first, second] = merge_pair(entry, rank, where);
    const auto a = id(first), b = id(second), both = id(std::string(first) + std::string(second));
    if (a < 0 || b < 0 || both < 0)
      throw refuse(fmt::format("model.merges[{}] names a token that is not in model.vocab", rank));
    merges_.emplace(pair_key(a, b), Merge{static_cast<std::uint32_t>(rank), both});
    ++rank;
  }
  for (unsigned b = 0; b < 256; ++b)
    bytes_[b] = id(byte_level ? byte_level_spelling(static_cast<std::uint8_t>(b)) : fmt::format("<0x{:02X}>", b));
}

TokenId Bpe::id(std::string_view token) const {
  const auto found = vocab_.find(std::string(token));
  return found == vocab_.end() ? -1 : found->second;
}

std::vector<TokenId> Bpe::symbols(std::string_view piece) const {
  std::vector<TokenId> ids;
  const auto unknown = [&] {
    if (unknown_ >= 0 && !(fuse_unknown_ && !ids.empty() && ids.back() == unknown_)) ids.push_back(unknown_);
  };
  if (byte_level_) {
    for (const char c : piece) {
      const auto own = bytes_[static_cast<unsigned char>(c)];
      own >= 0 ? ids.push_back(own) : unknown();
    }
    return ids;
  }
  while (!piece.empty()) {
    const auto length = std::min(character_length(piece.front()), piece.size());
    const auto character = piece.substr(0, length);
    piece.remove_prefix(length);
    if (const auto own = id(character); own >= 0)
      ids.push_back(own);
    else if (byte_fallback_ &&
             std::ranges::all_of(character, [&](char c) { return bytes_[static_cast<unsigned char>(c)] >= 0; }))
      for (const char c : character) ids.push_back(bytes_[static_cast<unsigned char>(c)]);
    else
      unknown();
  }
  return ids;
}

/// Lowest rank first, leftmost among equals; a heap, since a piece may be a whole document.
void Bpe::merge(std::vector<TokenId>& ids) const {
  struct Candidate {
    std::uint32_t rank;
    std::size_t at;
    TokenId left, right, both;
    bool operator>(const Candidate& o) const { return std::pair(rank, at) > std::pair(o.rank, o.at); }
  };
  constexpr auto none = static_cast<std::size_t>(-1);
  const auto n = ids.size();
  std::vector<std::size_t> next(n), previous(n);
  for (std::size_t i = 0; i < n; ++i) {
    next[i] = i + 1 < n ? i + 1 : none;
    previous[i] = i > 0 ? i - 1 : none;
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap;
  const auto offer = [&](std::size_t at) {
    if (at == none || next[at] == none) return;
    const auto found = merges_.find(pair_key(ids[at], ids[next[at]]));
    if (found != merges_.end()) heap.push({found->second.rank, at, ids[at], ids[next[at]], found->second.id});
  };
  for (std::size_t i = 0; i + 1 < n; ++i) offer(i);
  while (!heap.empty()) {
    const auto c = heap.top();
    heap.pop();
    // Neighbours that were merged meanwhile make an offer stale.
    if (ids[c.at] != c.left || next[c.at] == none || ids[next[c.at]] != c.right) continue;
    const auto gone = next[c.at];
    ids[c.at] = c.both;
    ids[gone] = -1;
    next[c.at] = next[gone];
    if (next[gone] != none) previous[next[gone]] = c.at;
    offer(c.at);
    offer(previous[c.at]);
  }
  std::erase(ids, -1);
}

void Bpe::encode(std::string_view piece, std::vector<TokenId>& out) const {
  if (piece.empty()) return;
  if (ignore_merges_) {
    std::string spelled;
    if (byte_level_)
      for (const char c : piece) spelled += byte_level_spelling(static_cast<std::uint8_t>(c));
    if (const auto whole = id(byte_level_ ? spelled : piece); whole >= 0) {
      out.push_back(whole);
      return;
    }
  }
  auto ids = symbols(piece);
  merge(ids);
  out.insert(out.end(), ids.begin(), ids.end());
}

}  // namespace difr::tokenizer
