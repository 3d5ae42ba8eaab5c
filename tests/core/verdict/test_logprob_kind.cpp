// Raw, processed or filtered: told from a real server's answers, and from rows whose three values are computed plainly.
#include <QTest>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "core/verdict/logprob_kind.h"

using namespace difr;
using nlohmann::json;

namespace {

json server(const std::string& name) {
  return json::parse(std::ifstream(std::string(DIFR_TEST_DATA "/server/") + name + ".json"));
}

/// Evidence of the positions that a recorded prompt_logprobs answer (K = 20) covers.
Evidence recorded_evidence(const json& verify, std::size_t prompt, std::size_t tokens) {
  const auto ids = verify["request"]["prompt"].get<std::vector<TokenId>>();
  const auto& rows = verify["response"]["choices"][0]["prompt_logprobs"];
  Evidence e;
  e.vocab = 49152;
  e.top_m = 20;
  for (std::size_t t = 0; t < tokens; ++t) {
    std::vector<std::pair<float, TokenId>> row;
    for (const auto& [id, entry] : rows[prompt + t].items()) {
      const auto logprob = entry["logprob"].get<float>();
      if (std::stoi(id) == ids[prompt + t]) e.claimed_logit.push_back(logprob);
      row.emplace_back(-logprob, std::stoi(id));
    }
    std::ranges::sort(row);
    for (std::size_t k = 0; k < 20; ++k) {
      e.top_ids.push_back(row[k].second);
      e.top_logits.push_back(-row[k].first);
    }
    e.log_sum_exp.push_back(0);
    e.claimed_rank.push_back(0);
  }
  return e;
}

/// A row like a language model's, and its three log-probabilities, computed over the whole row in double precision.
struct Row {
  std::vector<double> z;
  explicit Row(std::mt19937& random, int vocab = 2000) {
    std::normal_distribution<double> normal(0, 1);
    for (int v = 0; v < vocab; ++v) z.push_back(static_cast<float>(4.0 * normal(random)));
  }
  [[nodiscard]] static double log_sum(const std::vector<double>& x) {
    const double top = *std::ranges::max_element(x);
    double sum = 0;
    for (const double v : x) sum += std::exp(v - top);
    return top + std::log(sum);
  }
  [[nodiscard]] std::vector<double> scaled(double temperature) const {
    auto x = z;
    for (auto& v : x) v /= temperature;
    return x;
  }
  /// Kept by top-p: sorted descending, until the mass before an entry reaches p.
  [[nodiscard]] std::vector<double> kept(double temperature, double top_p) const {
    auto x = scaled(temperature);
    std::ranges::sort(x, std::greater<>{});
    const double sum = log_sum(x);
    double before = 0;
    std::size_t n = 0;
    for (; n < x.size() && before < top_p; ++n) before += std::exp(x[n] - sum);
    x.resize(n);
    return x;
  }
};

}  // namespace

class TestLogprobKind : public QObject {
  Q_OBJECT

  /// Tokens sampled from the kept set of random rows at T = 0.7, top-p 0.8, with all three log-probabilities.
  struct Made {
    Claim claim;
    Evidence evidence;
    std::array<std::vector<double>, 3> truth;
  };
  static Made make(int tokens, int top_m = 128, double temperature = 0.7, double top_p = 0.8) {
    std::mt19937 random(5);
    Made made;
    made.claim.sampling.temperature = temperature;
    made.claim.sampling.top_p = top_p;
    made.claim.prompt = {1};
    made.evidence.vocab = 2000;
    made.evidence.top_m = top_m;
    for (int t = 0; t < tokens; ++t) {
      const Row row(random);
      std::vector<std::size_t> order(row.z.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, [&](auto a, auto b) { return row.z[a] > row.z[b]; });
      const auto x = row.scaled(temperature), kept = row.kept(temperature, top_p);
      const auto pick = order[random() % kept.size()];
      made.claim.output.push_back(static_cast<TokenId>(pick));
      made.truth[0].push_back(row.z[pick] - Row::log_sum(row.z));
      made.truth[1].push_back(x[pick] - Row::log_sum(x));
      made.truth[2].push_back(x[pick] - Row::log_sum(kept));
      made.evidence.claimed_logit.push_back(static_cast<float>(row.z[pick]));
      made.evidence.log_sum_exp.push_back(static_cast<float>(Row::log_sum(row.z)));
      made.evidence.claimed_rank.push_back(static_cast<int>(std::ranges::find(order, pick) - order.begin()));
      for (int j = 0; j < top_m; ++j) {
        made.evidence.top_ids.push_back(static_cast<TokenId>(order[static_cast<std::size_t>(j)]));
        made.evidence.top_logits.push_back(static_cast<float>(row.z[order[static_cast<std::size_t>(j)]]));
      }
    }
    return made;
  }

 private slots:
  void a_real_server_states_raw_ones_data() {
    QTest::addColumn<QString>("chat");
    QTest::addColumn<QString>("verify");
    for (const auto* i : {"0", "1", "3"}) QTest::newRow(i) << QString("chat_%1").arg(i) << QString("verify_%1").arg(i);
  }
  void a_real_server_states_raw_ones() {
    QFETCH(QString, chat);
    QFETCH(QString, verify);
    const auto answer = server(chat.toStdString());
    const auto& choice = answer["response"]["choices"][0];
    Claim claim;
    claim.prompt = answer["response"]["prompt_token_ids"].get<std::vector<TokenId>>();
    claim.output = choice["token_ids"].get<std::vector<TokenId>>();
    for (const auto& entry : choice["logprobs"]["content"]) claim.logprobs.push_back(entry["logprob"].get<float>());
    if (claim.logprobs.size() < claim.output.size()) claim.output.resize(claim.logprobs.size());
    claim.logprobs.resize(claim.output.size());
    const auto evidence = recorded_evidence(server(verify.toStdString()), claim.prompt.size(), claim.output.size());
    std::vector<LogprobSample> samples;
    collect_logprobs(claim, evidence, ProcessingOrder::vllm, samples);
    const auto all = compare_logprobs(samples);
    QVERIFY(all.tokens >= 30);
    // The same server computed both, decoding there and prefill here, in bf16.
    QVERIFY2(!(all.median_difference[0] > 0.05), qPrintable(QString::number(all.median_difference[0])));
    QCOMPARE(all.fits.size(), std::size_t(3));
    QVERIFY(all.text.find("agree") != std::string::npos);
    // Had it sampled at T = 0.6, the same numbers would be raw ones, and nothing else.
    claim.sampling.temperature = 0.6;
    samples.clear();
    collect_logprobs(claim, evidence, ProcessingOrder::vllm, samples);
    const auto cold = compare_logprobs(samples);
    QVERIFY(cold.tokens >= 20);
    QCOMPARE(cold.fits.size(), std::size_t(1));
    QVERIFY(cold.fits.front() == LogprobKind::raw);
  }

  void predictions_are_those_of_the_whole_row() {
    auto made = make(300);
    made.claim.logprobs.assign(300, -1.0F);
    std::vector<LogprobSample> samples;
    collect_logprobs(made.claim, made.evidence, ProcessingOrder::vllm, samples);
    QVERIFY2(samples.size() > 200, qPrintable(QString::number(samples.size())));
    // Samples keep their order; those that the evidence cannot tell are left out.
    std::size_t t = 0;
    for (const auto& sample : samples) {
      while (t < 300 && std::abs(made.truth[0][t] - sample.predicted[0]) > 1e-5) ++t;
      QVERIFY(t < 300);
      QVERIFY(!(std::abs(made.truth[1][t] - sample.predicted[1]) > 0.01));
      QVERIFY(!(std::abs(made.truth[2][t] - sample.predicted[2]) > 1e-5));
    }
  }

  void each_kind_is_told_data() {
    QTest::addColumn<int>("kind");
    for (int k = 0; k < 3; ++k) QTest::newRow(to_string(static_cast<LogprobKind>(k))) << k;
  }
  void each_kind_is_told() {
    QFETCH(int, kind);
    auto made = make(200);
    std::mt19937 random(6);
    std::normal_distribution<double> noise(0, 0.03);  // of an engine in bf16
    for (const double p : made.truth[static_cast<std::size_t>(kind)])
      made.claim.logprobs.push_back(static_cast<float>(std::min(0.0, p + noise(random))));
    std::vector<LogprobSample> samples;
    collect_logprobs(made.claim, made.evidence, ProcessingOrder::vllm, samples);
    const auto result = compare_logprobs(samples);
    QCOMPARE(result.fits.size(), std::size_t(1));
    QCOMPARE(static_cast<int>(result.fits.front()), kind);
    QVERIFY(result.text.find(to_string(result.fits.front())) != std::string::npos);
  }

  void another_models_fit_nothing() {
    auto made = make(200);
    std::mt19937 random(7);
    for (const double p : made.truth[0])
      made.claim.logprobs.push_back(static_cast<float>(p - 0.3 - 0.001 * static_cast<double>(random() % 500)));
    std::vector<LogprobSample> samples;
    collect_logprobs(made.claim, made.evidence, ProcessingOrder::vllm, samples);
    QVERIFY(compare_logprobs(samples).fits.empty());
  }

  void too_little_evidence_says_nothing() {
    auto made = make(100, 4, 1.5, 1.0);  // T > 1 with four candidates: the rest of the row decides
    made.claim.logprobs.assign(100, -1.0F);
    std::vector<LogprobSample> samples;
    collect_logprobs(made.claim, made.evidence, ProcessingOrder::vllm, samples);
    QVERIFY(samples.empty());
    const auto nothing = compare_logprobs(samples);
    QCOMPARE(nothing.tokens, std::size_t(0));
    QVERIFY(nothing.fits.empty() && std::isnan(nothing.median_difference[0]));
    made.claim.logprobs = {-1.0F};  // not one for each token
    collect_logprobs(made.claim, made.evidence, ProcessingOrder::vllm, samples);
    QVERIFY(samples.empty());
  }
};

QTEST_APPLESS_MAIN(TestLogprobKind)
#include "test_logprob_kind.moc"
