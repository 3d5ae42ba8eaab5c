#pragma once
// Holds a provider's TOPLOC proofs against the reference's own activations.

#include <cstdint>
#include <string>
#include <vector>

#include "core/fingerprint/toploc.h"

namespace difr {

/// The three numbers of the public package's Python path. Without any exponent match both errors are 2^64, as there.
struct ToplocNumbers {
  int exponent_mismatches = 0;  ///< of topk
  double mantissa_mean = 0;     ///< in units of the last bf16 mantissa bit, over matching exponents
  double mantissa_median = 0;   ///< of even counts the mean of the middle two
  bool operator==(const ToplocNumbers&) const = default;
};

/// As published for bf16 and topk 128; a chunk passes while no number is above its limit.
struct ToplocThresholds {
  int exponent_mismatches = 38;
  double mantissa_mean = 10;
  double mantissa_median = 8;
};

enum class ToplocStatus : std::uint8_t {
  pass,
  fail,       ///< a number is above its threshold
  null,       ///< the null proof, or a polynomial that is zero everywhere: proves nothing
  malformed,  ///< does not decode, or has another number of coefficients than the declared topk
  missing,    ///< there is a chunk and no proof
  surplus,    ///< there is a proof and no chunk
  unusable,   ///< the reference's activations are not finite, all zero or fewer than topk: nothing to compare with
};
[[nodiscard]] const char* to_string(ToplocStatus status);

struct ToplocChunkResult {
  ToplocStatus status = ToplocStatus::missing;
  ToplocChunk rows;       ///< of the reference; empty when surplus
  ToplocNumbers numbers;  ///< of pass and fail
  /// What the public Python path would have said. It evaluates at the raw index even where the builder reduced it by a
  /// smaller modulus, so it fails honest proofs of chunks in which two indices collide mod 65497.
  ToplocNumbers python;
  std::string reason;  ///< empty for pass
};

struct ToplocReport {
  std::vector<ToplocChunkResult> chunks;
  std::size_t passed = 0;
  std::size_t failed = 0;      ///< above a threshold
  std::size_t not_proven = 0;  ///< null, malformed, missing, surplus
  std::size_t unusable = 0;
  std::size_t proof_bytes = 0;  ///< of the proofs as handed in
};

/// Numbers of one decoded, non-empty proof against `reference` (bf16 bits of a whole chunk, at least topk of them).
/// `python_indexing`: see ToplocChunkResult::python.
[[nodiscard]] ToplocNumbers compare_toploc(const ToplocProof& proof, std::span<const std::uint16_t> reference, int topk,
                                           bool python_indexing);

/// Never throws for what a provider may send; every chunk and every proof gets a line. Throws difr::Error (usage) on
/// senseless settings.
[[nodiscard]] ToplocReport verify_toploc(ToplocActivations reference, std::span<const std::string> proofs_base64,
                                         const ToplocSettings& settings, const ToplocThresholds& thresholds = {});
[[nodiscard]] ToplocReport verify_toploc_bytes(ToplocActivations reference,
                                               std::span<const std::vector<std::uint8_t>> proofs,
                                               const ToplocSettings& settings, const ToplocThresholds& thresholds = {});

}  // namespace difr
