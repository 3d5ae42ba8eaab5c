#include "core/tokenizer/pieces.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <cstdlib>

#include "core/tokenizer/regex.h"
#include "core/util/error.h"

namespace difr::tokenizer {
namespace {

namespace dom = simdjson::dom;
constexpr std::string_view kMetaspace = "\xE2\x96\x81";  // U+2581

std::string text_of(dom::element from, const char* key) {
  std::string_view text;
  return from[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

bool flag_of(dom::element from, const char* key, bool otherwise) {
  bool value = otherwise;
  return from[key].get(value) == simdjson::SUCCESS ? value : otherwise;
}

Error unsupported(const std::string& where, const std::string& what) {
  return bad_input(where, fmt::format("{} is not supported, so its tokens cannot be had from text", what),
                   "log token ids instead (vLLM: return_token_ids=true)");
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t at = 0;;) {
    const auto found = from.empty() ? std::string_view::npos : text.find(from, at);
    out += text.substr(at, found - at);
    if (found == std::string_view::npos) return out;
    out += to;
    at = found + from.size();
  }
}

Normalizer unicode_form(utf8proc_option_t options) {
  return [options](std::string text) {
    utf8proc_uint8_t* mapped = nullptr;
    const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(text.size()), &mapped, options);
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
    return length < 0 ? text : std::string(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(length));
  };
}

constexpr utf8proc_option_t option(int bits) {
  return static_cast<utf8proc_option_t>(bits);
}

PreTokenizer split_by(Regex regex, bool remove, bool invert) {
  auto shared = std::make_shared<Regex>(std::move(regex));
  return [shared, remove, invert](std::vector<std::string> pieces, bool) {
    std::vector<std::string> out;
    for (const auto& piece : pieces) {
      std::size_t last = 0;
      const auto put = [&](std::size_t begin, std::size_t end, bool match) {
        if (end > begin && !(remove && match != invert)) out.push_back(piece.substr(begin, end - begin));
      };
      for (const auto& [begin, end] : shared->matches(piece)) {
        put(last, begin, false);
        put(begin, end, true);
        last = end;
      }
      put(last, piece.size(), false);
    }
    return out;
  };
}

PreTokenizer byte_level(dom::element from, const std::string& where) {
  const bool prefix = flag_of(from, "add_prefix_space", true);
  PreTokenizer split;
  if (flag_of(from, "use_regex", true))
    split = split_by(Regex(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", where),
                     false, false);
  return [prefix, split](std::vector<std::string> pieces, bool first) {
    if (prefix)
      for (auto& piece : pieces)
        if (!piece.starts_with(' ')) piece.insert(0, 1, ' ');
    return split ? split(std::move(pieces), first) : pieces;
  };
}

PreTokenizer metaspace(dom::element from, const std::string& where) {
  auto scheme = text_of(from, "prepend_scheme");
  if (scheme.empty()) scheme = flag_of(from, "add_prefix_space", true) ? "always" : "never";
  const bool split = flag_of(from, "split", true);
  if (const auto mark = text_of(from, "replacement"); !mark.empty() && mark != kMetaspace)
    throw unsupported(where, "a metaspace spelled " + mark);
  return [scheme, split](std::vector<std::string> pieces, bool first) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      auto piece = replaced(pieces[i], " ", kMetaspace);
      if (!piece.starts_with(kMetaspace) && (scheme == "always" || (scheme == "first" && first && i == 0)))
        piece.insert(0, kMetaspace);
      for (std::size_t at = 0; at < piece.size();) {
        const auto next = split ? piece.find(kMetaspace, at + 1) : std::string::npos;
        out.push_back(piece.substr(at, next == std::string::npos ? next : next - at));
        at = next == std::string::npos ? piece.size() : next;
      }
    }
    return out;
  };
}

PreTokenizer split_step(dom::element from, const std::string& where) {
  const auto behavior = text_of(from, "behavior");
  if (behavior != "Isolated" && behavior != "Removed")
    throw unsupported(where, "the pre-tokenizer Split with behavior " + behavior);
  std::string_view pattern;
  std::string literal;
  if (from["pattern"]["Regex"].get(pattern) != simdjson::SUCCESS) {
    if (from["pattern"]["String"].get(pattern) != simdjson::SUCCESS)
      throw unsupported(where, "a Split without pattern");
    literal = "\\Q" + std::string(pattern) + "\\E";
    pattern = literal;
  }
  return split_by(Regex(pattern, where), behavior == "Removed", flag_of(from, "invert", false));
}

template <class Step, class Make>
std::vector<Step> steps(dom::element from, const char* list, const std::string& where, Make make) {
  dom::array parts;
  std::vector<Step> out;
  if (from[list].get(parts) != simdjson::SUCCESS) throw unsupported(where, "a Sequence without its list");
  for (const dom::element part : parts) out.push_back(make(dom::element(part), where));
  return out;
}

}  // namespace

Normalizer make_normalizer(simdjson::simdjson_result<dom::element> element, const std::string& where) {
  dom::element from;
  if (element.get(from) != simdjson::SUCCESS || from.is_null()) return [](std::string text) { return text; };
  const auto type = text_of(from, "type");
  if (type == "NFC") return unicode_form(option(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (type == "NFD") return unicode_form(option(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE));
  if (type == "NFKC") return unicode_form(option(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT));
  if (type == "NFKD") return unicode_form(option(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT));
  if (type == "Prepend")
    return [prefix = text_of(from, "prepend")](std::string text) { return text.empty() ? text : prefix + text; };
  if (type == "Replace") {
    std::string_view pattern;
    if (from["pattern"]["String"].get(pattern) != simdjson::SUCCESS)
      throw unsupported(where, "the normalizer Replace with a regular expression");
    return [pattern = std::string(pattern), content = text_of(from, "content")](std::string text) {
      return replaced(text, pattern, content);
    };
  }
  if (type == "Sequence")
    return [all = steps<Normalizer>(from, "normalizers", where, make_normalizer)](std::string text) {
      for (const auto& step : all) text = step(std::move(text));
      return text;
    };
  throw unsupported(where, "the normalizer " + type);
}

PreTokenizer make_pre_tokenizer(simdjson::simdjson_result<dom::element> element, const std::string& where) {
  dom::element from;
  if (element.get(from) != simdjson::SUCCESS || from.is_null())
    return [](std::vector<std::string> pieces, bool) { return pieces; };
  const auto type = text_of(from, "type");
  if (type == "ByteLevel") return byte_level(from, where);
  if (type == "Metaspace") return metaspace(from, where);
  if (type == "Split") return split_step(from, where);
  if (type == "Digits")
    return split_by(Regex(flag_of(from, "individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)", where), false, false);
  if (type == "Sequence")
    return [all = steps<PreTokenizer>(from, "pretokenizers", where, make_pre_tokenizer)](
               std::vector<std::string> pieces, bool first) {
      for (const auto& step : all) pieces = step(std::move(pieces), first);
      return pieces;
    };
  throw unsupported(where, "the pre-tokenizer " + type);
}

}  // namespace difr::tokenizer
