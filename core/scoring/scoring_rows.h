#pragma once
// Passes over whole rows, vectorised; internal to scoring.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/sampling/vector_math.h"

namespace difr {

struct RowExtent {
  float largest = 0.0F;
  bool sound = false;  ///< no NaN and no +inf
  int above_own = 0;   ///< entries strictly larger than `own`
};
[[nodiscard]] RowExtent row_extent(VectorLevel level, std::span<const float> x, float own);

/// weights[i] = exp((x[i] - top) / temperature).
void row_weights(VectorLevel level, std::span<const float> x, float top, double temperature, std::span<double> weights);
[[nodiscard]] double row_sum(VectorLevel level, std::span<const double> values);

/// Buckets of falling logit: min(last, floor((top - x) * scale)); -inf goes to the last.
void row_buckets(VectorLevel level, std::span<const float> x, float top, float scale, int last,
                 std::span<std::int32_t> buckets);

void row_divide(VectorLevel level, std::span<const float> x, float divisor, std::span<float> out);

/// scores[i] = s[i] + g[i] where x[i] >= keep_min and x[i] is finite, else -inf. At most kScanBlock entries. `g` may be
/// null.
inline constexpr std::size_t kScanBlock = 256;
struct BlockScan {
  double largest = 0.0;
  int above_claimed = 0;
};
[[nodiscard]] BlockScan scan_block(VectorLevel level, const float* s, const float* x, const double* g, double keep_min,
                                   double claimed, std::size_t n, double* scores);

}  // namespace difr
