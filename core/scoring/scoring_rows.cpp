#include "core/scoring/scoring_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace difr {
namespace {

constexpr std::size_t kLanes = 16;
constexpr float kInf = std::numeric_limits<float>::infinity();

// Explicit vectors: the compiler does not find these reductions by itself. Each width is lowered to what the target
// has.
typedef float Floats __attribute__((vector_size(64)));
typedef std::int32_t Ints __attribute__((vector_size(64)));
typedef float HalfFloats __attribute__((vector_size(32)));
typedef double Doubles __attribute__((vector_size(64)));
typedef std::int64_t Longs __attribute__((vector_size(64)));
constexpr std::size_t kDoubles = 8;

DIFR_INLINE RowExtent extent_body(const float* x, std::size_t n, float own) {
  Floats best = Floats{} - kInf;
  Ints good{}, above{};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Floats v;
    std::memcpy(&v, x + i, sizeof v);
    best = v > best ? v : best;
    good -= v < kInf;
    above -= v > own;
  }
  RowExtent out{-kInf, true, 0};
  std::int64_t sound = 0;
  for (std::size_t j = 0; j < kLanes; ++j) {
    out.largest = std::max(out.largest, best[j]);
    sound += good[j];
    out.above_own += above[j];
  }
  for (std::size_t k = i; k < n; ++k) {
    out.largest = x[k] > out.largest ? x[k] : out.largest;
    sound += x[k] < kInf ? 1 : 0;
    out.above_own += x[k] > own ? 1 : 0;
  }
  out.sound = sound == static_cast<std::int64_t>(n);
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

struct Block {
  const float* s;
  const float* x;
  const double* g;  ///< may be null
  double keep_min, claimed;
  std::size_t n;
  double* scores;
};

DIFR_INLINE BlockScan scan_body(const Block& b) {
  constexpr double kOut = -std::numeric_limits<double>::infinity();
  Doubles best = Doubles{} + kOut;
  Longs above{};
  std::size_t i = 0;
  for (; i + kDoubles <= b.n; i += kDoubles) {
    HalfFloats s, x;
    std::memcpy(&s, b.s + i, sizeof s);
    std::memcpy(&x, b.x + i, sizeof x);
    Doubles g{};
    if (b.g != nullptr) std::memcpy(&g, b.g + i, sizeof g);
    const Doubles wide = __builtin_convertvector(x, Doubles);
    Doubles v = __builtin_convertvector(s, Doubles) + g;
    v = (wide >= b.keep_min) & (wide > kOut) ? v : Doubles{} + kOut;
    std::memcpy(b.scores + i, &v, sizeof v);
    best = v > best ? v : best;
    above -= v > b.claimed;
  }
  BlockScan out{kOut, 0};
  for (std::size_t j = 0; j < kDoubles; ++j) {
    out.largest = std::max(out.largest, best[j]);
    out.above_claimed += static_cast<int>(above[j]);
  }
  for (; i < b.n; ++i) {
    const double x = b.x[i], v = static_cast<double>(b.s[i]) + (b.g != nullptr ? b.g[i] : 0.0);
    b.scores[i] = x >= b.keep_min && x > kOut ? v : kOut;
    out.largest = std::max(out.largest, b.scores[i]);
    out.above_claimed += b.scores[i] > b.claimed ? 1 : 0;
  }
  return out;
}
BlockScan scan_baseline(const Block& b) {
  return scan_body(b);
}
DIFR_AVX2 BlockScan scan_avx2(const Block& b) {
  return scan_body(b);
}
DIFR_AVX512 BlockScan scan_avx512(const Block& b) {
  return scan_body(b);
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
  const Block block{s, x, g, keep_min, claimed, n, scores};
  if (level == VectorLevel::avx512) return scan_avx512(block);
  return level == VectorLevel::avx2 ? scan_avx2(block) : scan_baseline(block);
}

}  // namespace difr
