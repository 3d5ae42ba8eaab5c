#pragma once
// Errors a person can act on: every message names the place and the remedy.

#include <stdexcept>
#include <string>

namespace difr {

/// Exit codes of every command (DESIGN §8); a fail verdict is 1.
enum class ExitCode : int { ok = 0, fail_verdict = 1, usage = 2, bad_input = 3, environment = 4 };

/// Ends a command. `where` is a file, record or option; `remedy` says what to do about it.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, std::string where, std::string what, std::string remedy = {})
      : std::runtime_error(where + ": " + what + (remedy.empty() ? "" : " (" + remedy + ")")),
        code_(code), where_(std::move(where)), remedy_(std::move(remedy)) {}
  [[nodiscard]] ExitCode code() const { return code_; }
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] const std::string& remedy() const { return remedy_; }

 private:
  ExitCode code_;
  std::string where_;
  std::string remedy_;
};

inline Error bad_input(std::string where, std::string what, std::string remedy = {}) {
  return {ExitCode::bad_input, std::move(where), std::move(what), std::move(remedy)};
}
inline Error environment_error(std::string where, std::string what, std::string remedy = {}) {
  return {ExitCode::environment, std::move(where), std::move(what), std::move(remedy)};
}

}  // namespace difr
