#pragma once
// A GGUF model as a source of weights under their Hugging Face names.

#include <filesystem>
#include <memory>
#include <vector>

#include "gpu/weights/gguf_config.h"
#include "gpu/weights/gguf_file.h"
#include "gpu/weights/mapped_file.h"
#include "gpu/weights/weight_source.h"

namespace difr::gpu {

/// Names and shapes are those of the Hugging Face checkpoint; llama.cpp's reordering of q and k, its stacking of
/// experts and Gemma's 1 + w are undone on reading. TensorInfo::bytes are the bytes as stored, so that the digest
/// stands for this file's quantised weights, and differs from the digest of the checkpoint that it was made from.
class GgufSource final : public WeightSource {
 public:
  /// Everything is validated; no tensor is read. Throws difr::Error naming the file, the place and the remedy.
  static std::unique_ptr<GgufSource> open(const std::filesystem::path& path);

  [[nodiscard]] const ModelConfig& config() const { return config_; }
  [[nodiscard]] std::span<const TensorInfo> tensors() const override { return infos_; }
  void read(const TensorInfo& tensor, std::int64_t first, std::span<float> out) const override;

 private:
  /// How infos_[i] is read.
  struct Recipe {
    const BlockFormat* format = nullptr;
    int head_rows = 0;  ///< rows of a head whose pairs are interleaved; 0: rows lie in order
    float shift = 0;    ///< added to every value
  };
  explicit GgufSource(const std::filesystem::path& path);
  void add(const GgufTensor& tensor);
  void add_part(std::string name, const GgufTensor& tensor, std::vector<std::int64_t> shape,
                std::span<const std::byte> bytes, const Recipe& recipe);

  MappedFile map_;
  GgufFile file_;
  ModelConfig config_;
  const GgufArchitecture& architecture_;
  std::vector<TensorInfo> infos_;  // ascending by name
  std::vector<Recipe> recipes_;    // parallel to infos_
};

}  // namespace difr::gpu
