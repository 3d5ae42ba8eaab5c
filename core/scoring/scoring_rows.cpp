#include "core/scoring/scoring_rows.h"

#include <algorithm>
#include <array>
#include <limits>

namespace difr {
namespace {

constexpr std::size_t kLanes = 16;
constexpr float kInf = std::numeric_limits<float>::infinity();

// Reductions keep kLanes partial results, so that the order of operations is the same at every vector level.

DIFR_INLINE RowExtent extent_body(const float* x, std::size_t n, float own) {
  std::array<float, kLanes> best;
  std::array<std::int32_t, kLanes> bad{}, above{};
  best.fill(-kInf);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      const float v = x[i + j];
      best[j] = v > best[j] ? v : best[j];
      bad[j] += v < kInf ? 0 : 1;
      above[j] += v > own ? 1 : 0;
    }
  }
  for (; i < n; ++i) {
    best[0] = x[i] > best[0] ? x[i] : best[0];
    bad[0] += x[i] < kInf ? 0 : 1;
    above[0] += x[i] > own ? 1 : 0;
  }
  RowExtent out{-kInf, true, 0};
  for (std::size_t j = 0; j < kLanes; ++j) {
    out.largest = std::max(out.largest, best[j]);
    out.sound = out.sound && bad[j] == 0;
    out.above_own += above[j];
  }
  return out;
}
RowExtent extent_baseline(const float* x, std::size_t n, float own) {
  return extent_body(x, n, own);
}
DIFR_AVX2 RowExtent extent_avx2(const float* x, std::size_t n, float own) {
  return extent_body(x, n, own);
}
DIFR_AVX512 RowExtent extent_avx512(const float* x, std::size_t n, float own) {
  return extent_body(x, n, own);
}

DIFR_INLINE double sum_body(const double* v, std::size_t n) {
  std::array<double, kLanes> sums{};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) sums[j] += v[i + j];
  }
  double total = 0.0;
  for (; i < n; ++i) total += v[i];
  for (const double s : sums) total += s;
  return total;
}
double sum_baseline(const double* v, std::size_t n) {
  return sum_body(v, n);
}
DIFR_AVX2 double sum_avx2(const double* v, std::size_t n) {
  return sum_body(v, n);
}
DIFR_AVX512 double sum_avx512(const double* v, std::size_t n) {
  return sum_body(v, n);
}

template <class F>
DIFR_INLINE BlockScan scan_body(F score_of, double claimed, std::size_t n, double* scores) {
  std::array<double, kLanes> best;
  std::array<std::int64_t, kLanes> above{};
  best.fill(-std::numeric_limits<double>::infinity());
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      const double v = score_of(i + j);
      scores[i + j] = v;
      best[j] = v > best[j] ? v : best[j];
      above[j] += v > claimed ? 1 : 0;
    }
  }
  for (; i < n; ++i) {
    scores[i] = score_of(i);
    best[0] = scores[i] > best[0] ? scores[i] : best[0];
    above[0] += scores[i] > claimed ? 1 : 0;
  }
  BlockScan out{-std::numeric_limits<double>::infinity(), 0};
  for (std::size_t j = 0; j < kLanes; ++j) {
    out.largest = std::max(out.largest, best[j]);
    out.above_claimed += static_cast<int>(above[j]);
  }
  return out;
}

struct Summed {
  const float* s;
  const float* x;
  const double* g;
  double keep_min;
  DIFR_INLINE double operator()(std::size_t i) const {
    const double v = static_cast<double>(s[i]) + g[i];
    const bool kept = static_cast<double>(x[i]) >= keep_min && x[i] > -kInf;
    return kept ? v : -std::numeric_limits<double>::infinity();
  }
};
struct Plain {
  const float* s;
  const float* x;
  double keep_min;
  DIFR_INLINE double operator()(std::size_t i) const {
    const bool kept = static_cast<double>(x[i]) >= keep_min && x[i] > -kInf;
    return kept ? static_cast<double>(s[i]) : -std::numeric_limits<double>::infinity();
  }
};

template <class F>
BlockScan scan_baseline(F f, double claimed, std::size_t n, double* scores) {
  return scan_body(f, claimed, n, scores);
}
template <class F>
DIFR_AVX2 BlockScan scan_avx2(F f, double claimed, std::size_t n, double* scores) {
  return scan_body(f, claimed, n, scores);
}
template <class F>
DIFR_AVX512 BlockScan scan_avx512(F f, double claimed, std::size_t n, double* scores) {
  return scan_body(f, claimed, n, scores);
}
template <class F>
BlockScan scan(VectorLevel level, F f, double claimed, std::size_t n, double* scores) {
  if (level == VectorLevel::avx512) return scan_avx512(f, claimed, n, scores);
  return level == VectorLevel::avx2 ? scan_avx2(f, claimed, n, scores) : scan_baseline(f, claimed, n, scores);
}

}  // namespace

RowExtent row_extent(VectorLevel level, std::span<const float> x, float own) {
  if (level == VectorLevel::avx512) return extent_avx512(x.data(), x.size(), own);
  return level == VectorLevel::avx2 ? extent_avx2(x.data(), x.size(), own) : extent_baseline(x.data(), x.size(), own);
}

void row_weights(VectorLevel level, std::span<const float> x, float top, double temperature,
                 std::span<double> weights) {
  const float* values = x.data();
  const double inverse = 1.0 / temperature, shift = top;
  vector_map(
      level,
      [=](std::size_t i)
          __attribute__((always_inline)) { return fast_exp((static_cast<double>(values[i]) - shift) * inverse); },
      weights.data(), x.size());
}

double row_sum(VectorLevel level, std::span<const double> v) {
  if (level == VectorLevel::avx512) return sum_avx512(v.data(), v.size());
  return level == VectorLevel::avx2 ? sum_avx2(v.data(), v.size()) : sum_baseline(v.data(), v.size());
}

void row_buckets(VectorLevel level, std::span<const float> x, float top, float scale, int last,
                 std::span<std::int32_t> buckets) {
  const float* values = x.data();
  const auto limit = static_cast<float>(last);
  vector_map(
      level,
      [=](std::size_t i) __attribute__((always_inline)) {
        const float b = (top - values[i]) * scale;
        return static_cast<std::int32_t>(b < limit ? b : limit);
      },
      buckets.data(), x.size());
}

void row_divide(VectorLevel level, std::span<const float> x, float divisor, std::span<float> out) {
  const float* values = x.data();
  vector_map(
      level, [=](std::size_t i) __attribute__((always_inline)) { return values[i] / divisor; }, out.data(), x.size());
}

BlockScan scan_block(VectorLevel level, const float* s, const float* x, const double* g, double keep_min,
                     double claimed, std::size_t n, double* scores) {
  if (g == nullptr) return scan(level, Plain{s, x, keep_min}, claimed, n, scores);
  return scan(level, Summed{s, x, g, keep_min}, claimed, n, scores);
}

}  // namespace difr
