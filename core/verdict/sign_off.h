#pragma once
// Sign-off of a provider's verdict: who stands for what, kept as a finding and thereby in the audit trail.

#include <string>
#include <vector>

#include "core/casefile/case_file.h"
#include "core/verdict/decide.h"

namespace difr {

inline constexpr const char* kSignOff = "sign-off";  ///< Finding::kind

/// The verdict with the numbers it rests on, in one line: equal again only as long as the decision is the same.
[[nodiscard]] std::string sign_off_statement(const ProviderDecision& decision, const std::string& calibration,
                                             const DecisionOptions& options);

/// Throws difr::Error when author or reason is blank.
[[nodiscard]] Finding make_sign_off(const ProviderDecision& decision, const std::string& calibration,
                                    const DecisionOptions& options, const std::string& author,
                                    const std::string& reason);

struct SignOff {
  std::int64_t finding_id = 0, provider_id = 0;
  std::string provider, author, at, statement, reason;
  bool current = false;  ///< the decision is still the one that was signed
};

/// The sign-offs among findings, newest first, held against the decisions as they are now.
[[nodiscard]] std::vector<SignOff> sign_offs(std::span<const Finding> findings,
                                             std::span<const ProviderDecision> decisions,
                                             const std::string& calibration, const DecisionOptions& options);

}  // namespace difr
