// Token-DiFR against the public DiFR code's per-token metrics (fixtures scores.*), and where that code is wrong,
// against what is right.

#include <QtTest>
#include <cmath>

#include "core/sampling/profile.h"
#include "core/scoring/token_difr.h"
#include "core/support/fixture_files.h"
#include "core/util/error.h"

using namespace difr;
using difr::test::Safetensors;

namespace {

struct GoldenSet {
  const char* name;
  int rows, vocab;
  std::int64_t seed;
};
constexpr GoldenSet kSets[] = {
    {"model320", 30, 320, 42}, {"rand320", 30, 320, 123456789}, {"bf16_320", 30, 320, 7}, {"rand32000", 6, 32000, 42}};

struct Tally {
  int tokens = 0, exact = 0, edges = 0, filtered = 0, rank_checks = 0;
};

}  // namespace

class TestTokenDifr : public QObject {
  Q_OBJECT

 private slots:
  void agreesWithPublicCode() {
    const Safetensors golden(DIFR_TEST_DATA "/scores/scores.safetensors");
    Tally tally;
    for (const auto& set : kSets) {
      const auto logits = golden.floats(std::string(set.name) + ".logits");
      for (const char* t : {"0.0", "0.7", "1.0", "1.1"}) {
        for (const char* k : {"off", "5", "50"}) {
          for (const char* p : {"1.0", "0.9", "0.5"}) {
            const std::string key = std::string(set.name) + ".T" + t + ".k" + k + ".p" + p + ".";
            if (!golden.has(key + "gold")) continue;
            compareSet(golden, set, logits, key, std::atof(t), k == std::string("off") ? 0 : std::atoi(k), std::atof(p),
                       tally);
          }
        }
      }
    }
    QVERIFY2(tally.tokens >= 3000, qPrintable(QString::number(tally.tokens)));
    QVERIFY(tally.filtered > 100);
    QVERIFY(tally.exact > 1000);
    QVERIFY(tally.rank_checks > 1000);
    // Ties at a cut exist in these sets only where logits are bf16 or rounded sums coincide: they stay few.
    QVERIFY2(tally.edges < tally.tokens / 20, qPrintable(QString::number(tally.edges)));
  }

  void evidenceOfTheWholeRowScoresAlike() {
    const Safetensors golden(DIFR_TEST_DATA "/scores/scores.safetensors");
    for (const auto& set : kSets) {
      const auto logits = golden.floats(std::string(set.name) + ".logits");
      for (const double t : {0.0, 0.7, 1.0}) {
        for (const int m : {16, 128, set.vocab}) checkEvidence(set, logits, t, m);
      }
    }
  }

  void refusesRowsThatAreNotFinite() {
    constexpr float inf = std::numeric_limits<float>::infinity();
    Claim claim;
    claim.output = {0, 0, 0, 1};
    claim.seed = 1;
    RowScorer scorer(claim, *find_profile("vllm-cpu-splitmix64"), 3, {});
    Evidence evidence;
    const std::vector<std::vector<float>> rows{{1, std::nanf(""), 0}, {1, inf, 0}, {-inf, -inf, -inf}, {1, -inf, 0}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      scorer.add(rows[i]);
      append_evidence(evidence, rows[i], claim.output[i], 2);
    }
    const auto from_evidence = score_evidence(claim, evidence, *find_profile("vllm-cpu-splitmix64"), {});
    for (const auto* s : {&scorer.scores(), &from_evidence}) {
      for (std::size_t i = 0; i < 3; ++i) {
        // The public code scores an all -inf row as an exact match of id 0, and NaN rows as margin 0.
        QCOMPARE(s->flags[i], refused);
        QVERIFY(std::isnan(s->margin[i]));
        QCOMPARE(s->reference_token[i], -1);
      }
      // A claimed token the model gives no mass at all is not a refused row but an excluded token.
      QCOMPARE(s->flags[3] & (refused | filtered), filtered);
      QVERIFY(std::isinf(s->margin[3]) && s->margin[3] > 0);
    }
  }

  void withoutSeedOnlySeedlessMetricsHold() {
    Claim claim;
    claim.output = {1};
    const std::vector<float> row{0.F, 1.F, 3.F};
    RowScorer scorer(claim, *find_profile("vllm-cpu-splitmix64"), 3, {});
    scorer.add(row);
    const auto& s = scorer.scores();
    QCOMPARE(s.flags[0], no_noise);
    QVERIFY(std::isnan(s.margin[0]) && std::isnan(s.gap[0]));
    QCOMPARE(s.logit_rank[0], 1);
    const double lse = std::log(std::exp(0.0) + std::exp(1.0) + std::exp(3.0));
    QVERIFY(std::abs(s.log_prob[0] - (1.0 - lse)) <= 1e-6);
  }

  void greedyIgnoresFiltersAndTakesTheLowestId() {
    Claim claim;
    claim.sampling.temperature = 0.0;
    claim.sampling.top_k = 1;
    claim.sampling.top_p = 0.5;
    claim.output = {2, 1, 0};
    RowScorer scorer(claim, *find_profile("vllm-cpu-splitmix64"), 4, {});
    for (int i = 0; i < 3; ++i) scorer.add(std::vector<float>{1.F, 4.F, 4.F, 2.F});
    const auto& s = scorer.scores();
    QCOMPARE(s.reference_token[0], 1);
    // The public code gives a greedy token outside top-k an infinite margin; the filter plays no part at T = 0.
    QCOMPARE(s.margin[0], 0.0F);
    QVERIFY(!(s.flags[0] & exact_match));
    QVERIFY(s.flags[1] & exact_match);
    QCOMPARE(s.margin[2], 3.0F);
    QCOMPARE(s.gap[2], -3.0F);
    QCOMPARE(s.runner_up[2], 0.0F);
    QCOMPARE(s.gumbel_rank[0], -1);
  }

  void idsOutsideTheVocabularyAreBadInput() {
    Claim claim;
    claim.output = {3};
    RowScorer scorer(claim, *find_profile("greedy"), 3, {});
    QVERIFY_EXCEPTION_THROWN(scorer.add(std::vector<float>{0.F, 1.F, 2.F}), Error);
    QVERIFY_EXCEPTION_THROWN(scorer.add(std::vector<float>{0.F, 1.F}), Error);
    Evidence evidence;
    QVERIFY_EXCEPTION_THROWN(append_evidence(evidence, std::vector<float>{0.F}, -1, 1), Error);
  }

 private:
  static Claim claimOf(const GoldenSet& set, double temperature, int k, double p, std::vector<TokenId> output) {
    Claim claim;
    claim.seed = set.seed;
    claim.sampling.temperature = temperature;
    claim.sampling.top_k = k;
    claim.sampling.top_p = p;
    claim.output = std::move(output);
    return claim;
  }

  void compareSet(const Safetensors& golden, const GoldenSet& set, const std::vector<float>& logits,
                  const std::string& key, double temperature, int k, double p, Tally& tally) {
    const auto gold = golden.get<std::int32_t>(key + "gold");
    const auto pred = golden.get<std::int32_t>(key + "pred");
    const auto f = golden.get<float>(key + "f");
    const auto v = static_cast<std::size_t>(set.vocab), j = static_cast<std::size_t>(set.rows);
    const auto claim = claimOf(set, temperature, k, p, {gold.begin(), gold.end()});
    RowScorer scorer(claim, *find_profile("torch-cpu-exponential"), set.vocab, {.bf16_logits = false});
    for (std::size_t i = 0; i < j; ++i) scorer.add({logits.data() + i * v, v});
    const auto& s = scorer.scores();
    for (std::size_t i = 0; i < j; ++i) {
      ++tally.tokens;
      const QByteArray where = QByteArray::fromStdString(key + std::to_string(i));
      const float prob = f[i], margin = f[j + i], gumbel_rank = f[3 * j + i];
      if (temperature == 0.0) {
        // Ours ignores filters at T = 0; theirs masks, which changes nothing for tokens inside.
        if (std::isfinite(margin)) QVERIFY2(std::abs(s.margin[i] - margin) <= 1e-5F * (1 + margin), where);
        QVERIFY2(s.reference_token[i] == pred[i], where);
        continue;
      }
      const bool edge = s.flags[i] & (filter_edge | robust_differs);
      if (edge) {
        // Which of two tied tokens survives is the sort's accident there; ours admits the claimed one.
        ++tally.edges;
        QVERIFY2(std::isinf(margin) || s.margin[i] <= margin + 2e-5F * (1 + margin), where);
        continue;
      }
      if (std::isinf(margin)) {
        ++tally.filtered;
        QVERIFY2(s.flags[i] & filtered, where);
        QVERIFY2(std::isinf(s.margin[i]) && s.filter_distance[i] > 0, where);
        continue;
      }
      // fp32 softmax, log and noise there, fp64 here: errors of about 1e-6 of scores up to 20.
      QVERIFY2(std::abs(s.margin[i] - margin) <= 2e-5F * (1 + margin), where);
      QVERIFY2(s.reference_token[i] == pred[i], where);
      QVERIFY2(s.margin_hi[i] == s.margin[i], where);
      tally.exact += s.flags[i] & exact_match ? 1 : 0;
      if (s.flags[i] & exact_match) QVERIFY2(s.gap[i] == s.runner_up[i], where);
      QVERIFY2(std::abs(static_cast<float>(s.gumbel_rank[i]) - gumbel_rank) < 0.75F, where);
      ++tally.rank_checks;
      if (temperature == 1.0 && k == 0 && p == 1.0 && prob > 1e-30F) {
        QVERIFY2(std::abs(s.log_prob[i] - std::log(prob)) <= 1e-4F, where);
      }
    }
  }

  void checkEvidence(const GoldenSet& set, const std::vector<float>& logits, double temperature, int m) {
    const auto v = static_cast<std::size_t>(set.vocab);
    for (const auto& [k, p] : {std::pair{0, 1.0}, std::pair{5, 1.0}, std::pair{50, 0.9}, std::pair{0, 0.9}}) {
      std::vector<TokenId> output;
      for (int i = 0; i < set.rows; ++i) output.push_back((i * 37) % std::min(set.vocab, 11 + 9 * i));
      const auto claim = claimOf(set, temperature, k, p, output);
      const auto& profile = *find_profile("torch-cpu-exponential");
      RowScorer scorer(claim, profile, set.vocab, {.noise_sigma = 0.02});
      Evidence evidence;
      for (std::size_t i = 0; i < output.size(); ++i) {
        scorer.add({logits.data() + i * v, v});
        append_evidence(evidence, {logits.data() + i * v, v}, output[i], m);
      }
      const auto& row = scorer.scores();
      const auto ours = score_evidence(claim, evidence, profile, {.noise_sigma = 0.02});
      for (std::size_t i = 0; i < output.size(); ++i) {
        const QByteArray where = QByteArray::fromStdString(std::string(set.name) + " T" + std::to_string(temperature) +
                                                           " m" + std::to_string(m) + " k" + std::to_string(k) + " p" +
                                                           std::to_string(p) + " row " + std::to_string(i));
        QVERIFY2(std::abs(ours.log_prob[i] - row.log_prob[i]) <= 1e-5F, where);
        QVERIFY2(ours.logit_rank[i] == row.logit_rank[i], where);
        if (ours.flags[i] & interval) {
          QVERIFY2(m < set.vocab, where);
          QVERIFY2(ours.margin[i] <= row.margin[i] + 1e-4F && row.margin[i] <= ours.margin_hi[i] + 1e-4F, where);
        } else {
          QVERIFY2(ours.margin[i] == row.margin[i] || std::abs(ours.margin[i] - row.margin[i]) <= 1e-5F, where);
          QVERIFY2(ours.flags[i] == row.flags[i] || m < set.vocab, where);
        }
        if (m == set.vocab) QVERIFY2(ours.gap[i] == row.gap[i] && ours.runner_up[i] == row.runner_up[i], where);
      }
    }
  }
};

QTEST_APPLESS_MAIN(TestTokenDifr)
#include "test_token_difr.moc"
