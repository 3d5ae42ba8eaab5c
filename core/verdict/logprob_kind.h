#pragma once
// Which log-probabilities a log states: the model's own, or those after temperature and penalties, or those of the
// filtered distribution. Engines differ, and by a server option (vLLM: --logprobs-mode); found by comparison.

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/casefile/case_file.h"
#include "core/domain/claim.h"
#include "core/domain/evidence.h"
#include "core/sampling/profile.h"

namespace difr {

enum class LogprobKind : std::uint8_t { raw, processed, filtered };
inline constexpr std::size_t kLogprobKinds = 3;
[[nodiscard]] const char* to_string(LogprobKind kind);

/// What the reference says of the stated log-probability of one token, in nats. NaN: the evidence cannot tell (the
/// temperature or the filter reaches below the candidates it holds, or the token lies at the filter's edge).
using LogprobPredictions = std::array<double, kLogprobKinds>;

/// One row per output token that has a stated, finite log-probability and a prediction of every kind.
struct LogprobSample {
  float stated = 0;
  LogprobPredictions predicted{};
};

/// Appends the tokens of one claim. `order` is that of the provider's engine.
void collect_logprobs(const Claim& claim, const Evidence& evidence, ProcessingOrder order,
                      std::vector<LogprobSample>& into);

struct LogprobComparison {
  std::size_t tokens = 0;
  std::array<double, kLogprobKinds> median_difference{};  ///< median |stated - predicted|, nats; NaN without tokens
  std::vector<LogprobKind> fits;  ///< several where they coincide (T = 1, no filter); empty: none fits
  std::string text;               ///< one clause for people
};

/// A kind fits when its median difference is within honest numerical noise (0.1 nats: some times what bf16 engines show
/// against an fp32 reference) and not clearly worse than the best one's.
[[nodiscard]] LogprobComparison compare_logprobs(std::span<const LogprobSample> samples);

/// Over all claims of a provider that state log-probabilities and have evidence in the run; claims are streamed.
[[nodiscard]] LogprobComparison stated_logprobs(const CaseFile& file, std::int64_t run_id, std::int64_t provider_id,
                                                ProcessingOrder order);

}  // namespace difr
