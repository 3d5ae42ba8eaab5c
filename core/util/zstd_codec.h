#pragma once
// One-shot zstd frames for blobs, with a size limit on the way back.

#include <cstdint>
#include <span>
#include <vector>

namespace difr {

using Bytes = std::vector<std::uint8_t>;

/// Appends one frame (content size and checksum recorded) to `out`.
void zstd_compress(std::span<const std::uint8_t> bytes, Bytes& out, int level = 3);
/// Throws difr::Error when the frame is damaged or its content is not exactly `expected` bytes long.
[[nodiscard]] Bytes zstd_decompress(std::span<const std::uint8_t> frame, std::size_t expected);

}  // namespace difr
