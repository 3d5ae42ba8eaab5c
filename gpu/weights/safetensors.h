#pragma once
// safetensors: one file, or shards named by model.safetensors.index.json.

#include <filesystem>
#include <memory>
#include <vector>

#include "gpu/weights/mapped_file.h"
#include "gpu/weights/weight_source.h"

namespace difr::gpu {

/// Header length, dtypes, shapes, offsets and overlaps are checked before a byte of a tensor is used, by the rules of
/// the format: at most 100 MB of header, tensors contiguous and covering the file. Errors name file and tensor.
class SafetensorsSource final : public WeightSource {
 public:
  /// One file.
  static std::unique_ptr<SafetensorsSource> open_file(const std::filesystem::path& file);
  /// A model folder: model.safetensors, else the shards of model.safetensors.index.json.
  static std::unique_ptr<SafetensorsSource> open_folder(const std::filesystem::path& folder);

  [[nodiscard]] std::span<const TensorInfo> tensors() const override { return tensors_; }
  void read(const TensorInfo& tensor, std::int64_t first, std::span<float> out) const override;

 private:
  SafetensorsSource() = default;
  void add_file(const std::filesystem::path& file);
  void finish();

  std::vector<MappedFile> files_;
  std::vector<TensorInfo> tensors_;
};

}  // namespace difr::gpu
