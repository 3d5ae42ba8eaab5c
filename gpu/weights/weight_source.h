#pragma once
// Where weights come from. Readers hand out raw bytes (for the digest) and values as fp32 (for the decoder).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace difr::gpu {

/// One stored tensor under its Hugging Face name; shape is row-major, outermost first.
struct TensorInfo {
  std::string name;
  std::string type;  ///< as the file spells it, e.g. "BF16", "Q4_K"
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< in the mapped file; lives as long as the source
  std::string file;                  ///< for error texts

  [[nodiscard]] std::int64_t elements() const;
};

/// Immutable once opened; every size and offset has been validated by then.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  /// All tensors, ascending by name.
  [[nodiscard]] virtual std::span<const TensorInfo> tensors() const = 0;
  /// Values of elements [first, first + out.size()) in fp32, dequantised where need be. Block-quantised sources want
  /// whole rows. Throws difr::Error for a type that holds no real numbers.
  virtual void read(const TensorInfo& tensor, std::int64_t first, std::span<float> out) const = 0;

  [[nodiscard]] const TensorInfo* find(std::string_view name) const;
};

/// SHA-256 (hex) over the canonical tensor stream: tensors ascending by name; of each its name, type, shape and bytes,
/// length-prefixed. Independent of sharding and of metadata.
[[nodiscard]] std::string weights_digest(const WeightSource& source);

}  // namespace difr::gpu
