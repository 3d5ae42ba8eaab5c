#pragma once
// A strict little checker for the report's HTML, which is meant to be well-formed XML: independent of the writer.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace difr::test {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
};

struct Markup {
  std::string error;  ///< empty: well-formed
  std::vector<Element> elements;
  std::string text;  ///< of all elements but style and script, entities decoded, tags replaced by one space
};

inline bool valid_utf8(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    const auto b = static_cast<unsigned char>(s[i]);
    const std::size_t n = b < 0x80 ? 1 : b >> 5 == 6 ? 2 : b >> 4 == 14 ? 3 : b >> 3 == 30 ? 4 : 0;
    if (n == 0 || i + n > s.size() || b == 0xC0 || b == 0xC1 || b > 0xF4) return false;
    for (std::size_t k = 1; k < n; ++k) {
      if ((static_cast<unsigned char>(s[i + k]) & 0xC0) != 0x80) return false;
    }
    if (b < 0x20 && b != '\n' && b != '\t') return false;  // not allowed in XML
    i += n;
  }
  return true;
}

class MarkupChecker {
 public:
  explicit MarkupChecker(std::string_view s) : s_(s) {}

  Markup run() {
    if (!valid_utf8(s_)) return fail("invalid UTF-8 or control character");
    if (!take("<!DOCTYPE html>")) return fail("no doctype");
    while (at_ < s_.size() && result_.error.empty()) {
      if (s_[at_] == '<')
        tag();
      else
        character();
    }
    if (result_.error.empty() && !open_.empty()) return fail("unclosed " + open_.back());
    return std::move(result_);
  }

 private:
  Markup fail(std::string why) {
    result_.error = std::move(why) + " at byte " + std::to_string(at_);
    return std::move(result_);
  }
  void error(const std::string& why) {
    if (result_.error.empty()) result_.error = why + " at byte " + std::to_string(at_);
    at_ = s_.size();
  }
  bool take(std::string_view word) {
    if (s_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  static bool name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == ':';
  }
  std::string name() {
    const std::size_t from = at_;
    while (at_ < s_.size() && name_char(s_[at_])) ++at_;
    return std::string(s_.substr(from, at_ - from));
  }
  std::string entity() {
    static const std::map<std::string, std::string, std::less<>> known = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}};
    const std::size_t end = s_.find(';', at_);
    if (end == std::string_view::npos) return error("lone ampersand"), std::string();
    const auto found = known.find(s_.substr(at_, end + 1 - at_));
    if (found == known.end()) return error("unknown entity"), std::string();
    at_ = end + 1;
    return found->second;
  }
  void character() {
    if (open_.empty() && s_[at_] != '\n') return error("text outside the root");
    const bool hidden = !open_.empty() && (open_.back() == "style" || open_.back() == "script");
    if (s_[at_] == '&') {
      const std::string c = entity();
      if (!hidden) result_.text += c;
      return;
    }
    if (s_[at_] == '>') return error("bare >");
    if (!hidden) result_.text += s_[at_];
    ++at_;
  }
  void tag() {
    result_.text += ' ';
    if (take("</")) {
      const std::string closing = name();
      if (open_.empty() || open_.back() != closing) return error("closes " + closing + " which is not open");
      open_.pop_back();
      if (!take(">")) return error("malformed end tag");
      return;
    }
    ++at_;
    Element element{name(), {}};
    if (element.name.empty()) return error("bare <");
    while (take(" ")) {
      const std::string key = name();
      if (key.empty() || !take("=\"")) return error("malformed attribute");
      std::string value;
      while (at_ < s_.size() && s_[at_] != '"') {
        if (s_[at_] == '<') return error("< in an attribute");
        if (s_[at_] == '&')
          value += entity();
        else
          value += s_[at_++];
      }
      if (!take("\"")) return error("unclosed attribute");
      if (!element.attributes.emplace(key, value).second) return error("attribute twice");
    }
    if (take(">"))
      open_.push_back(element.name);
    else if (!take("/>"))
      return error("malformed tag " + element.name);
    result_.elements.push_back(std::move(element));
  }

  std::string_view s_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
  Markup result_;
};

inline Markup check_markup(std::string_view html) {
  return MarkupChecker(html).run();
}

}  // namespace difr::test
