#include "core/ingest/json_scanner.h"

#include <array>

namespace difr {
namespace {

using Table = std::array<bool, 256>;

constexpr bool is_scalar(int c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' || c == '.';
}

/// In a list, numbers, literals, commas and blanks need no look: most bytes of a log are these.
constexpr Table make_list_table() {
  Table table{};
  for (int c = 0; c < 256; ++c)
    table[static_cast<std::size_t>(c)] = is_scalar(c) || c == ',' || c == ' ' || c == '\t' || c == '\r';
  return table;
}

constexpr Table make_string_table() {
  Table table{};
  for (int c = 0; c < 256; ++c) table[static_cast<std::size_t>(c)] = c != '"' && c != '\\' && c != '\n';
  return table;
}

constexpr Table list_plain = make_list_table();
constexpr Table string_plain = make_string_table();

bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
std::uint8_t byte(char c) {
  return static_cast<std::uint8_t>(c);
}

}  // namespace

void JsonScanner::start() {
  stack_.clear();
  want_ = Want::value;
  in_string_ = escaped_ = string_is_key_ = key_at_top_ = in_scalar_ = saw_newline_ = false;
  key_.clear();
  why_ = "";
}

bool JsonScanner::push(char open) {
  constexpr std::size_t deepest = 1u << 20;  // the parser refuses far less; this only bounds memory
  if (stack_.size() >= deepest) return false;
  stack_.push_back(open);
  want_ = open == '{' ? Want::key : Want::value;
  return true;
}

bool JsonScanner::pop(char close) {
  if (stack_.empty() || stack_.back() != (close == '}' ? '{' : '[')) return false;
  stack_.pop_back();
  want_ = Want::comma;
  return true;
}

void JsonScanner::list_ended() {
  if (!stack_.empty()) stack_.pop_back();
  want_ = Want::comma;
}

JsonScanner::Status JsonScanner::scan(std::string_view text, std::size_t& pos) {
  const auto n = text.size();
  while (pos < n) {
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
        if (string_is_key_ && key_at_top_) key_buffer_ += text[pos];
        ++pos;
        continue;
      }
      const auto from = pos;
      while (pos < n && string_plain[byte(text[pos])]) ++pos;
      if (string_is_key_ && key_at_top_ && key_buffer_.size() < 64) key_buffer_ += text.substr(from, pos - from);
      if (pos >= n) return Status::more;
      const char c = text[pos];
      if (c == '\n') return fail("a line break inside a string: a closing quote is missing");
      ++pos;
      if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
        want_ = string_is_key_ ? Want::colon : Want::comma;
        if (string_is_key_ && key_at_top_) key_ = key_buffer_;
      }
      continue;
    }
    if (in_scalar_) {
      while (pos < n && is_scalar(byte(text[pos]))) ++pos;
      if (pos >= n) return Status::more;
      in_scalar_ = false;
      want_ = Want::comma;
    }
    const bool in_list = !stack_.empty() && stack_.back() == '[';
    if (in_list && want_ == Want::value) {
      while (pos < n && list_plain[byte(text[pos])]) ++pos;
      if (pos >= n) return Status::more;
    }
    const char c = text[pos];
    if (blank(c)) {
      saw_newline_ |= c == '\n';
      ++pos;
      continue;
    }
    switch (c) {
      case '"':
        if (want_ != Want::key && want_ != Want::value) return fail("a string where a comma or a colon is due");
        in_string_ = true;
        string_is_key_ = want_ == Want::key;
        key_at_top_ = watch_lists_ && stack_.size() == 1;
        key_buffer_.clear();
        ++pos;
        break;
      case '{':
      case '[': {
        if (want_ != Want::value) return fail("a bracket where a key, a comma or a colon is due");
        const bool member_of_top = stack_.size() == 1 && stack_.back() == '{';
        if (!push(c)) return fail("nested too deeply");
        ++pos;
        if (watch_lists_ && c == '[' && member_of_top) return Status::list_begins;
        break;
      }
      case '}':
      case ']':
        if (!pop(c)) return fail("a closing bracket that does not match");
        ++pos;
        if (stack_.empty()) return Status::complete;
        break;
      case ',':
        if (want_ != Want::comma) return fail("a comma too many");
        want_ = in_list ? Want::value : Want::key;
        ++pos;
        break;
      case ':':
        if (want_ != Want::colon) return fail("a colon out of place");
        want_ = Want::value;
        ++pos;
        break;
      default:
        if (want_ != Want::value) return fail("text where a key, a comma or a colon is due");
        ++pos;
        if (!in_list) {
          in_scalar_ = true;
        }
        break;
    }
  }
  return Status::more;
}

}  // namespace difr
