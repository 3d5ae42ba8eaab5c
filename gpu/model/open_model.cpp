#include "gpu/model/open_model.h"

#include "core/util/error.h"
#include "gpu/weights/gguf.h"
#include "gpu/weights/safetensors.h"

namespace difr::gpu {

OpenedModel open_model(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw bad_input(path.string(), "does not exist", "give the folder of a Hugging Face checkpoint, or a .gguf file");
  if (path.extension() == ".gguf") {
    auto source = GgufSource::open(path);
    OpenedModel model;
    model.config = source->config();
    model.weights = std::move(source);
    return model;
  }
  const auto folder = std::filesystem::is_directory(path) ? path : path.parent_path();
  if (folder != path && path.filename() != "config.json" && path.extension() != ".safetensors")
    throw bad_input(path.string(), "is not a model",
                    "give the folder of a Hugging Face checkpoint (config.json and safetensors), or a .gguf file");
  OpenedModel model;
  model.config = load_config(folder / "config.json");
  model.weights = SafetensorsSource::open_folder(folder);
  return model;
}

}  // namespace difr::gpu
