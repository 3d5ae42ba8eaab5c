#pragma once
// Finds where a JSON value ends, piece by piece, without building anything. It checks brackets, quotes and the order of
// keys, colons and commas in objects — enough to notice a broken record where it breaks; numbers and escapes are left
// to the parser.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace difr {

class JsonScanner {
 public:
  enum class Status : std::uint8_t { more, complete, fault, list_begins };

  /// Call before the first byte of a value, which must be '{' or '['.
  void start();
  /// Scans on from text[pos]; `pos` ends behind the last byte used (for `fault`: on the offending byte).
  /// `list_begins`: only with `watch_lists`; a list that is a member of the outermost object was just opened, its name
  /// is in last_key(); the caller may stream it and then call list_ended().
  Status scan(std::string_view text, std::size_t& pos);
  void watch_lists(bool on) { watch_lists_ = on; }
  void list_ended();

  [[nodiscard]] const char* why() const { return why_; }
  [[nodiscard]] bool saw_newline() const { return saw_newline_; }
  [[nodiscard]] std::string_view last_key() const { return key_; }

 private:
  enum class Want : std::uint8_t { key, colon, value, comma };
  Status fail(const char* why) {
    why_ = why;
    return Status::fault;
  }
  bool push(char open);
  bool pop(char close);

  std::vector<char> stack_;
  Want want_ = Want::value;
  bool in_string_ = false, escaped_ = false, string_is_key_ = false, key_at_top_ = false;
  bool in_scalar_ = false;  ///< a number or literal of an object was cut by the end of the text
  bool watch_lists_ = false, saw_newline_ = false;
  std::string key_buffer_;
  std::string key_;
  const char* why_ = "";
};

}  // namespace difr
