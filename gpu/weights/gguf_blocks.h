#pragma once
// Element and block formats of GGUF tensors as pure functions: bytes in, fp32 out. Layouts as in ggml's ggml-common.h.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace difr::gpu {

/// One storage format: `values` consecutive elements of a row share `bytes` bytes.
struct BlockFormat {
  std::uint32_t id = 0;  ///< ggml_type, as stored in the file
  std::string_view name;
  std::size_t values = 1;
  std::size_t bytes = 0;
  /// Writes `values` floats from `bytes` bytes; no alignment is assumed.
  void (*decode)(const std::byte* block, float* out) = nullptr;
};

/// Null for a format that this reader does not have.
[[nodiscard]] const BlockFormat* find_block_format(std::uint32_t id);
/// ggml's name of a type, readable or not; for error texts.
[[nodiscard]] std::string_view ggml_type_name(std::uint32_t id);
/// Names of the readable formats, comma separated.
[[nodiscard]] std::string_view readable_formats();

/// Elements [first, first + out.size()) of a tensor whose blocks are `data`; `first` may lie inside a block. Throws
/// std::out_of_range when the range does not lie within the data.
void dequantise(const BlockFormat& format, std::span<const std::byte> data, std::uint64_t first, std::span<float> out);

[[nodiscard]] float half_bits_to_float(std::uint16_t bits);

}  // namespace difr::gpu
