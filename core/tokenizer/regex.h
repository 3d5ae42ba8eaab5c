#pragma once
// Perl-compatible expressions over UTF-8, through PCRE2. Internal to core/tokenizer.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace difr::tokenizer {

class Regex {
 public:
  /// Throws difr::Error naming `where` and the place in the expression.
  Regex(std::string_view pattern, const std::string& where);
  Regex(Regex&&) noexcept;
  ~Regex();

  /// Byte ranges of all matches, ascending, not empty. Throws difr::Error when the text makes the expression run away.
  [[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> matches(std::string_view text) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace difr::tokenizer
