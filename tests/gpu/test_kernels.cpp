// The fused scoring kernels against core scoring: their CPU twin on every machine, and the device against the twin
// where there is one. Core is held against engines and published code by its own tests.

#include <QtTest>
#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "core/sampling/profile.h"
#include "core/util/error.h"
#include "gpu/kernels/cut_search.h"
#include "gpu/kernels/fused_series.h"
#include "gpu/test_kernels_support.h"

using namespace difr;
using namespace difr::gpu::kernels;
using namespace difr::test;

namespace {

constexpr std::array kProfiles{"vllm-cpu-splitmix64",   "vllm-mrv2-philox-0.16", "vllm-mrv2-philox-fp64",
                               "vllm-mrv2-philox-0.22", "vllm-mrv2-philox",      "vllm-mrv2-murmur",
                               "vllm-mrv2-murmur-fp64", "sglang-murmur"};
constexpr std::array kWidths{1, 7, 255, 2048, 32000, 128256};

/// Scores a claim's rows by `scorer`, in chunks of three so that two are in flight.
FusedSeries fused(FusedScorer& scorer, const Rows& rows, const Claim& claim, const char* profile) {
  auto series = FusedSeries::make(claim, *find_profile(profile));
  if (!series) throw bad_input(profile, "has no fused scorer");
  constexpr int kChunk = 3;
  const auto take = [&] {
    const auto chunk = scorer.collect();
    for (std::size_t i = 0; i < chunk.rows.size(); ++i)
      series->append(chunk.rows[i], chunk.ids(i), chunk.logits(i), rows.vocab);
  };
  for (int first = 0; first < rows.count; first += kChunk) {
    const int count = std::min(kChunk, rows.count - first);
    std::vector<RowJob> jobs;
    for (int i = 0; i < count; ++i) jobs.push_back(series->next_job());
    if (scorer.pending() == FusedScorer::kSlots) take();
    scorer.submit(rows.chunk(first, count), jobs);
  }
  while (scorer.pending() > 0) take();
  return std::move(*series);
}

}  // namespace

class TestKernels : public QObject {
  Q_OBJECT

 private slots:
  void keysKeepTheOrderOfLogits() {
    std::mt19937 words(11);
    std::vector<float> x{0.0F, -0.0F, kInf, -kInf, 1e-45F, -1e-45F, 3.4e38F, -3.4e38F};
    while (x.size() < 400) {
      const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(words()));
      if (value == value) x.push_back(value);
    }
    for (const float a : x) {
      QVERIFY(ordered_value(ordered_key(a)) == a);
      QVERIFY(entry_key(a, 0xfffffffeU) != 0);
      for (const float b : x) {
        QCOMPARE(ordered_key(a) < ordered_key(b), a < b);
        QCOMPARE(entry_key(a, 3) > entry_key(b, 5), a >= b);
      }
    }
    QCOMPARE(entry_id(entry_key(1.5F, 128255)), 128255U);
  }

  /// Noise in registers against the noise of core: the same formulae with the same libm, so they are equal. A compiler
  /// that contracts fp32 arithmetic might move the fp32 forms by one rounding, 2^-19 at most for |g| < 32.
  void noiseIsCores() {
    for (const char* profile : kProfiles) {
      for (const std::int64_t seed : {std::int64_t{0}, std::int64_t{7847}, std::int64_t{0x123456789abcdef}}) {
        Claim claim;
        claim.prompt.assign(37, 1);
        claim.output.assign(5, 0);
        claim.seed = seed;
        claim.choice = 2;
        auto series = FusedSeries::make(claim, *find_profile(profile));
        QVERIFY(series.has_value());
        std::vector<TokenId> ids;
        for (int i = 0; i < 4000; ++i) ids.push_back(i * 37 % 151936);
        auto noise = make_noise(*find_profile(profile), {.seed = seed, .prompt_len = 37, .vocab = 151936, .choice = 2});
        std::vector<double> expected(ids.size());
        for (int t = 0; t < 5; ++t) {
          const auto job = series->next_job();
          noise->at(t, ids, expected);
          for (std::size_t i = 0; i < ids.size(); ++i) {
            const double own = noise_of(job.noise, static_cast<std::uint32_t>(ids[i]));
            QVERIFY2(own == expected[i] || std::abs(own - expected[i]) <= 0x1p-19, profile);
          }
        }
      }
    }
  }

  void reproducesTheKnownInfiniteNoise() {
    const NoiseState state{NoiseKind::sglang_murmur, murmur3_prefix(7847, 12345, 0)};
    QVERIFY(noise_of(state, 1208) == kInf);
    QVERIFY(noise_of(state, 1209) < kInf);
  }

  void agreesWithCore_data() {
    QTest::addColumn<int>("vocab");
    QTest::addColumn<bool>("bf16");
    for (const int vocab : kWidths) {
      QTest::addRow("V=%d fp32", vocab) << vocab << false;
      QTest::addRow("V=%d bf16", vocab) << vocab << true;
    }
  }
  void agreesWithCore() {
    QFETCH(int, vocab);
    QFETCH(bool, bf16);
    std::uint32_t seed = 100;
    for (const char* profile : kProfiles) {
      for (const double temperature : {1.0, 0.7}) {
        const auto rows = make_rows(vocab, vocab > 50000 ? 2 : 7, bf16, ++seed);
        auto claim = make_claim(rows, seed);
        claim.sampling.temperature = temperature;
        auto scorer = make_twin_scorer({.top_m = 64, .tolerance = {}});
        expect_like_core(fused(scorer, rows, claim, profile), rows, claim, profile, 64, {});
      }
    }
    for (const bool seeded : {true, false}) {
      const auto rows = make_rows(vocab, 4, bf16, ++seed);
      auto claim = make_claim(rows, seed);
      if (seeded) claim.sampling.temperature = 0.0;
      if (!seeded) claim.seed.reset();
      auto scorer = make_twin_scorer({.top_m = 128, .tolerance = {}});
      expect_like_core(fused(scorer, rows, claim, kProfiles[0]), rows, claim, kProfiles[0], 128, {});
    }
  }

  /// Heads that hold the cut, windows found by radix select, and rows that only a sort settles.
  void filtersLikeCore_data() {
    QTest::addColumn<int>("vocab");
    QTest::addColumn<int>("top_k");
    QTest::addColumn<double>("top_p");
    QTest::addColumn<double>("min_p");
    QTest::addColumn<double>("sigma");
    for (const int vocab : {1, 7, 255, 2048, 32000, 128256}) {
      for (const double sigma : {0.0, 0.02}) {
        QTest::addRow("V=%d k=5 s=%g", vocab, sigma) << vocab << 5 << 1.0 << 0.0 << sigma;
        QTest::addRow("V=%d k=900 s=%g", vocab, sigma) << vocab << 900 << 1.0 << 0.0 << sigma;
        QTest::addRow("V=%d p=0.9 s=%g", vocab, sigma) << vocab << 0 << 0.9 << 0.0 << sigma;
        QTest::addRow("V=%d p=0.2 s=%g", vocab, sigma) << vocab << 0 << 0.2 << 0.0 << sigma;
        QTest::addRow("V=%d k=50 p=0.9 s=%g", vocab, sigma) << vocab << 50 << 0.9 << 0.0 << sigma;
        QTest::addRow("V=%d k=900 p=0.95 min-p s=%g", vocab, sigma) << vocab << 900 << 0.95 << 1e-6 << sigma;
      }
    }
  }
  void filtersLikeCore() {
    QFETCH(int, vocab);
    QFETCH(int, top_k);
    QFETCH(double, top_p);
    QFETCH(double, min_p);
    QFETCH(double, sigma);
    for (const bool bf16 : {false, true}) {
      const auto rows = make_rows(vocab, 7, bf16, static_cast<std::uint32_t>(vocab + top_k) + (bf16 ? 1U : 0U));
      auto claim = make_claim(rows, 5);
      claim.sampling.temperature = 0.8;
      claim.sampling.top_k = top_k;
      claim.sampling.top_p = top_p;
      claim.sampling.min_p = min_p;
      const ScoreOptions options{.noise_sigma = sigma, .bf16_logits = bf16};
      auto scorer = make_twin_scorer({.top_m = 64, .tolerance = {sigma, options.edge_z, bf16}});
      expect_like_core(fused(scorer, rows, claim, kProfiles[1]), rows, claim, kProfiles[1], 64, options);
    }
  }

  void ascendingRowsRenewTheHeadAtEveryTile() {
    Rows rows{.vocab = 20000, .count = 2, .fp32 = {}, .bf16 = {}};
    for (int i = 0; i < 2 * 20000; ++i) rows.fp32.push_back(static_cast<float>(i % 20000) * 1e-3F);
    auto claim = make_claim(rows, 3);
    for (const int top_m : {1, 1000, kMaxTopM}) {
      auto scorer = make_twin_scorer({.top_m = top_m, .tolerance = {}});
      expect_like_core(fused(scorer, rows, claim, kProfiles[0]), rows, claim, kProfiles[0], top_m, {});
    }
  }

  void refusesRowsThatAreNotFinite() {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const int vocab : {1, 255, 4096}) {
      for (const bool filtered : {false, true}) {
        auto rows = make_rows(vocab, 5, false, 9);
        const auto at = [&](int row, int i) -> float& { return rows.fp32[static_cast<std::size_t>(row * vocab + i)]; };
        at(0, vocab - 1) = nan;
        at(1, vocab / 2) = kInf;
        for (int i = 0; i < vocab; ++i) at(2, i) = -kInf;
        for (int i = 0; i < vocab; ++i) at(3, i) = nan;
        auto claim = make_claim(rows, 4);
        if (filtered) claim.sampling.top_p = 0.5;
        auto scorer = make_twin_scorer({.top_m = 16, .tolerance = {}});
        const auto series = fused(scorer, rows, claim, kProfiles[0]);
        for (std::size_t t = 0; t < 4; ++t) QCOMPARE(int{series.scores().flags[t]}, int{refused});
        QVERIFY(series.scores().flags[4] != refused);
        expect_like_core(series, rows, claim, kProfiles[0], 16, {});
      }
    }
  }

  void leavesToCoreWhatItCannotDo() {
    Claim claim;
    claim.prompt = {1, 2};
    claim.output = {0};
    claim.seed = 1;
    for (const char* id :
         {"torch-cpu-exponential", "sglang-murmur-rank", "llama.cpp", "mlx-threefry", "vllm-cpu-table"})
      QVERIFY2(!FusedSeries::make(claim, *find_profile(id)), id);
    claim.sampling.presence_penalty = 0.5;
    QVERIFY(!FusedSeries::make(claim, *find_profile(kProfiles[0])));
    const std::vector<float> row{1.0F, 2.0F};
    auto scorer = make_twin_scorer({.top_m = 2, .tolerance = {}});
    const LogitsChunk chunk{.data = row.data(), .rows = 1, .vocab = 2, .stride = 2};
    std::array<RowJob, 1> outside;
    outside[0].claimed = 2;
    QVERIFY_THROWS_EXCEPTION(Error, scorer.submit(chunk, outside));
    QVERIFY_THROWS_EXCEPTION(Error, (void)scorer.collect());
    QVERIFY_THROWS_EXCEPTION(Error, (void)make_twin_scorer({.top_m = kMaxTopM + 1, .tolerance = {}}));
    if (!cuda_scorer_available()) QVERIFY_THROWS_EXCEPTION(Error, (void)make_cuda_scorer({}));
  }

  /// The device runs the twin's text in the twin's order; only exp and log may differ, by an ulp of fp64, which an fp32
  /// noise form turns into one fp32 rounding in about one entry of 2^28.
  void deviceAgreesWithTwin() {
    if (!cuda_scorer_available()) QSKIP("no CUDA device, or a build without the kernels");
    std::uint32_t seed = 1000;
    for (const int vocab : kWidths) {
      for (const bool bf16 : {false, true}) {
        for (const char* profile : kProfiles) {
          for (const double top_p : {1.0, 0.9}) {
            const auto rows = make_rows(vocab, 7, bf16, ++seed);
            auto claim = make_claim(rows, seed);
            claim.sampling.top_p = top_p;
            const FusedOptions options{.top_m = 64, .tolerance = {0.02, 4.0, bf16}};
            auto twin = make_twin_scorer(options), device = make_cuda_scorer(options);
            expect_alike(fused(device, rows, claim, profile), fused(twin, rows, claim, profile));
          }
        }
      }
    }
  }
};

QTEST_GUILESS_MAIN(TestKernels)
#include "test_kernels.moc"
