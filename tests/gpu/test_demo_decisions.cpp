// The whole road on the bundled case: real vLLM logs, our reference, our scorer, our decision. What was really done is
// in each log's name; what is declared is in its config.

#include <simdjson.h>
#include <QtTest>
#include <map>

#include "core/scoring/token_difr.h"
#include "core/verdict/decide.h"
#include "gpu/reference_engine.h"

using namespace difr;

namespace {

struct Log {
  SamplingParams sampling;
  std::string sampler;
  std::vector<Claim> claims;
};

Log read_log(const std::string& name) {
  simdjson::dom::parser parser;
  const simdjson::dom::element document = parser.load(std::string(DIFR_DEMO_DATA) + "/logs/" + name + ".json");
  const simdjson::dom::element config = document["config"];
  Log log;
  log.sampling.temperature = double(config["temperature"]);
  log.sampling.top_p = double(config["top_p"]);
  log.sampling.top_k = static_cast<int>(std::int64_t(config["top_k"]));
  log.sampler = std::string(std::string_view(config["sampler"]));
  const auto ids = [](simdjson::dom::element list) {
    std::vector<TokenId> result;
    for (simdjson::dom::element id : list.get_array()) result.push_back(static_cast<TokenId>(std::int64_t(id)));
    return result;
  };
  for (simdjson::dom::element sample : document["samples"].get_array()) {
    Claim claim;
    claim.external_id = std::string(std::string_view(sample["id"]));
    claim.prompt = ids(sample["prompt_token_ids"]);
    claim.output = ids(sample["outputs"].at(0)["token_ids"]);
    claim.seed = std::int64_t(sample["seed"]);
    claim.seed_origin = SeedOrigin::requested;
    claim.sampling = log.sampling;
    log.claims.push_back(std::move(claim));
  }
  return log;
}

ScoredProvider score(gpu::ReferenceEngine& engine, const std::string& name, double noise_sigma) {
  const Log log = read_log(name);
  const SamplerProfile* profile = find_profile(log.sampler);
  if (profile == nullptr) qFatal("no such sampler");
  std::vector<gpu::Sequence> sequences;
  std::vector<RowScorer> scorers;
  ScoreOptions options;
  options.noise_sigma = noise_sigma;
  for (const Claim& claim : log.claims) {
    sequences.push_back({claim.prompt, claim.output});
    scorers.emplace_back(claim, *profile, engine.info().vocab, options);
  }
  engine.score(sequences,
               [&](std::size_t sequence, int, int rows, std::span<const float> logits, std::span<const float>) {
                 const std::size_t vocab = logits.size() / static_cast<std::size_t>(rows);
                 for (int r = 0; r < rows; ++r)
                   scorers[sequence].add(logits.subspan(static_cast<std::size_t>(r) * vocab, vocab));
               },
               {});
  ScoredProvider provider;
  provider.name = name;
  provider.sampler = log.sampler;
  provider.sampling = log.sampling;
  for (std::size_t i = 0; i < scorers.size(); ++i)
    provider.requests.push_back({0, log.claims[i].external_id, scorers[i].take()});
  return provider;
}

}  // namespace

class TestDemoDecisions : public QObject {
  Q_OBJECT

 private slots:
  void verdicts_data();
  void verdicts();
};

void TestDemoDecisions::verdicts_data() {
  QTest::addColumn<int>("dtype");
  QTest::newRow("fp32") << static_cast<int>(gpu::Dtype::fp32);
  QTest::newRow("bf16") << static_cast<int>(gpu::Dtype::bf16);
}

void TestDemoDecisions::verdicts() {
  QFETCH(int, dtype);
  gpu::EngineOptions options;
  options.dtype = static_cast<gpu::Dtype>(dtype);
  const auto engine = gpu::load_engine(std::string(DIFR_DEMO_DATA) + "/model", options);
  const std::vector<ScoredProvider> trusted = {score(*engine, "honest-calibration", 0)};
  const Calibration calibration = make_calibration("demo", trusted, "test");
  qInfo("sigma %.4f clip %.4f", calibration.noise_sigma, calibration.clip);

  simdjson::dom::parser parser;
  const simdjson::dom::element summary = parser.load(DIFR_TEST_DATA "/expected/tiny_summary.json");
  const std::map<std::string, std::optional<Outcome>> expected = {
      {"honest", Outcome::pass},       {"honest-t07-topp09-topk50", Outcome::pass},
      {"greedy", Outcome::pass},       {"int4", Outcome::fail},
      {"fp8-kv-cache", Outcome::fail}, {"temp-1.1", Outcome::fail},
      {"wrong-seed", Outcome::fail},   {"neighbour-seed", Outcome::fail},
      {"sampling-bug", Outcome::fail}, {"int8", std::nullopt}};
  for (const auto& [name, outcome] : expected) {
    // bf16 costs the most and decides the least: the honest ones and the two nearest to them.
    const bool far_off = name == "wrong-seed" || name == "neighbour-seed" || name == "temp-1.1" || name == "int4";
    if (options.dtype == gpu::Dtype::bf16 && far_off) continue;
    // Filters are judged with the noise that the calibration has taught us, and must not need it.
    for (const double sigma : {0.0, calibration.noise_sigma}) {
      if (sigma == 0 && name != "honest-t07-topp09-topk50") continue;
      const ScoredProvider provider = score(*engine, name, sigma);
      const ProviderDecision decision = decide(calibration, std::span(&provider, 1)).providers.at(0);
      qInfo("%s sigma %.3f: %s exact %.4f score %.6g threshold %.6g p %.2g llr p %.2g", name.c_str(), sigma,
            to_string(decision.verdict), decision.exact_match, decision.score, decision.threshold.value_or(-1),
            decision.p_value.value_or(-1), decision.llr_p_value.value_or(-1));
      if (outcome) QVERIFY2(decision.verdict == *outcome, (name + ": " + decision.reason).c_str());
      // Another implementation of the model and of the noise; bf16 logits tie, so its band is wider.
      const bool bf16 = options.dtype == gpu::Dtype::bf16;
      const double other = double(summary[name][bf16 ? "bfloat16" : "float32"]["exact_match"]);
      const double band = name == "honest-t07-topp09-topk50" ? 0.004 : bf16 ? 0.003 : 0.001;
      QVERIFY2(std::abs(decision.exact_match - other) <= band, name.c_str());
    }
  }
}

QTEST_APPLESS_MAIN(TestDemoDecisions)
#include "test_demo_decisions.moc"
