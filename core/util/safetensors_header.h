#pragma once
// The header of a safetensors file: 8 bytes length (little-endian), a JSON object, then the tensors' bytes. Everything
// is checked before a byte of a tensor is used.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace difr {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;  ///< as written: F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, BOOL, F8_E4M3, F8_E5M2
  std::vector<std::int64_t> shape;
  std::uint64_t elements = 1;
  std::uint64_t begin = 0;  ///< bytes from the start of the data section
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;  ///< of "__metadata__"
  std::vector<SafetensorsEntry> tensors;        ///< by offset: contiguous, covering the data section
  std::uint64_t data_start = 0;                 ///< bytes from the start of the file

  [[nodiscard]] const SafetensorsEntry* find(std::string_view name) const;
};

/// The format's own limit.
inline constexpr std::uint64_t kSafetensorsHeaderLimit = 100'000'000;

/// Bytes of one element, 0 for an unknown dtype.
[[nodiscard]] std::size_t safetensors_element_bytes(std::string_view dtype);

/// Length of the JSON from the file's first 8 bytes. Throws difr::Error (bad_input) naming `where` when the file of
/// `file_bytes` cannot hold it.
[[nodiscard]] std::uint64_t safetensors_header_length(std::span<const std::uint8_t> first_bytes,
                                                      std::uint64_t file_bytes, const std::string& where);

/// Throws difr::Error (bad_input) naming `where` and the tensor: JSON that does not parse, a name twice, an unknown
/// dtype, a shape that overflows or does not fit its bytes, gaps, overlaps, or bytes beyond the file.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t file_bytes,
                                                         const std::string& where);

}  // namespace difr
