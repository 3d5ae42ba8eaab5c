#pragma once
// Whole rows of noise, vectorised; internal to core/sampling. Each agrees with its per-entry function to a few ulp of
// fp64, or where the engine works in fp32, up to one fp32 rounding.

#include <cstdint>
#include <span>

#include "core/sampling/noise_sources.h"
#include "core/sampling/vector_math.h"

namespace difr {

void splitmix_row(VectorLevel level, std::uint64_t key, std::span<double> g);
void philox_row(VectorLevel level, std::uint32_t step_seed, PhiloxForm form, std::span<double> g);
void murmur_row32(VectorLevel level, std::uint32_t prefix, std::span<double> g);
void murmur_row64(VectorLevel level, std::uint32_t low_prefix, std::uint32_t high_prefix, std::span<double> g);
void sglang_row(VectorLevel level, std::uint32_t prefix, std::span<double> g);
/// `words` holds two mt19937 words per entry, as drawn.
void torch_exponential_row(VectorLevel level, std::span<const std::uint32_t> words, std::span<double> g);
/// Largest 53-bit hash of a SplitMix64 row of n entries: noise is monotone in it, so it bounds the row without
/// logarithms.
[[nodiscard]] std::uint64_t splitmix_row_max(VectorLevel level, std::uint64_t key, std::size_t n);

}  // namespace difr
