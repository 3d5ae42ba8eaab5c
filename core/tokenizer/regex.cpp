#include "core/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include "core/util/error.h"

namespace difr::tokenizer {
namespace {

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatch {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

struct Regex::Impl {
  std::unique_ptr<pcre2_code, FreeCode> code;
  std::string where;
};

Regex::Regex(std::string_view pattern, const std::string& where) : impl_(std::make_unique<Impl>()) {
  int error = 0;
  PCRE2_SIZE at = 0;
  impl_->where = where;
  impl_->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP,
                                  &error, &at, nullptr));
  if (!impl_->code)
    throw bad_input(where,
                    fmt::format("a pattern of its pre-tokenizer cannot be used (at character {}): {}", at, pattern),
                    "expected the tokenizer.json that lies beside the model's weights");
  (void)pcre2_jit_compile(impl_->code.get(), PCRE2_JIT_COMPLETE);  // only speed: without it the interpreter serves
}

Regex::Regex(Regex&&) noexcept = default;
Regex::~Regex() = default;

std::vector<std::pair<std::size_t, std::size_t>> Regex::matches(std::string_view text) const {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  const std::unique_ptr<pcre2_match_data, FreeMatch> data(
      pcre2_match_data_create_from_pattern(impl_->code.get(), nullptr));
  for (std::size_t at = 0; at < text.size();) {
    const int result = pcre2_match(impl_->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, 0,
                                   data.get(), nullptr);
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0)
      throw bad_input(impl_->where, fmt::format("its pre-tokenizer's pattern fails on a text (PCRE2 error {})", result),
                      "leave that record out");
    const auto* range = pcre2_get_ovector_pointer(data.get());
    if (range[1] > range[0]) found.emplace_back(range[0], range[1]);
    at = range[1] > at ? range[1] : at + 1;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return found;
}

}  // namespace difr::tokenizer
