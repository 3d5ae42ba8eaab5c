#pragma once
// Row-wise kernels for CPUs, fused so that a row is read once. No LibTorch. Arithmetic is fp32 whatever the storage.

#include <bit>
#include <cstdint>

namespace difr::gpu::rows {

/// bfloat16 storage, rounded to nearest even.
struct Bf16 {
  std::uint16_t bits;
};

struct NormOptions {
  float eps;
  bool plus_one;  ///< multiply by 1 + w before rounding (Gemma) instead of rounding and multiplying by w
};

/// out = norm(x)·w for `count` rows of d entries.
template <class T>
void norm(const T* x, const T* w, T* out, std::int64_t count, std::int64_t d, NormOptions options);

/// x += delta (rounded), out = norm(x)·w.
template <class T>
void add_norm(T* x, const T* delta, const T* w, T* out, std::int64_t count, std::int64_t d, NormOptions options);

/// Largest head dimension split_heads() can norm.
constexpr std::int64_t kMaxHeadDim = 1024;

/// Shape of a row of [q | k | v].
struct HeadLayout {
  std::int64_t heads, kv_heads, dim;
};

/// Splits rows of [q | k | v]: q and k are normed over each head (when weights are given), rotated by cos, sin (dim / 2
/// per row) and written, v is copied.
template <class T>
void split_heads(const T* qkv, const T* q_norm, const T* k_norm, NormOptions options, const float* cos,
                 const float* sin, HeadLayout layout, std::int64_t count, T* q, T* k, T* v);

/// out[m] = silu(gate)·up for rows of [gate | up]; the activation is rounded to storage first.
template <class T>
void silu_gate(const T* gate_up, T* out, std::int64_t count, std::int64_t m);

/// Softmax of scale·scores over keys [first, last) of each row, rounded to storage; entries outside become 0.
template <class T>
void softmax(const float* scores, T* out, std::int64_t keys, std::int64_t first, std::int64_t last, float scale);

/// fp32 copy of `count` entries.
void widen(const Bf16* x, float* out, std::int64_t count);

}  // namespace difr::gpu::rows
