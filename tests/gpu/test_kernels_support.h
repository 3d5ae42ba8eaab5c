#pragma once
// Random rows with the awkward cases in them, and comparisons of scores.

#include <QtTest>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/scoring/token_difr.h"
#include "gpu/kernels/fused_series.h"

namespace difr::test {

inline constexpr float kInf = std::numeric_limits<float>::infinity();

/// count x vocab logits; bf16 rows hold the values that fp32 shows, in their own storage.
struct Rows {
  int vocab = 0;
  int count = 0;
  std::vector<float> fp32;
  std::vector<gpu::kernels::Bf16> bf16;

  [[nodiscard]] std::span<const float> row(int t) const {
    return std::span(fp32).subspan(static_cast<std::size_t>(t) * static_cast<std::size_t>(vocab),
                                   static_cast<std::size_t>(vocab));
  }
  [[nodiscard]] gpu::kernels::LogitsChunk chunk(int first, int rows) const {
    const auto at = static_cast<std::size_t>(first) * static_cast<std::size_t>(vocab);
    using gpu::kernels::LogitsDtype;
    return {.data = bf16.empty() ? static_cast<const void*>(fp32.data() + at) : bf16.data() + at,
            .rows = rows,
            .vocab = vocab,
            .stride = vocab,
            .dtype = bf16.empty() ? LogitsDtype::fp32 : LogitsDtype::bf16};
  }
};

/// Row t is, in turn: smooth; peaked; in steps of 1/4, so that ties abound; mostly -inf; all equal; wide; with signed
/// zeros.
inline Rows make_rows(int vocab, int count, bool bf16, std::uint32_t seed) {
  Rows out{.vocab = vocab, .count = count, .fp32 = {}, .bf16 = {}};
  std::mt19937 words(seed);
  std::normal_distribution<float> normal(0.0F, 1.0F);
  for (int t = 0; t < count; ++t) {
    for (int i = 0; i < vocab; ++i) {
      const float n = normal(words);
      const float values[] = {2.5F * n,
                              i % 997 == 0 ? 12.0F + n : n,
                              std::round(8.0F * n) / 4.0F,
                              words() % 8 != 0 && i != vocab / 2 ? -kInf : 3.0F * n,
                              -1.25F,
                              30.0F * n,
                              i % 3 == 0 ? -0.0F : std::max(n, 0.0F)};
      out.fp32.push_back(values[t % 7]);
    }
  }
  if (!bf16) return out;
  for (float& x : out.fp32) {
    const auto bits = std::bit_cast<std::uint32_t>(x) & 0xffff0000U;
    x = std::bit_cast<float>(bits);
    out.bf16.push_back({static_cast<std::uint16_t>(bits >> 16)});
  }
  return out;
}

/// Claims the largest entry, a common one and any one in turn, so that both sides of filters are met.
inline Claim make_claim(const Rows& rows, std::uint32_t seed) {
  Claim claim;
  claim.prompt.assign(5 + seed % 11, 1);
  claim.seed = 42 + static_cast<std::int64_t>(seed);
  std::mt19937 words(seed);
  for (int t = 0; t < rows.count; ++t) {
    const auto row = rows.row(t);
    auto y = static_cast<TokenId>(words() % static_cast<unsigned>(rows.vocab));
    if (t % 3 == 0) y = static_cast<TokenId>(std::ranges::max_element(row) - row.begin());
    for (int n = 0; t % 3 == 1 && n < 40; ++n) {
      const auto other = static_cast<TokenId>(words() % static_cast<unsigned>(rows.vocab));
      if (row[static_cast<std::size_t>(other)] > row[static_cast<std::size_t>(y)]) y = other;
    }
    claim.output.push_back(y);
  }
  return claim;
}

/// Equal, both NaN, or within `limit` relative to their size (at least 1).
inline bool alike(float a, float b, double limit) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  const double error = std::abs(static_cast<double>(a) - b), most = limit * std::max(1.0, std::abs(double{b}));
  if (!(error <= most)) return false;
  return std::isfinite(error);
}

template <class T>
void expect_equal(const std::vector<T>& own, const std::vector<T>& expected, const char* what) {
  QCOMPARE(own.size(), expected.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    QVERIFY2(own[i] == expected[i],
             qPrintable(QString("%1[%2]: %3, not %4").arg(what).arg(i).arg(own[i]).arg(expected[i])));
}
inline void expect_close(const std::vector<float>& own, const std::vector<float>& expected, double limit,
                         const char* what) {
  QCOMPARE(own.size(), expected.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    QVERIFY2(
        alike(own[i], expected[i], limit),
        qPrintable(QString("%1[%2]: %3, not %4").arg(what).arg(i).arg(own[i], 0, 'g', 9).arg(expected[i], 0, 'g', 9)));
}

/// Ids, ranks, flags and stored logits must be the same. Numbers that pass through exp and log in fp64 are compared
/// after their rounding to fp32: two half-ulp roundings, 2^-23 relative. Gaps are differences of scores up to about
/// 200 in size whose noise may be off by one fp32 rounding of a value below 32 (2^-19) where core fills rows with its
/// vector logarithm: 4e-6.
inline void expect_scores(const TokenScores& own, const TokenScores& expected) {
  constexpr double kGap = 4e-6, kRounded = 0x1p-22;
  expect_close(own.margin, expected.margin, kGap, "margin");
  expect_close(own.margin_hi, expected.margin_hi, kGap, "margin_hi");
  expect_close(own.gap, expected.gap, kGap, "gap");
  expect_close(own.runner_up, expected.runner_up, kGap, "runner_up");
  expect_close(own.log_prob, expected.log_prob, kRounded, "log_prob");
  expect_close(own.filter_distance, expected.filter_distance, kRounded, "filter_distance");
  expect_equal(own.logit_rank, expected.logit_rank, "logit_rank");
  expect_equal(own.gumbel_rank, expected.gumbel_rank, "gumbel_rank");
  expect_equal(own.reference_token, expected.reference_token, "reference_token");
  expect_equal(own.flags, expected.flags, "flags");
}
inline void expect_evidence(const Evidence& own, const Evidence& expected) {
  QCOMPARE(own.vocab, expected.vocab);
  QCOMPARE(own.top_m, expected.top_m);
  expect_close(own.claimed_logit, expected.claimed_logit, 0.0, "claimed_logit");
  expect_close(own.log_sum_exp, expected.log_sum_exp, 0x1p-22, "log_sum_exp");
  expect_equal(own.claimed_rank, expected.claimed_rank, "claimed_rank");
  expect_equal(own.top_ids, expected.top_ids, "top_ids");
  expect_close(own.top_logits, expected.top_logits, 0.0, "top_logits");
  for (std::size_t i = 0; i < own.top_logits.size(); ++i)
    QCOMPARE(std::signbit(own.top_logits[i]), std::signbit(expected.top_logits[i]));
}

inline void expect_like_core(const gpu::kernels::FusedSeries& own, const Rows& rows, const Claim& claim,
                             const char* profile, int top_m, const ScoreOptions& options) {
  RowScorer scorer(claim, *find_profile(profile), rows.vocab, options);
  Evidence evidence;
  for (int t = 0; t < rows.count; ++t) {
    append_evidence(evidence, rows.row(t), claim.output[static_cast<std::size_t>(t)], top_m);
    scorer.add(rows.row(t));
  }
  expect_evidence(own.evidence(), evidence);
  if (QTest::currentTestFailed()) return;
  expect_scores(own.scores(), scorer.scores());
}

inline void expect_alike(const gpu::kernels::FusedSeries& own, const gpu::kernels::FusedSeries& expected) {
  expect_evidence(own.evidence(), expected.evidence());
  if (QTest::currentTestFailed()) return;
  expect_scores(own.scores(), expected.scores());
}

}  // namespace difr::test
