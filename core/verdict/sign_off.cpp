#include "core/verdict/sign_off.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/util/error.h"

namespace difr {
namespace {

std::string trimmed(const std::string& text) {
  constexpr const char* blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

std::string sign_off_statement(const ProviderDecision& d, const std::string& calibration,
                               const DecisionOptions& options) {
  return fmt::format("{}: {}; {} {:.6g} against {}, p = {}, over {} tokens in {} requests; calibration {}, alpha {:g}",
                     d.name, to_string(d.verdict), d.statistic.empty() ? "no statistic" : d.statistic, d.score,
                     d.threshold ? fmt::format("{:.6g}", *d.threshold) : "no reachable threshold",
                     d.p_value ? fmt::format("{:.4g}", *d.p_value) : "unknown", d.tokens, d.requests, calibration,
                     options.alpha);
}

Finding make_sign_off(const ProviderDecision& decision, const std::string& calibration, const DecisionOptions& options,
                      const std::string& author, const std::string& reason) {
  Finding finding;
  finding.provider_id = decision.provider_id;
  finding.kind = kSignOff;
  finding.author = trimmed(author);
  const std::string why = trimmed(reason);
  if (finding.author.empty()) throw bad_input("sign-off", "nobody signs", "give a name");
  if (why.empty()) throw bad_input("sign-off", "no reason is given", "say why the verdict is accepted");
  finding.text = sign_off_statement(decision, calibration, options) + '\n' + why;
  return finding;
}

std::vector<SignOff> sign_offs(std::span<const Finding> findings, std::span<const ProviderDecision> decisions,
                               const std::string& calibration, const DecisionOptions& options) {
  std::vector<SignOff> out;
  for (const Finding& finding : findings) {
    if (finding.kind != kSignOff || !finding.provider_id) continue;
    SignOff signed_off;
    signed_off.finding_id = finding.id;
    signed_off.provider_id = *finding.provider_id;
    signed_off.author = finding.author;
    signed_off.at = finding.created_at;
    const auto end = finding.text.find('\n');
    signed_off.statement = finding.text.substr(0, end);
    if (end != std::string::npos) signed_off.reason = finding.text.substr(end + 1);
    const auto decision = std::ranges::find(decisions, signed_off.provider_id, &ProviderDecision::provider_id);
    if (decision != decisions.end()) {
      signed_off.provider = decision->name;
      signed_off.current = sign_off_statement(*decision, calibration, options) == signed_off.statement;
    }
    out.push_back(std::move(signed_off));
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace difr
