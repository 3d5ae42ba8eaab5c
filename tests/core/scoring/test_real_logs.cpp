// Real provider logs of the demo case against per-token values computed by Hugging Face and an independent emulation.

#include <QtTest>
#include <cmath>

#include "core/scoring/token_difr.h"
#include "core/support/tiny_llama.h"

using namespace difr;
using namespace difr::test;

class TestRealLogs : public QObject {
  Q_OBJECT

 private slots:
  void perTokenValues() {
    TinyLlama model(DIFR_DEMO_DATA "/model");
    simdjson::dom::parser parser;
    const simdjson::dom::element expected = parser.load(DIFR_TEST_DATA "/expected/tiny_scores_float32.json");
    int tokens = 0, unlike = 0, edges = 0;
    for (const auto [log, requests] : expected.get_object()) {
      const auto claims = demo_claims(std::string(DIFR_DEMO_DATA "/logs/") + std::string(log) + ".json", 4);
      for (std::size_t r = 0; r < claims.size(); ++r) {
        const auto& claim = claims[r];
        const auto logits = model.logits(claim.prompt, claim.output);
        RowScorer scorer(claim, *find_profile("vllm-cpu-splitmix64"), TinyLlama::kVocab, {.noise_sigma = 0.023});
        for (std::size_t t = 0; t < claim.output.size(); ++t) {
          scorer.add({logits.data() + t * TinyLlama::kVocab, TinyLlama::kVocab});
        }
        const auto& s = scorer.scores();
        const auto want = requests.at(r);
        for (std::size_t t = 0; t < s.size(); ++t) {
          ++tokens;
          const double margin = number(want["margin"].at(t));
          if (s.flags[t] & (filter_edge | robust_differs)) {
            ++edges;
            // Never more than the naive value, and never an accusation.
            QVERIFY(std::isfinite(s.margin[t]) && s.margin[t] <= margin + 2e-3);
            continue;
          }
          const bool alike = (std::isinf(margin) && s.flags[t] & filtered) || std::abs(s.margin[t] - margin) <= 2e-3;
          const bool same_choice = bool(s.flags[t] & exact_match) == (number(want["exact_match"].at(t)) != 0);
          QVERIFY(std::abs(s.log_prob[t] - number(want["logprob"].at(t))) <= 2e-3);
          QVERIFY(std::abs(s.logit_rank[t] - number(want["logit_rank"].at(t))) <= 1);
          unlike += !alike || !same_choice;
        }
      }
    }
    QVERIFY2(tokens > 4000, qPrintable(QString::number(tokens)));
    // The goal is 99.9 %: fp32 sums in another order may flip a near-tie.
    QVERIFY2(unlike * 1000 <= tokens, qPrintable(QString::number(unlike)));
    QVERIFY2(edges > 0 && edges * 50 < tokens, qPrintable(QString::number(edges)));
  }

  void evidenceIsNeverContradicted() {
    TinyLlama model(DIFR_DEMO_DATA "/model");
    int exact = 0, bounded = 0;
    for (const char* log : {"honest", "honest-t07-topp09-topk50", "temp-1.1", "greedy"}) {
      for (const auto& claim : demo_claims(std::string(DIFR_DEMO_DATA "/logs/") + log + ".json", 2)) {
        const auto logits = model.logits(claim.prompt, claim.output);
        const auto& profile = *find_profile("vllm-cpu-splitmix64");
        RowScorer scorer(claim, profile, TinyLlama::kVocab, {.noise_sigma = 0.023});
        Evidence evidence;
        for (std::size_t t = 0; t < claim.output.size(); ++t) {
          const std::span<const float> row{logits.data() + t * TinyLlama::kVocab, TinyLlama::kVocab};
          scorer.add(row);
          append_evidence(evidence, row, claim.output[t], 128);
        }
        const auto ours = score_evidence(claim, evidence, profile, {.noise_sigma = 0.023});
        const auto& truth = scorer.scores();
        for (std::size_t t = 0; t < ours.size(); ++t) {
          ++(ours.flags[t] & interval ? bounded : exact);
          QVERIFY(ours.margin[t] <= truth.margin[t] + 1e-5F);
          QVERIFY(truth.margin[t] <= ours.margin_hi[t] + 1e-5F);
          QCOMPARE(ours.logit_rank[t], truth.logit_rank[t]);
        }
      }
    }
    qInfo("certified exact: %d, bounded: %d", exact, bounded);
    QVERIFY(exact > 2 * bounded);
  }
};

QTEST_APPLESS_MAIN(TestRealLogs)
#include "test_real_logs.moc"
