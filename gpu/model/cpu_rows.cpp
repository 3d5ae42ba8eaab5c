#include "gpu/model/cpu_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

// One copy per instruction set, chosen when the program starts (by feature level: arch=NAME would ask for that very
// CPU).
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define DIFR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DIFR_CLONES
#endif
#define DIFR_INLINE inline __attribute__((always_inline))

namespace difr::gpu::rows {

namespace {

constexpr std::int64_t kLanes = 16;

DIFR_INLINE float load(float x) {
  return x;
}
DIFR_INLINE float load(Bf16 x) {
  return std::bit_cast<float>(std::uint32_t{x.bits} << 16);
}
DIFR_INLINE void store(float& to, float x) {
  to = x;
}
DIFR_INLINE void store(Bf16& to, float x) {
  const auto u = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  // A NaN must not be carried into an infinity by the rounding.
  to.bits = static_cast<std::uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
}
template <class T>
DIFR_INLINE float stored(float x) {
  T t;
  store(t, x);
  return load(t);
}

/// Sums in 16 lanes: the order is fixed, and a compiler may vectorise it without reassociating.
template <class T>
DIFR_INLINE float sum_of_squares(const T* x, std::int64_t d) {
  std::array<float, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= d; i += kLanes)
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[static_cast<std::size_t>(j)] += load(x[i + j]) * load(x[i + j]);
  float sum = 0;
  for (; i < d; ++i) sum += load(x[i]) * load(x[i]);
  for (const float lane : lanes) sum += lane;
  return sum;
}

template <class T>
DIFR_INLINE void norm_row(const T* x, const T* w, T* out, std::int64_t d, NormOptions options) {
  const float scale = 1.0F / std::sqrt(sum_of_squares(x, d) / static_cast<float>(d) + options.eps);
  if (options.plus_one)
    for (std::int64_t i = 0; i < d; ++i) store(out[i], load(x[i]) * scale * (1.0F + load(w[i])));
  else
    for (std::int64_t i = 0; i < d; ++i) store(out[i], stored<T>(load(x[i]) * scale) * load(w[i]));
}

/// Adding and subtracting it rounds small numbers to whole ones, in every instruction set.
constexpr float kRound = 12582912.0F;

/// exp to within 2 ulp for x <= 88; 0 below -87; NaN stays NaN.
DIFR_INLINE float fast_exp(float x) {
  const float clamped = x > -87.0F ? x : -87.0F;
  const float n = clamped * 1.44269504F + kRound - kRound;
  const float r = (clamped - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const float power = std::bit_cast<float>(static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23);
  const float value = x < -87.0F ? 0.0F : p * power;
  return x == x ? value : x;
}

template <class T>
DIFR_INLINE void rotate_row(const T* x, const float* cos, const float* sin, std::int64_t half, T* out) {
  for (std::int64_t i = 0; i < half; ++i) {
    const float a = load(x[i]);
    const float b = load(x[half + i]);
    store(out[i], a * cos[i] - b * sin[i]);
    store(out[half + i], b * cos[i] + a * sin[i]);
  }
}

template <class T>
DIFR_INLINE void add_norm_rows(T* x, const T* delta, const T* w, T* out, std::int64_t count, std::int64_t d,
                               NormOptions options) {
  for (std::int64_t r = 0; r < count; ++r) {
    T* const row = x + r * d;
    const T* const more = delta + r * d;
    for (std::int64_t i = 0; i < d; ++i) store(row[i], load(row[i]) + load(more[i]));
    norm_row(row, w, out + r * d, d, options);
  }
}

template <class T>
DIFR_INLINE void split_rows(const T* qkv, const T* q_norm, const T* k_norm, NormOptions options, const float* cos,
                            const float* sin, HeadLayout layout, std::int64_t count, T* q, T* k, T* v) {
  const std::int64_t dim = layout.dim;
  const std::int64_t width = (layout.heads + 2 * layout.kv_heads) * dim;
  std::array<T, kMaxHeadDim> normed;
  for (std::int64_t r = 0; r < count; ++r) {
    const T* const row = qkv + r * width;
    const float* const c = cos + r * (dim / 2);
    const float* const s = sin + r * (dim / 2);
    for (std::int64_t h = 0; h < layout.heads + layout.kv_heads; ++h) {
      const bool query = h < layout.heads;
      const T* from = row + h * dim;
      const T* const w = query ? q_norm : k_norm;
      if (w != nullptr) {
        norm_row(from, w, normed.data(), dim, options);
        from = normed.data();
      }
      rotate_row(from, c, s, dim / 2,
                 query ? q + (r * layout.heads + h) * dim : k + (r * layout.kv_heads + h - layout.heads) * dim);
    }
    std::memcpy(v + r * layout.kv_heads * dim, row + (layout.heads + layout.kv_heads) * dim,
                static_cast<std::size_t>(layout.kv_heads * dim) * sizeof(T));
  }
}

template <class T>
DIFR_INLINE void gate_rows(const T* gate_up, T* out, std::int64_t count, std::int64_t m) {
  for (std::int64_t r = 0; r < count; ++r) {
    const T* const gate = gate_up + 2 * r * m;
    for (std::int64_t i = 0; i < m; ++i) {
      const float g = load(gate[i]);
      // Beyond -87 the sigmoid is below fp32's normal range.
      store(out[r * m + i], stored<T>(g / (1.0F + fast_exp(std::min(-g, 87.0F)))) * load(gate[m + i]));
    }
  }
}

template <class T>
DIFR_INLINE void softmax_row(const float* scores, T* out, std::int64_t keys, std::int64_t first, std::int64_t last,
                             float scale) {
  std::array<float, kLanes> lanes;
  lanes.fill(scores[first]);
  std::int64_t i = first;
  for (; i + kLanes <= last; i += kLanes)
    for (std::int64_t j = 0; j < kLanes; ++j) {
      auto& lane = lanes[static_cast<std::size_t>(j)];
      lane = scores[i + j] > lane ? scores[i + j] : lane;
    }
  for (; i < last; ++i) lanes[0] = scores[i] > lanes[0] ? scores[i] : lanes[0];
  float largest = lanes[0];
  for (const float lane : lanes) largest = lane > largest ? lane : largest;
  lanes.fill(0);
  float sum = 0;
  for (i = first; i + kLanes <= last; i += kLanes)
    for (std::int64_t j = 0; j < kLanes; ++j)
      lanes[static_cast<std::size_t>(j)] += fast_exp((scores[i + j] - largest) * scale);
  for (; i < last; ++i) sum += fast_exp((scores[i] - largest) * scale);
  for (const float lane : lanes) sum += lane;
  const float share = 1.0F / sum;
  for (i = 0; i < first; ++i) store(out[i], 0);
  for (i = first; i < last; ++i) store(out[i], fast_exp((scores[i] - largest) * scale) * share);
  for (i = last; i < keys; ++i) store(out[i], 0);
}

}  // namespace

// target_clones does not apply to templates: each instance is a plain function below a forwarding specialisation.
#define DIFR_ROW_KERNELS(T, suffix)                                                                                \
  DIFR_CLONES void norm_##suffix(const T* x, const T* w, T* out, std::int64_t count, std::int64_t d,               \
                                 NormOptions options) {                                                            \
    for (std::int64_t r = 0; r < count; ++r) norm_row(x + r * d, w, out + r * d, d, options);                      \
  }                                                                                                                \
  DIFR_CLONES void add_norm_##suffix(T* x, const T* delta, const T* w, T* out, std::int64_t count, std::int64_t d, \
                                     NormOptions options) {                                                        \
    add_norm_rows(x, delta, w, out, count, d, options);                                                            \
  }                                                                                                                \
  DIFR_CLONES void split_heads_##suffix(const T* qkv, const T* q_norm, const T* k_norm, NormOptions options,       \
                                        const float* cos, const float* sin, HeadLayout layout, std::int64_t count, \
                                        T* q, T* k, T* v) {                                                        \
    split_rows(qkv, q_norm, k_norm, options, cos, sin, layout, count, q, k, v);                                    \
  }                                                                                                                \
  DIFR_CLONES void silu_gate_##suffix(const T* gate_up, T* out, std::int64_t count, std::int64_t m) {              \
    gate_rows(gate_up, out, count, m);                                                                             \
  }                                                                                                                \
  DIFR_CLONES void softmax_##suffix(const float* scores, T* out, std::int64_t keys, std::int64_t first,            \
                                    std::int64_t last, float scale) {                                              \
    softmax_row(scores, out, keys, first, last, scale);                                                            \
  }                                                                                                                \
  template <>                                                                                                      \
  void norm<T>(const T* x, const T* w, T* out, std::int64_t count, std::int64_t d, NormOptions options) {          \
    norm_##suffix(x, w, out, count, d, options);                                                                   \
  }                                                                                                                \
  template <>                                                                                                      \
  void add_norm<T>(T * x, const T* delta, const T* w, T* out, std::int64_t count, std::int64_t d,                  \
                   NormOptions options) {                                                                          \
    add_norm_##suffix(x, delta, w, out, count, d, options);                                                        \
  }                                                                                                                \
  template <>                                                                                                      \
  void split_heads<T>(const T* qkv, const T* q_norm, const T* k_norm, NormOptions options, const float* cos,       \
                      const float* sin, HeadLayout layout, std::int64_t count, T* q, T* k, T* v) {                 \
    split_heads_##suffix(qkv, q_norm, k_norm, options, cos, sin, layout, count, q, k, v);                          \
  }                                                                                                                \
  template <>                                                                                                      \
  void silu_gate<T>(const T* gate_up, T* out, std::int64_t count, std::int64_t m) {                                \
    silu_gate_##suffix(gate_up, out, count, m);                                                                    \
  }                                                                                                                \
  template <>                                                                                                      \
  void softmax<T>(const float* scores, T* out, std::int64_t keys, std::int64_t first, std::int64_t last,           \
                  float scale) {                                                                                   \
    softmax_##suffix(scores, out, keys, first, last, scale);                                                       \
  }

DIFR_ROW_KERNELS(float, f32)
DIFR_ROW_KERNELS(Bf16, bf16)

DIFR_CLONES void widen(const Bf16* x, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = load(x[i]);
}

}  // namespace difr::gpu::rows
