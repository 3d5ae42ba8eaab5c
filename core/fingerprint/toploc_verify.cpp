#include "core/fingerprint/toploc_verify.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace difr {

namespace {

constexpr double kNothingMatched = 0x1p64;  // the public package's marker

int exponent(int bits) {
  return (bits >> 7) & 0xFF;
}
int mantissa(int bits) {
  return bits & 0x7F;
}

ToplocNumbers summarise(int mismatches, std::vector<int>& errors) {
  if (errors.empty()) return {mismatches, kNothingMatched, kNothingMatched};
  std::sort(errors.begin(), errors.end());
  const std::size_t n = errors.size();
  const double mean = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(n);
  const double median = n % 2 != 0 ? errors[n / 2] : (errors[n / 2 - 1] + errors[n / 2]) / 2.0;
  return {mismatches, mean, median};
}

/// Empty when the reference can be compared with.
std::string reference_fault(std::span<const std::uint16_t> reference, int topk) {
  if (reference.size() < static_cast<std::size_t>(topk))
    return fmt::format("the reference has {} values here, fewer than topk {}", reference.size(), topk);
  bool zero = true;
  for (const std::uint16_t bits : reference) {
    if ((bits & 0x7F80u) == 0x7F80u) return "the reference's activations are not finite here";
    zero = zero && (bits & 0x7FFFu) == 0;
  }
  return zero ? "the reference's activations are all zero here" : "";
}

std::string above(const ToplocNumbers& numbers, const ToplocThresholds& limits) {
  std::string reason;
  const auto add = [&reason](const char* name, double value, double limit) {
    if (!(value <= limit))
      reason += fmt::format("{}{} {:.6g} is above {:.6g}", reason.empty() ? "" : ", ", name, value, limit);
  };
  add("exponent mismatches", numbers.exponent_mismatches, limits.exponent_mismatches);
  if (numbers.mantissa_mean >= kNothingMatched) {
    reason += fmt::format("{}no exponent matches", reason.empty() ? "" : ", ");
    return reason;
  }
  add("mean mantissa error", numbers.mantissa_mean, limits.mantissa_mean);
  add("median mantissa error", numbers.mantissa_median, limits.mantissa_median);
  return reason;
}

ToplocChunkResult judge(const tl::expected<ToplocProof, std::string>& proof, std::span<const std::uint16_t> reference,
                        const ToplocSettings& settings, const ToplocThresholds& thresholds) {
  ToplocChunkResult result;
  const auto topk = static_cast<std::size_t>(settings.topk);
  if (!proof) {
    result.status = ToplocStatus::malformed;
    result.reason = proof.error();
  } else if (proof->is_null()) {
    result.status = ToplocStatus::null;
    result.reason = "is the null proof, which proves nothing";
  } else if (proof->coefficients.size() != topk) {
    result.status = ToplocStatus::malformed;
    result.reason =
        fmt::format("has {} coefficients, the declared topk is {}", proof->coefficients.size(), settings.topk);
  } else if (std::all_of(proof->coefficients.begin(), proof->coefficients.end(), [](int c) { return c == 0; })) {
    result.status = ToplocStatus::null;
    result.reason = "is zero everywhere, which proves nothing";
  } else if (const std::string fault = reference_fault(reference, settings.topk); !fault.empty()) {
    result.status = ToplocStatus::unusable;
    result.reason = fault;
  } else {
    result.numbers = compare_toploc(*proof, reference, settings.topk, false);
    result.python =
        proof->modulus == kToplocPrime ? result.numbers : compare_toploc(*proof, reference, settings.topk, true);
    result.reason = above(result.numbers, thresholds);
    result.status = result.reason.empty() ? ToplocStatus::pass : ToplocStatus::fail;
  }
  return result;
}

void count(ToplocReport& report, ToplocStatus status) {
  switch (status) {
    case ToplocStatus::pass:
      ++report.passed;
      break;
    case ToplocStatus::fail:
      ++report.failed;
      break;
    case ToplocStatus::unusable:
      ++report.unusable;
      break;
    case ToplocStatus::null:
    case ToplocStatus::malformed:
    case ToplocStatus::missing:
    case ToplocStatus::surplus:
      ++report.not_proven;
      break;
  }
}

ToplocReport verify(ToplocActivations reference, std::span<const tl::expected<ToplocProof, std::string>> proofs,
                    const ToplocSettings& settings, const ToplocThresholds& thresholds) {
  ToplocReport report;
  const auto chunks = toploc_chunks(reference.size(), settings);
  std::vector<std::uint16_t> flat;
  for (std::size_t i = 0; i < std::max(chunks.size(), proofs.size()); ++i) {
    ToplocChunkResult result;
    if (i >= chunks.size()) {
      result.status = ToplocStatus::surplus;
      result.reason = fmt::format("the output has {} chunks only", chunks.size());
    } else {
      if (i >= proofs.size()) {
        result.status = ToplocStatus::missing;
        result.reason = fmt::format("no proof for output rows {} to {}", chunks[i].first, chunks[i].last - 1);
      } else {
        flat.clear();
        for (std::size_t row = chunks[i].first; row < chunks[i].last; ++row)
          flat.insert(flat.end(), reference[row].begin(), reference[row].end());
        result = judge(proofs[i], flat, settings, thresholds);
      }
      result.rows = chunks[i];
    }
    count(report, result.status);
    report.chunks.push_back(std::move(result));
  }
  return report;
}

}  // namespace

const char* to_string(ToplocStatus status) {
  switch (status) {
    case ToplocStatus::pass:
      return "pass";
    case ToplocStatus::fail:
      return "fail";
    case ToplocStatus::null:
      return "null";
    case ToplocStatus::malformed:
      return "malformed";
    case ToplocStatus::missing:
      return "missing";
    case ToplocStatus::surplus:
      return "surplus";
    case ToplocStatus::unusable:
      return "unusable";
  }
  return "unknown";
}

ToplocNumbers compare_toploc(const ToplocProof& proof, std::span<const std::uint16_t> reference, int topk,
                             bool python_indexing) {
  int mismatches = 0;
  std::vector<int> errors;
  for (const std::int64_t index : largest_magnitudes(reference, topk)) {
    const int claimed = proof.evaluate(python_indexing || proof.is_null() ? index : index % proof.modulus);
    const int own = reference[static_cast<std::size_t>(index)];
    if (exponent(claimed) != exponent(own))
      ++mismatches;
    else
      errors.push_back(std::abs(mantissa(claimed) - mantissa(own)));
  }
  return summarise(mismatches, errors);
}

ToplocReport verify_toploc(ToplocActivations reference, std::span<const std::string> proofs_base64,
                           const ToplocSettings& settings, const ToplocThresholds& thresholds) {
  std::vector<tl::expected<ToplocProof, std::string>> proofs;
  std::size_t bytes = 0;
  for (const std::string& text : proofs_base64) {
    proofs.push_back(decode_toploc_base64(text));
    bytes += proofs.back() ? toploc_bytes(static_cast<int>(proofs.back()->coefficients.size())) : text.size() / 4 * 3;
  }
  ToplocReport report = verify(reference, proofs, settings, thresholds);
  report.proof_bytes = bytes;
  return report;
}

ToplocReport verify_toploc_bytes(ToplocActivations reference, std::span<const std::vector<std::uint8_t>> proofs,
                                 const ToplocSettings& settings, const ToplocThresholds& thresholds) {
  std::vector<tl::expected<ToplocProof, std::string>> decoded;
  std::size_t bytes = 0;
  for (const auto& proof : proofs) {
    decoded.push_back(decode_toploc(proof));
    bytes += proof.size();
  }
  ToplocReport report = verify(reference, decoded, settings, thresholds);
  report.proof_bytes = bytes;
  return report;
}

}  // namespace difr
