#pragma once
// Plain records that travel between host and device. Internal to gpu/kernels.

#include <cstdint>
#include <limits>

#include "gpu/kernels/element.h"

namespace difr::gpu::kernels {

inline constexpr int kThreads = 256;  ///< of a block; one block works on one row
inline constexpr int kItems = 4;      ///< entries a thread takes from a tile
inline constexpr int kTile = kThreads * kItems;
inline constexpr int kEntryBuffer = 2 * kTile;  ///< contenders for the top M held at a time
inline constexpr int kMaxTopM = kEntryBuffer - kTile;
inline constexpr int kWindow = 8192;  ///< values kept around a filter's cut
inline constexpr double kNever = -std::numeric_limits<double>::infinity();

/// One row of the row pass.
struct RowTask {
  int row = 0;  ///< in the chunk
  std::int32_t claimed = 0;
  bool summarise = true;  ///< log-sum-exp, rank, top M
  bool race = true;
  NoiseState noise;
  float divisor = 1.0F;           ///< temperature
  double filter_inverse_t = 0.0;  ///< 1/T of the filters' probabilities; 0: no masses wanted
  double keep_min = kNever;       ///< race: entries at or above take part,
  double sure_min = kNever;       ///< and may be rivals
};

/// What one thread, and after merging the whole block, knows of a row. Masses are sums of exp((x - largest) / T).
struct RowReport {
  std::int32_t unsound = 0;  ///< NaN or +inf entries
  std::int32_t finite = 0;
  std::int32_t above_claimed_logit = 0;
  float largest = -std::numeric_limits<float>::infinity();
  float claimed_logit = 0.0F;
  double sum = 0.0;  ///< of exp(x - largest)
  double mass = 0.0, square = 0.0, mass_above_claimed = 0.0;
  double winner_score = kNever, rival = kNever, second_rival = kNever, claimed_score = kNever;
  std::int32_t winner = -1;
  float winner_logit = 0.0F;
  std::int32_t above_claimed_score = 0;
};

/// One row of the search for a filter's cut.
struct CutTask {
  int row = 0;
  std::int32_t count = 0;  ///< > 0: the value of this rank (from 1) is looked for,
  double share = 0.0;      ///< else the value at which this share of the mass is reached
  double inverse_t = 1.0;
  float largest = 0.0F;
  double reach = 0.0;  ///< logits kept on either side of it
};

struct CutReport {
  std::int32_t window = 0;  ///< values in the window; more than kWindow: it did not fit, and holds nothing of use
  std::int32_t above = 0, rest = 0;  ///< finite entries over and under the window
  double above_mass = 0.0, above_square = 0.0, rest_mass = 0.0, rest_square = 0.0;
};

}  // namespace difr::gpu::kernels
