#include "core/tokenizer/encoder.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/tokenizer/bpe.h"
#include "core/tokenizer/pieces.h"
#include "core/util/error.h"

namespace difr {
namespace {

namespace dom = simdjson::dom;
constexpr const char* kRemedy = "expected the tokenizer.json that lies beside the model's weights";

/// A token that is cut out of the text before anything else looks at it.
struct AddedToken {
  std::string content;
  TokenId id = -1;
  bool strip_left = false, strip_right = false;
};

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

class JsonEncoder final : public TextEncoder {
 public:
  JsonEncoder(dom::element root, const std::string& where)
      : bpe_(root["model"].value(), mentions(root["pre_tokenizer"], "ByteLevel"), where),
        normalize_(tokenizer::make_normalizer(root["normalizer"], where)),
        split_(tokenizer::make_pre_tokenizer(root["pre_tokenizer"], where)) {
    read_added(root, where);
    dom::element post;
    if (root["post_processor"].get(post) == simdjson::SUCCESS && !post.is_null()) read_template(post, where);
  }

  std::vector<TokenId> encode(std::string_view text, bool add_special) const override {
    std::vector<TokenId> out;
    if (add_special) out = before_;
    bool first = true;
    cut(text, raw_tokens_, [&](std::string_view section, TokenId id) {
      if (id >= 0) {
        out.push_back(id);
      } else {
        const auto normal = normalize_(std::string(section));
        cut(normal, normalized_tokens_, [&](std::string_view inner, TokenId inner_id) {
          if (inner_id >= 0)
            out.push_back(inner_id);
          else
            for (const auto& piece : split_({std::string(inner)}, first)) bpe_.encode(piece, out);
          first = false;
        });
      }
      first = false;
    });
    if (add_special) out.insert(out.end(), after_.begin(), after_.end());
    return out;
  }

 private:
  static bool mentions(simdjson::simdjson_result<dom::element> maybe, std::string_view type) {
    dom::element from;
    if (maybe.get(from) != simdjson::SUCCESS || from.is_null()) return false;
    std::string_view own;
    if (from["type"].get(own) == simdjson::SUCCESS && own == type) return true;
    dom::array parts;
    if (from["pretokenizers"].get(parts) != simdjson::SUCCESS) return false;
    return std::any_of(parts.begin(), parts.end(),
                       [&](dom::element inner) { return mentions(std::move(inner), type); });
  }

  void read_added(dom::element root, const std::string& where) {
    dom::array list;
    if (root["added_tokens"].get(list) != simdjson::SUCCESS) return;
    for (const dom::element entry : list) {
      AddedToken token;
      std::int64_t id = -1;
      std::string_view content;
      if (entry["id"].get(id) || entry["content"].get(content) || content.empty() || id < 0 || id > (1 << 24))
        throw bad_input(where, "added_tokens holds an entry without a usable id or content", kRemedy);
      const auto flag = [&](const char* key, bool otherwise) {
        bool value = otherwise;
        return entry[key].get(value) == simdjson::SUCCESS ? value : otherwise;
      };
      if (flag("single_word", false))
        throw bad_input(where, "added token " + std::string(content) + " is single_word, which is not supported",
                        kRemedy);
      token.content = content;
      token.id = static_cast<TokenId>(id);
      token.strip_left = flag("lstrip", false);
      token.strip_right = flag("rstrip", false);
      (flag("normalized", !flag("special", false)) ? normalized_tokens_ : raw_tokens_).push_back(std::move(token));
    }
    for (auto* tokens : {&raw_tokens_, &normalized_tokens_})
      std::ranges::stable_sort(*tokens,
                               [](const auto& a, const auto& b) { return a.content.size() > b.content.size(); });
  }

  /// Leftmost, then longest: `take(section, -1)` for text, `take({}, id)` for tokens.
  template <class Take>
  static void cut(std::string_view text, const std::vector<AddedToken>& tokens, Take take) {
    std::size_t begin = 0;
    for (std::size_t at = 0; !tokens.empty() && at < text.size();) {
      const auto found =
          std::ranges::find_if(tokens, [&](const auto& t) { return text.substr(at).starts_with(t.content); });
      if (found == tokens.end()) {
        ++at;
        continue;
      }
      auto end = at;
      if (found->strip_left)
        while (end > begin && is_space(text[end - 1])) --end;
      if (end > begin) take(text.substr(begin, end - begin), TokenId{-1});
      take({}, found->id);
      at += found->content.size();
      if (found->strip_right)
        while (at < text.size() && is_space(text[at])) ++at;
      begin = at;
    }
    if (begin < text.size()) take(text.substr(begin), TokenId{-1});
  }

  void read_template(dom::element post, const std::string& where) {
    std::string_view type;
    if (post["type"].get(type) != simdjson::SUCCESS) type = "without a type";
    if (type == "ByteLevel") return;
    if (type == "Sequence") {
      dom::array parts;
      if (post["processors"].get(parts) == simdjson::SUCCESS)
        for (const dom::element inner : parts) read_template(inner, where);
      return;
    }
    dom::array single;
    if (type != "TemplateProcessing" || post["single"].get(single) != simdjson::SUCCESS)
      throw bad_input(where, fmt::format("the post-processor {} is not supported", type), kRemedy);
    bool text_seen = false;
    for (const dom::element item : single) {
      std::string_view name;
      if (item["SpecialToken"]["id"].get(name) != simdjson::SUCCESS) {
        text_seen = true;
        continue;
      }
      dom::array ids;
      if (post["special_tokens"][name]["ids"].get(ids) != simdjson::SUCCESS)
        throw bad_input(where, fmt::format("the post-processor names {}, but not its ids", name), kRemedy);
      for (const dom::element id : ids) {
        std::int64_t value = 0;
        if (id.get(value) || value < 0 || value > (1 << 24))
          throw bad_input(where, "the post-processor has an unusable id", kRemedy);
        (text_seen ? after_ : before_).push_back(static_cast<TokenId>(value));
      }
    }
  }

  tokenizer::Bpe bpe_;
  tokenizer::Normalizer normalize_;
  tokenizer::PreTokenizer split_;
  std::vector<AddedToken> raw_tokens_, normalized_tokens_;  ///< longest first
  std::vector<TokenId> before_, after_;
};

}  // namespace

std::unique_ptr<const TextEncoder> parse_encoder(std::string_view json, const std::string& where) {
  dom::parser parser;
  dom::element root;
  if (const auto error = parser.parse(simdjson::padded_string(json)).get(root))
    throw bad_input(where, fmt::format("is not valid JSON: {}", simdjson::error_message(error)), kRemedy);
  std::string_view type;
  if (root["model"]["type"].get(type) != simdjson::SUCCESS) type = root["model"]["merges"].error() ? "unknown" : "BPE";
  if (type != "BPE")
    throw bad_input(where, fmt::format("its model is of type {}; only BPE is read from a tokenizer.json", type),
                    "log token ids instead (vLLM: return_token_ids=true)");
  return std::make_unique<JsonEncoder>(root, where);
}

std::unique_ptr<const TextEncoder> load_encoder(const std::filesystem::path& path) {
  auto file = path;
  if (std::filesystem::is_directory(file)) {
    file /= "tokenizer.json";
    if (!std::filesystem::exists(file))
      throw bad_input(path.string(), "holds no tokenizer.json", "name the file itself, or the model's folder");
  }
  if (file.extension() == ".model")
    throw bad_input(
        file.string(), "is a SentencePiece model, which is not read",
        "save it as tokenizer.json with Hugging Face's AutoTokenizer(..., use_fast=True).save_pretrained()");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw bad_input(file.string(), "cannot be opened", "check the path and its permissions");
  return parse_encoder(std::string{std::istreambuf_iterator<char>(in), {}}, file.string());
}

}  // namespace difr
