#pragma once
// TOPLOC proofs, byte-compatible with the public package 0.1.6: the bf16 values at the topk largest |activations| of a
// chunk of tokens, encoded as the polynomial over GF(65497) that passes through (index mod modulus, value bits).
// Bytes: modulus, then topk coefficients from the constant upwards, each 16 bits big-endian.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace difr {

inline constexpr int kToplocPrime = 65497;

/// Not in the blob, so part of the provider's claim.
struct ToplocSettings {
  int decode_batching_size = 32;  ///< tokens per chunk
  int topk = 128;
  bool skip_prefill = false;  ///< false: the first activation is a chunk of its own
  bool operator==(const ToplocSettings&) const = default;
};

struct ToplocProof {
  int modulus = 0;                ///< 0: the null proof, which the public package emits when building failed
  std::vector<int> coefficients;  ///< ascending powers

  bool operator==(const ToplocProof&) const = default;
  [[nodiscard]] bool is_null() const { return modulus == 0; }
  /// Value at x by Horner's rule mod 65497; the coefficients must not be empty.
  [[nodiscard]] int evaluate(std::int64_t x) const;
  [[nodiscard]] std::vector<std::uint8_t> to_bytes() const;
  [[nodiscard]] std::string to_base64() const;

  static ToplocProof null(int topk) { return {0, std::vector<int>(static_cast<std::size_t>(topk), 0)}; }
};

/// What a proof takes on the wire: 2 + 2·topk bytes per chunk.
[[nodiscard]] constexpr std::size_t toploc_bytes(int topk) {
  return 2 + 2 * static_cast<std::size_t>(topk);
}

/// The string says what is wrong: too short, odd length, coefficients outside the field, an impossible modulus, or not
/// base64. The public decoder accepts all of these silently.
[[nodiscard]] tl::expected<ToplocProof, std::string> decode_toploc(std::span<const std::uint8_t> bytes);
[[nodiscard]] tl::expected<ToplocProof, std::string> decode_toploc_base64(std::string_view text);

/// Largest modulus <= 65497 under which the indices stay distinct; empty when there is none above 2^15.
[[nodiscard]] std::optional<int> injective_modulus(std::span<const std::int64_t> indices);

/// Interpolates the points (index, 16 value bits). Empty when no modulus keeps the indices distinct.
[[nodiscard]] std::optional<ToplocProof> interpolate_toploc(std::span<const std::int64_t> indices,
                                                            std::span<const std::uint16_t> values);

/// Positions of the k largest |x| of bf16 values in descending order, NaN first. Which of equal magnitudes at the cut
/// is taken is that of torch's CPU `topk` (its very std algorithms), because it decides about bytes; a GPU's choice may
/// differ, and such proofs differ in those entries. k <= values.size().
[[nodiscard]] std::vector<std::int64_t> largest_magnitudes(std::span<const std::uint16_t> values, int k);

/// One request's activations as the package sees them: row 0 is the first output token's (or, with skip_prefill false,
/// may be a whole prefill of any length), the others one decode step each; bf16 bits.
using ToplocActivations = std::span<const std::span<const std::uint16_t>>;

/// Row ranges [first, last) of the chunks.
struct ToplocChunk {
  std::size_t first = 0;
  std::size_t last = 0;
};
[[nodiscard]] std::vector<ToplocChunk> toploc_chunks(std::size_t rows, const ToplocSettings& settings);

/// Empty string and one proof per chunk; where a chunk cannot be encoded (fewer than topk values, a NaN or infinity)
/// the reason, and no proof: a null proof would prove nothing. Throws difr::Error (usage) on senseless settings.
[[nodiscard]] tl::expected<std::vector<ToplocProof>, std::string> build_toploc(ToplocActivations activations,
                                                                               const ToplocSettings& settings);

}  // namespace difr
