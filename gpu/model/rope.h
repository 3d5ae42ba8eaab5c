#pragma once
// Rotary frequencies of every supported scaling; formulae as in Hugging Face's modeling_rope_utils.

#include <vector>

#include "gpu/model/config.h"

namespace difr::gpu {

struct RopeTable {
  std::vector<float> inverse_frequency;  ///< head_dim / 2
  float amplitude = 1;                   ///< multiplies cos and sin (yarn)
};

[[nodiscard]] RopeTable make_rope(const RopeSpec& spec, int head_dim);

/// cos and sin of position × frequency (head_dim / 2 each), times the amplitude. The angle is a float product, as every
/// engine computes it: at long positions its rounding is part of the model.
void rope_row(const RopeTable& table, int position, float* cos, float* sin);

}  // namespace difr::gpu
