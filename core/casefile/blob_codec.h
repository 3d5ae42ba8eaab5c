#pragma once
// Blobs of the case file. All integers little-endian; every decoder checks sizes before it reads and throws
// difr::Error. Layout: one byte kind, one byte version, then as each function says; payloads are byte planes (all
// lowest bytes, then all second bytes, …) because bytes of equal significance compress better side by side.

#include <span>
#include <vector>

#include "core/domain/claim.h"
#include "core/domain/evidence.h"
#include "core/domain/token_scores.h"
#include "core/domain/verdict.h"
#include "core/util/zstd_codec.h"

namespace difr {

/// u32 count, u8 width (2, 3 or 4 bytes an id), u8 method (0 planes, 1 zstd of planes), payload.
[[nodiscard]] Bytes encode_ids(std::span<const TokenId> ids);
[[nodiscard]] std::vector<TokenId> decode_ids(std::span<const std::uint8_t> blob);

/// u32 count, u64 raw size, zstd of the fp32 planes. An empty list is an empty blob.
[[nodiscard]] Bytes encode_logprobs(std::span<const float> logprobs);
[[nodiscard]] std::vector<float> decode_logprobs(std::span<const std::uint8_t> blob);

/// u32 tokens, u32 vocab, u32 M, u64 raw size, zstd. Exact for every bit pattern of the floats. Candidate logits are
/// stored as differences of order-preserving integers along the row, which are small because a row is sorted.
/// Throws std::invalid_argument when the arrays of `evidence` disagree in length.
[[nodiscard]] Bytes encode_evidence(const Evidence& evidence);
[[nodiscard]] Evidence decode_evidence(std::span<const std::uint8_t> blob);

/// u32 tokens, u64 raw size, zstd of the ten arrays in the order of the declaration.
[[nodiscard]] Bytes encode_scores(const TokenScores& scores);
[[nodiscard]] TokenScores decode_scores(std::span<const std::uint8_t> blob);

/// u32 offsets, u32 tokens, u64 raw size, zstd of offsets (8 bytes each), margin, gap, runner_up.
[[nodiscard]] Bytes encode_calibration(const Calibration& calibration);
void decode_calibration(std::span<const std::uint8_t> blob, Calibration& into);

}  // namespace difr
