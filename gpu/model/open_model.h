#pragma once
// From a path to configuration and weights, whatever the container.

#include <filesystem>
#include <memory>

#include "gpu/model/config.h"
#include "gpu/weights/weight_source.h"

namespace difr::gpu {

struct OpenedModel {
  ModelConfig config;
  std::unique_ptr<WeightSource> weights;
};

/// A Hugging Face folder (config.json, safetensors), or the path of its config.json or model.safetensors; or a
/// GGUF file.
/// Headers only: no tensor is read.
[[nodiscard]] OpenedModel open_model(const std::filesystem::path& path);

}  // namespace difr::gpu
