#include "core/verdict/sampling_match.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace difr {

namespace {

std::string temperature_text(const SamplingParams& s) {
  return s.greedy() ? "0" : fmt::format("{:g}", s.temperature);
}
std::string top_k_text(const SamplingParams& s) {
  return s.top_k <= 0 ? "off" : fmt::format("{}", s.top_k);
}
std::string top_p_text(const SamplingParams& s) {
  return s.top_p >= 1 ? "off" : fmt::format("{:g}", s.top_p);
}
std::string min_p_text(const SamplingParams& s) {
  return s.min_p <= 0 ? "off" : fmt::format("{:g}", s.min_p);
}

}  // namespace

std::string sampling_difference(const SamplingParams& claim, const SamplingParams& calibration) {
  std::vector<std::string> parts;
  const auto compare = [&](std::string_view what, const std::string& a, const std::string& b) {
    if (a != b) parts.push_back(fmt::format("{} {} against {}", what, a, b));
  };
  const auto number = [&](std::string_view what, double a, double b) {
    compare(what, fmt::format("{:g}", a), fmt::format("{:g}", b));
  };
  compare("temperature", temperature_text(claim), temperature_text(calibration));
  // Filters keep the best token whatever they are, so they mean nothing to two greedy runs.
  if (!(claim.greedy() && calibration.greedy())) {
    compare("top-p", top_p_text(claim), top_p_text(calibration));
    compare("top-k", top_k_text(claim), top_k_text(calibration));
    compare("min-p", min_p_text(claim), min_p_text(calibration));
  }
  number("repetition penalty", claim.repetition_penalty, calibration.repetition_penalty);
  number("frequency penalty", claim.frequency_penalty, calibration.frequency_penalty);
  number("presence penalty", claim.presence_penalty, calibration.presence_penalty);
  number("min tokens", claim.min_tokens, calibration.min_tokens);
  const auto lists = [&](std::string_view what, bool same) {
    if (!same) parts.push_back(fmt::format("another {}", what));
  };
  lists("logit bias", claim.logit_bias == calibration.logit_bias);
  lists("list of allowed tokens", claim.allowed_token_ids == calibration.allowed_token_ids);
  lists("list of stop tokens", claim.min_tokens <= 0 || claim.stop_token_ids == calibration.stop_token_ids);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace difr
