#pragma once
// What GGUF metadata says of the decoder, in the same terms as config.json.

#include <string>
#include <string_view>

#include "gpu/model/config.h"
#include "gpu/weights/gguf_file.h"

namespace difr::gpu {

/// How one of llama.cpp's architectures is stored.
struct GgufArchitecture {
  std::string_view name;       ///< general.architecture
  std::string_view hf;         ///< the same family in config.json
  bool permuted_rope = false;  ///< q and k rows are reordered for rotation of neighbouring pairs
  bool norm_plus_one = false;  ///< norm weights are stored as 1 + w
  bool qkv_bias = false;       ///< always has them; else the tensors decide
};

/// Throws difr::Error naming the architecture and the supported ones.
[[nodiscard]] const GgufArchitecture& gguf_architecture(const GgufFile& file);

/// Builds the configuration from metadata and from which tensors there are (biases, tied head, experts). What llama.cpp
/// does not write takes the value that llama.cpp itself assumes. Throws difr::Error naming file, key and remedy.
[[nodiscard]] ModelConfig gguf_config(const GgufFile& file);

}  // namespace difr::gpu
