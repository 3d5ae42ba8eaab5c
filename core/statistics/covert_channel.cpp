#include "core/statistics/covert_channel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/statistics/normal.h"
#include "core/statistics/permutation.h"
#include "core/util/error.h"

namespace difr {

namespace {

void require_sigma(double sigma) {
  if (!(sigma > 0)) throw bad_input("sigma", "the noise scale must be positive");
}

/// log2 of the ways to place at most k exceptions of `choices` kinds each in n positions; an upper bound by k + 1 times
/// the largest term.
double exception_bits(std::size_t n, std::size_t k, double choices) {
  if (k == 0) return 0;
  k = std::min(k, n);
  double largest = 0;
  for (std::size_t j = 0; j <= k; ++j) {
    largest = std::max(largest, log_choose(n, j) / std::numbers::ln2 + static_cast<double>(j) * std::log2(choices));
  }
  return largest + std::log2(static_cast<double>(k + 1));
}

}  // namespace

double gumbel_likelihood_score(double margin, double sigma) {
  require_sigma(sigma);
  return normal_log_cdf(-margin / (std::numbers::sqrt2 * sigma));
}

double convolved_gaussian_score(double lower, double upper, double u, double sigma) {
  require_sigma(sigma);
  const double a = (lower - u) / sigma;
  const double b = (upper - u) / sigma;
  // Difference of two values near one loses digits: mirror into the lower tail.
  const double mass = a > 0 ? normal_cdf(-a) - normal_cdf(-b) : normal_cdf(b) - normal_cdf(a);
  return std::log(std::max(0.0, mass) + 1e-12);
}

TokenClass classify_token(double likelihood_score, std::int32_t logit_rank, const ClassLimits& limits) {
  if (likelihood_score > limits.likelihood) return TokenClass::safe;
  return logit_rank > limits.rank ? TokenClass::dangerous : TokenClass::suspicious;
}

double accepted_margin(double likelihood, double sigma) {
  require_sigma(sigma);
  if (likelihood >= -std::numbers::ln2) return 0;
  // Invert log Phi by bisection on its argument: exp(likelihood) may underflow.
  double low = -1e9;
  double high = 0;
  for (int step = 0; step < 200; ++step) {
    const double middle = 0.5 * (low + high);
    (normal_log_cdf(middle) > likelihood ? high : low) = middle;
  }
  return -high * std::numbers::sqrt2 * sigma;
}

std::size_t accepted_tokens(std::span<const double> margins, double likelihood, double sigma) {
  const double limit = accepted_margin(likelihood, sigma);
  const auto count = std::count_if(margins.begin(), margins.end(), [&](double margin) { return margin <= limit; });
  return std::max<std::size_t>(1, static_cast<std::size_t>(count));
}

CovertChannelBound covert_channel_bound(const CovertChannelInput& input) {
  const std::size_t n = input.accepted.size();
  if (n == 0 || input.vocabulary < 2) throw bad_input("covert-channel bound", "needs tokens and a vocabulary");
  CovertChannelBound bound;
  for (const std::size_t accepted : input.accepted) {
    if (accepted < 1 || accepted > input.vocabulary)
      throw bad_input("covert-channel bound", "an accepted count lies outside [1, vocabulary]");
    bound.bits += std::log2(static_cast<double>(accepted));
  }
  bound.bits += exception_bits(n, input.suspicious_allowed, std::max(1, input.suspicious_rank + 1));
  bound.bits += exception_bits(n, input.dangerous_allowed, static_cast<double>(input.vocabulary));
  bound.raw_bits = static_cast<double>(n) * std::log2(static_cast<double>(input.vocabulary));
  bound.bits = std::min(bound.bits, bound.raw_bits);
  bound.bits_per_token = bound.bits / static_cast<double>(n);
  bound.share = bound.bits / bound.raw_bits;
  return bound;
}

ExfiltrationTime exfiltration_time(const CovertChannelBound& bound, std::size_t tokens, double parameters,
                                   double bits_per_parameter, double tokens_per_day) {
  if (tokens == 0 || !(parameters > 0) || !(bits_per_parameter > 0) || !(tokens_per_day > 0)) {
    throw bad_input("exfiltration time", "model size, traffic and tokens must be positive");
  }
  const double secret = parameters * bits_per_parameter;
  ExfiltrationTime time;
  time.days_unchecked = secret / (bound.raw_bits / static_cast<double>(tokens) * tokens_per_day);
  time.days =
      bound.bits > 0 ? secret / (bound.bits_per_token * tokens_per_day) : std::numeric_limits<double>::infinity();
  time.slowdown = time.days / time.days_unchecked;
  return time;
}

}  // namespace difr
