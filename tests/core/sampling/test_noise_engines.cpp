// SGLang, MLX, llama.cpp and the table sampler; and the registry as a whole.

#include <QtTest>
#include <cmath>
#include <random>
#include <set>

#include "core/sampling/counter_hash.h"
#include "core/sampling/noise_rows.h"
#include "core/sampling/profile.h"
#include "core/scoring/token_difr.h"

using namespace difr;

class TestNoiseEngines : public QObject {
  Q_OBJECT

 private slots:
  void sglangDefect() {
    // The engine's known defect: this hash is 2^32 - 1, u is 1, and the noise infinite.
    QCOMPARE(murmur3_column(murmur3_prefix(7847, 12345, 0), 1208), 0xffffffffU);
    auto noise = make_noise(*find_profile("sglang-murmur"), {.seed = 7847, .prompt_len = 12346, .vocab = 2048});
    std::vector<double> g(2048);
    noise->row(0, g);
    QVERIFY(std::isinf(g[1208]) && g[1208] > 0);
    QCOMPARE(std::count_if(g.begin(), g.end(), [](double v) { return std::isinf(v); }), 1);
    // A provider that follows the engine is exact; one that picks what the model prefers is not.
    Claim claim;
    claim.prompt.assign(12346, 1);
    claim.seed = 7847;
    claim.output = {1208};
    std::vector<float> logits(2048, 0.0F);
    logits[3] = 30.0F;
    RowScorer follows(claim, *find_profile("sglang-murmur"), 2048, {});
    follows.add(logits);
    QVERIFY(follows.scores().flags[0] & exact_match);
    QCOMPARE(follows.scores().margin[0], 0.0F);
    claim.output = {3};
    RowScorer differs(claim, *find_profile("sglang-murmur"), 2048, {});
    differs.add(logits);
    QCOMPARE(differs.scores().reference_token[0], 1208);
    QVERIFY(std::isinf(differs.scores().margin[0]) && !(differs.scores().flags[0] & filtered));
  }

  void murmurAgreesWithTheReferenceVectors() {
    // MurmurHash3_x86_32 of the four bytes "\x21\x43\x65\x87", seed 0 (Appleby's reference, published vectors).
    QCOMPARE(murmur3_final(murmur3_block(0, 0x87654321U), 4), 0xF55B516BU);
    QCOMPARE(murmur3_final(murmur3_block(0x5082EDEEU, 0x87654321U), 4), 0x2362F9DEU);
  }

  void llamaCppFollowsTheStandardLibrary() {
    for (const std::uint32_t seed : {0U, 1U, 42U, 4294967295U}) {
      std::mt19937 generator(seed);
      std::uniform_real_distribution<double> uniform(0.0, 1.0);
      auto source = make_uniform(*find_profile("llama.cpp"), {.seed = seed});
      for (int t = 0; t < 1000; ++t) QCOMPARE(source->at(t), uniform(generator));
    }
  }

  void llamaCppMargins() {
    // Probabilities 1/2, 1/4, 1/4 in descending order of logit: the interval of each id is known by hand.
    Claim claim;
    claim.sampling.top_k = 3;
    const std::vector<float> logits{std::log(0.25F), std::log(0.5F), std::log(0.2499F), -9.0F};
    for (std::int64_t seed = 0; seed < 20; ++seed) {
      std::mt19937 generator(static_cast<std::uint32_t>(seed));
      const double u = std::uniform_real_distribution<double>(0.0, 1.0)(generator);
      const TokenId expected = u <= 0.5 ? 1 : u <= 0.75 ? 0 : 2;
      for (TokenId id = 0; id < 4; ++id) {
        claim.seed = seed;
        claim.output = {id};
        RowScorer scorer(claim, *find_profile("llama.cpp"), 4, {.bf16_logits = false});
        scorer.add(logits);
        const auto& s = scorer.scores();
        QCOMPARE(s.reference_token[0], expected);
        QCOMPARE(bool(s.flags[0] & filtered), id == 3);
        if (id == 3) continue;
        const double low = id == 1 ? 0.0 : id == 0 ? 0.5 : 0.75, high = id == 1 ? 0.5 : id == 0 ? 0.75 : 1.0;
        const double want = std::max({0.0, low - u, u - high});
        QVERIFY(std::abs(s.margin[0] - want) <= 2e-4);  // 0.2499 stands for 1/4 so that the order is unambiguous
      }
    }
  }

  void rowsAndSingleEntriesAgree() {
    for (const auto& profile : sampler_profiles()) {
      auto noise = make_noise(profile, {.seed = -77, .prompt_len = 5, .vocab = 1001, .choice = 1, .shift = 1});
      QCOMPARE(noise != nullptr, profile.family == SamplerFamily::gumbel_max && reproducible(profile));
      if (noise == nullptr) continue;
      std::vector<double> g(1001), some(5);
      const std::vector<TokenId> ids{1000, 0, 499, 500, 501};
      for (const int t : {0, 3, 1}) {
        noise->row(t, g);
        noise->at(t, ids, some);
        double mean = 0;
        for (std::size_t i = 0; i < ids.size(); ++i) {
          const double row = g[static_cast<std::size_t>(ids[i])];
          // Rows are vectorised: a few ulp of fp64, or one fp32 rounding where the engine works in fp32.
          QVERIFY2(std::abs(some[i] - row) <= 3e-7 * (1 + std::abs(row)), std::string(profile.id).c_str());
        }
        for (const double v : g) {
          QVERIFY2(!std::isnan(v), std::string(profile.id).c_str());
          mean += v / 1001;
        }
        // Gumbel: mean 0.5772, standard deviation 1.28; of 1001 entries 0.0405, so 5 sigma is 0.2.
        QVERIFY2(std::abs(mean - 0.5772) < 0.2, std::string(profile.id).c_str());
        if (noise->upper_bound(t) < INFINITY) QVERIFY(noise->upper_bound(t) >= *std::max_element(g.begin(), g.end()));
      }
    }
  }

  void everyVectorLevelAgrees() {
    constexpr std::size_t n = 4099;
    const auto compare = [](auto&& row, double tolerance) {
      std::vector<double> base(n), other(n);
      row(VectorLevel::baseline, base);
      for (const auto level : {VectorLevel::avx2, VectorLevel::avx512}) {
        if (static_cast<int>(level) > static_cast<int>(vector_level())) continue;
        row(level, other);
        for (std::size_t i = 0; i < n; ++i)
          QVERIFY(std::abs(base[i] - other[i]) <= tolerance * (1 + std::abs(base[i])));
      }
    };
    compare([](VectorLevel l, std::span<double> g) { splitmix_row(l, 99, g); }, 1e-14);
    compare([](VectorLevel l, std::span<double> g) { murmur_row32(l, 99, g); }, 3e-7);
    compare([](VectorLevel l, std::span<double> g) { murmur_row64(l, 99, 7, g); }, 1e-14);
    compare([](VectorLevel l, std::span<double> g) { sglang_row(l, 99, g); }, 1e-14);
    for (const auto form :
         {PhiloxForm::fp64_eps, PhiloxForm::fp32_tiny, PhiloxForm::fp32_log1p, PhiloxForm::fp64_two_words}) {
      compare([form](VectorLevel l, std::span<double> g) { philox_row(l, 12345, form, g); }, 3e-7);
    }
    // Logarithm and exponential against libm, over the ranges they are used in.
    for (double x = 1e-300; x < 1e300; x *= 1.37)
      QVERIFY(std::abs(fast_log(x) - std::log(x)) <= 4e-16 * (1 + std::abs(std::log(x))));
    for (double x = 0.0; x > -700; x -= 0.173) QVERIFY(std::abs(fast_exp(x) / std::exp(x) - 1) <= 1e-14);
    QCOMPARE(fast_exp(-INFINITY), 0.0);
  }

  void registryIsComplete() {
    std::set<std::string_view> ids;
    for (const auto& p : sampler_profiles()) {
      const QByteArray where = QByteArray::fromStdString(std::string(p.id));
      QVERIFY2(ids.insert(p.id).second, where);
      QVERIFY2(find_profile(p.id) == &p, where);
      for (const auto text : {p.title, p.noise, p.alignment, p.versions, p.needs}) QVERIFY2(!text.empty(), where);
      QVERIFY2(reproducible(p) != !p.missing.empty(), where);
      QVERIFY2(p.verified_by.empty() == !reproducible(p), where);
    }
    QVERIFY(ids.size() >= 24);
    QVERIFY(find_profile("no-such-sampler") == nullptr);
  }
};

QTEST_APPLESS_MAIN(TestNoiseEngines)
#include "test_noise_engines.moc"
