#pragma once
// The container of GGUF v3 (and v2, which is laid out alike): metadata and tensor directory, validated before use.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpu/weights/gguf_blocks.h"

namespace difr::gpu {

/// Numeric and boolean arrays are kept up to GgufFile::kKeptArray entries; longer ones and arrays of strings
/// (vocabularies) are only checked and counted.
struct GgufArray {
  std::uint64_t count = 0;
  std::vector<double> numbers;
};
using GgufValue = std::variant<std::uint64_t, std::int64_t, double, bool, std::string, GgufArray>;

struct GgufTensor {
  std::string name;  ///< as the file spells it, e.g. "blk.0.attn_q.weight"
  const BlockFormat* format = nullptr;
  std::vector<std::int64_t> shape;  ///< row-major, outermost first (the file lists the innermost first)
  std::span<const std::byte> bytes;
};

/// Views into `bytes`, which must outlive it.
class GgufFile {
 public:
  static constexpr std::uint64_t kKeptArray = 4096;

  /// Checks magic, version, counts, string lengths, types, shapes, alignment, offsets, sizes and overlaps. Throws
  /// difr::Error naming the file, the key or tensor, and the remedy.
  GgufFile(std::span<const std::byte> bytes, std::string file);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::span<const GgufTensor> tensors() const { return tensors_; }
  [[nodiscard]] const GgufTensor* find(std::string_view name) const;

  [[nodiscard]] bool has(std::string_view key) const { return metadata_.contains(key); }
  /// Absent when the key is; throws when it holds something else or lies outside [low, high].
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key, std::int64_t low, std::int64_t high) const;
  [[nodiscard]] std::optional<double> number(std::string_view key) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
  /// The entries of a kept array; a scalar counts as an array of one.
  [[nodiscard]] std::optional<std::vector<double>> numbers(std::string_view key) const;

 private:
  std::string file_;
  std::map<std::string, GgufValue, std::less<>> metadata_;
  std::vector<GgufTensor> tensors_;  // ascending by name
};

}  // namespace difr::gpu
