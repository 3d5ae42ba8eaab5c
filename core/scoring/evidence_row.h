#pragma once
// One row of logits, summarised. Internal to scoring.

#include <cstddef>
#include <span>

#include "core/domain/claim.h"

namespace difr {

struct RowSummary {
  bool finite = false;  ///< no NaN, no +inf, at least one finite entry
  double log_sum_exp = 0.0;
  int claimed_rank = 0;  ///< entries strictly larger than the claimed one
};

/// Throws difr::Error (bad_input) when `claimed` is not an entry of the row.
[[nodiscard]] RowSummary summarise_row(std::span<const float> logits, TokenId claimed);

}  // namespace difr
