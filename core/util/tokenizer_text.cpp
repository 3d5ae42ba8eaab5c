#include "core/util/tokenizer_text.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <array>
#include <fstream>
#include <iterator>
#include <unordered_map>

#include "core/util/error.h"

namespace difr {
namespace {

namespace dom = simdjson::dom;

// Far above any published vocabulary; keeps a hostile id from allocating the machine.
constexpr std::int64_t max_id = 1 << 24;
constexpr std::string_view metaspace = "\xE2\x96\x81";  // U+2581

/// Length of the valid UTF-8 sequence at the front, 0 when there is none (overlong and surrogates are refused).
std::size_t utf8_length(std::string_view s) {
  if (s.empty()) return 0;
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char c = at(0);
  const std::size_t n = c < 0x80                ? 1
                        : c >= 0xC2 && c < 0xE0 ? 2
                        : c >= 0xE0 && c < 0xF0 ? 3
                        : c >= 0xF0 && c < 0xF5 ? 4
                                                : 0;
  if (n == 0 || s.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((at(i) & 0xC0) != 0x80) return 0;
  if (n == 3 && ((c == 0xE0 && at(1) < 0xA0) || (c == 0xED && at(1) >= 0xA0))) return 0;
  if (n == 4 && ((c == 0xF0 && at(1) < 0x90) || (c == 0xF4 && at(1) >= 0x90))) return 0;
  return n;
}

std::uint32_t code_point(std::string_view s) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(s[i])); };
  switch (s.size()) {
    case 1:
      return at(0);
    case 2:
      return (at(0) & 0x1F) << 6 | (at(1) & 0x3F);
    case 3:
      return (at(0) & 0x0F) << 12 | (at(1) & 0x3F) << 6 | (at(2) & 0x3F);
    default:
      return (at(0) & 0x07) << 18 | (at(1) & 0x3F) << 12 | (at(2) & 0x3F) << 6 | (at(3) & 0x3F);
  }
}

/// GPT-2's map: printable Latin-1 bytes stand for themselves, the other 68 follow from U+0100 in byte order.
std::unordered_map<std::uint32_t, char> byte_of_code_point() {
  std::unordered_map<std::uint32_t, char> map;
  std::uint32_t next = 0x100;
  for (std::uint32_t b = 0; b < 256; ++b) {
    const bool self = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
    map.emplace(self ? b : next++, static_cast<char>(b));
  }
  return map;
}

std::string from_byte_level(std::string_view token, const std::unordered_map<std::uint32_t, char>& map) {
  std::string out;
  while (!token.empty()) {
    const std::size_t n = std::max<std::size_t>(utf8_length(token), 1);
    const auto found = map.find(code_point(token.substr(0, n)));
    // A character outside the map (added by hand to a vocabulary) is meant literally.
    if (found != map.end())
      out += found->second;
    else
      out += token.substr(0, n);
    token.remove_prefix(n);
  }
  return out;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string from_metaspace(std::string_view token) {
  if (token.size() == 6 && token.starts_with("<0x") && token.back() == '>') {
    const int high = hex_digit(token[3]), low = hex_digit(token[4]);
    if (high >= 0 && low >= 0) return std::string(1, static_cast<char>(high * 16 + low));
  }
  std::string out;
  while (!token.empty()) {
    if (token.starts_with(metaspace)) {
      out += ' ';
      token.remove_prefix(metaspace.size());
    } else {
      out += token.front();
      token.remove_prefix(1);
    }
  }
  return out;
}

/// True when a decoder or pre-tokenizer object is, or contains, one of the named type.
bool mentions(dom::element element, std::string_view type) {
  std::string_view own;
  if (!element["type"].get(own) && own == type) return true;
  for (const char* list : {"decoders", "pretokenizers"}) {
    dom::array parts;
    if (element[list].get(parts)) continue;
    for (dom::element part : parts) {
      std::string_view inner;
      if (!part["type"].get(inner) && inner == type) return true;
      std::string_view replaced;  // SentencePiece exports spell the metaspace as a Replace step
      if (type == "Metaspace" && !inner.empty() && inner == "Replace" && !part["pattern"]["String"].get(replaced) &&
          replaced == metaspace)
        return true;
    }
  }
  return false;
}

TokenSpelling find_spelling(dom::element root) {
  for (const char* key : {"decoder", "pre_tokenizer"}) {
    dom::element part;
    if (root[key].get(part) || !part.is_object()) continue;
    if (mentions(part, "ByteLevel")) return TokenSpelling::byte_level;
    if (mentions(part, "Metaspace")) return TokenSpelling::metaspace;
  }
  bool fallback = false;
  if (!root["model"]["byte_fallback"].get(fallback) && fallback) return TokenSpelling::metaspace;
  return TokenSpelling::plain;
}

}  // namespace

TokenizerText::Entry& TokenizerText::slot(std::int64_t id, const std::string& where) {
  if (id < 0 || id > max_id)
    throw bad_input(where, fmt::format("token id {} is out of range", id),
                    "check that this is the model's tokenizer.json");
  if (static_cast<std::size_t>(id) >= entries_.size()) entries_.resize(static_cast<std::size_t>(id) + 1);
  return entries_[static_cast<std::size_t>(id)];
}

TokenizerText TokenizerText::parse(std::string_view json, const std::string& where) {
  const char* remedy = "expected the tokenizer.json that lies beside the model's weights";
  dom::parser parser;
  dom::element root;
  if (const auto error = parser.parse(simdjson::padded_string(json)).get(root))
    throw bad_input(where, fmt::format("is not valid JSON: {}", simdjson::error_message(error)), remedy);
  dom::element vocab;
  if (root["model"]["vocab"].get(vocab)) throw bad_input(where, "has no model.vocab", remedy);

  TokenizerText out;
  out.spelling_ = find_spelling(root);
  const auto map = byte_of_code_point();
  const auto decode = [&](std::string_view token) {
    switch (out.spelling_) {
      case TokenSpelling::byte_level:
        return from_byte_level(token, map);
      case TokenSpelling::metaspace:
        return from_metaspace(token);
      case TokenSpelling::plain:
        break;
    }
    return std::string(token);
  };
  const auto put = [&](std::int64_t id, std::string_view token) {
    Entry& entry = out.slot(id, where);
    entry.bytes = decode(token);
    entry.known = true;
  };
  dom::object table;
  dom::array list;
  if (!vocab.get(table)) {
    for (const auto [token, value] : table) {
      std::int64_t id = 0;
      if (value.get(id)) throw bad_input(where, fmt::format("model.vocab[\"{}\"] is not an integer", token), remedy);
      put(id, token);
    }
  } else if (!vocab.get(list)) {
    // Unigram models list [piece, score] pairs; the index is the id.
    std::int64_t id = 0;
    for (dom::element pair : list) {
      std::string_view token;
      if (pair.at(0).get(token))
        throw bad_input(where, fmt::format("model.vocab[{}] is not a [piece, score] pair", id), remedy);
      put(id++, token);
    }
  } else {
    throw bad_input(where, "model.vocab is neither an object nor a list", remedy);
  }

  dom::array added;
  if (!root["added_tokens"].get(added)) {
    for (dom::element item : added) {
      std::int64_t id = 0;
      std::string_view content;
      if (item["id"].get(id) || item["content"].get(content))
        throw bad_input(where, "added_tokens holds an entry without id or content", remedy);
      Entry& entry = out.slot(id, where);
      entry.bytes = std::string(content);  // added tokens are literal in every spelling
      entry.known = true;
      bool special = false;
      entry.special = !item["special"].get(special) && special;
    }
  }
  return out;
}

TokenizerText TokenizerText::load(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw bad_input(file.string(), "cannot be opened", "check the path and its permissions");
  const std::string json{std::istreambuf_iterator<char>(in), {}};
  return parse(json, file.string());
}

std::optional<std::string_view> TokenizerText::bytes(TokenId id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= entries_.size()) return std::nullopt;
  const Entry& entry = entries_[static_cast<std::size_t>(id)];
  if (!entry.known) return std::nullopt;
  return entry.bytes;
}

bool TokenizerText::special(TokenId id) const {
  return id >= 0 && static_cast<std::size_t>(id) < entries_.size() && entries_[static_cast<std::size_t>(id)].special;
}

std::string TokenizerText::text(TokenId id) const {
  const auto found = bytes(id);
  return found ? printable_bytes(*found) : fmt::format("#{}", id);
}

std::string TokenizerText::join(std::span<const TokenId> ids) const {
  std::string out;
  for (const TokenId id : ids) {
    const auto found = bytes(id);
    out += found ? std::string(*found) : fmt::format("#{}", id);
  }
  return out;
}

std::string printable_bytes(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const std::size_t n = utf8_length(bytes);
    if (n == 0) {
      out += fmt::format("<0x{:02X}>", static_cast<unsigned char>(bytes.front()));
      bytes.remove_prefix(1);
    } else {
      out += bytes.substr(0, n);
      bytes.remove_prefix(n);
    }
  }
  return out;
}

}  // namespace difr
