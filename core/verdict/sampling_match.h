#pragma once
// Does a claim's declared sampling differ from the calibration's, and in what?

#include <string>

#include "core/domain/claim.h"

namespace difr {

/// Empty when both mean the same sampling (neutral values are equal whatever their spelling); else the differences in
/// words, e.g. "temperature 0.7 against 1, top-k 50 against off".
[[nodiscard]] std::string sampling_difference(const SamplingParams& claim, const SamplingParams& calibration);

}  // namespace difr
