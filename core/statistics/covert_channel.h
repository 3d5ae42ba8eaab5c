#pragma once
// How much could a provider smuggle out through its choice of tokens? (Gumbel and convolved-Gaussian likelihood scores
// of weight-exfiltration verification; DESIGN §3.) Natural logarithms unless a name says bits.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace difr {

/// GLS = log Phi(-margin / (sqrt2 sigma)); an honest winner (margin 0) scores log 1/2, a filtered token -inf.
[[nodiscard]] double gumbel_likelihood_score(double margin, double sigma);
/// CGS of an inverse-CDF sampler: log(Phi((upper - u)/sigma) - Phi((lower - u)/sigma) + 1e-12) for the token whose
/// interval of the cumulative distribution is [lower, upper], u the shared uniform.
[[nodiscard]] double convolved_gaussian_score(double lower, double upper, double u, double sigma);

enum class TokenClass : std::uint8_t { safe, suspicious, dangerous };
struct ClassLimits {
  double likelihood = -5;   ///< safe above this score
  std::int32_t rank = 100;  ///< dangerous when the raw logit rank (0-based) exceeds this
};
[[nodiscard]] TokenClass classify_token(double likelihood_score, std::int32_t logit_rank, const ClassLimits& limits);

/// Largest margin a token may have and still score above `likelihood`; 0 when not even a winner does.
[[nodiscard]] double accepted_margin(double likelihood, double sigma);
/// Candidates of one position that would be classed safe, at least 1. `margins`: one per candidate, any order.
[[nodiscard]] std::size_t accepted_tokens(std::span<const double> margins, double likelihood, double sigma);

struct CovertChannelInput {
  std::span<const std::size_t> accepted;  ///< A_t: safe candidates per position
  std::size_t vocabulary = 0;
  std::int32_t suspicious_rank = 100;  ///< a tolerated suspicious token is one of this many
  std::size_t suspicious_allowed = 0;  ///< tokens per run that pass though not safe
  std::size_t dangerous_allowed = 0;   ///< tokens per run that pass though dangerous
};
struct CovertChannelBound {
  double bits = 0;  ///< log2 of the number of outputs that would pass
  double bits_per_token = 0;
  double share = 0;  ///< of the raw capacity, tokens x log2 vocabulary
  double raw_bits = 0;
};
/// Counting bound: no code can carry more bits than log2 of the number of accepted outputs, whatever the provider
/// knows. Throws difr::Error on an empty run or A_t outside [1, vocabulary].
[[nodiscard]] CovertChannelBound covert_channel_bound(const CovertChannelInput& input);

struct ExfiltrationTime {
  double days = 0;            ///< with the bound
  double days_unchecked = 0;  ///< with the raw capacity of the same traffic
  double slowdown = 1;
};
/// Time to move `parameters` x `bits_per_parameter` through `tokens_per_day` outputs. Infinite when the bound is 0
/// bits.
[[nodiscard]] ExfiltrationTime exfiltration_time(const CovertChannelBound& bound, std::size_t tokens, double parameters,
                                                 double bits_per_parameter, double tokens_per_day);

}  // namespace difr
