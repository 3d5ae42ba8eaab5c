// recompute_case on a case file: everything is stored once, resumes where it stopped, and skips what it cannot score.

#include <QtTest>

#include <cmath>

#include "gpu/recompute/recompute.h"

using namespace difr;
using namespace difr::gpu;

namespace {

const std::filesystem::path kModel = std::filesystem::path(DIFR_TEST_DATA) / "models/llama_gqa_untied";

Claim make_claim(std::int64_t provider, std::int64_t record, int prompt, int output) {
  Claim claim;
  claim.provider_id = provider;
  claim.external_id = "#" + std::to_string(record);
  claim.record = record;
  for (int i = 0; i < prompt; ++i) claim.prompt.push_back(static_cast<TokenId>((7 * record + 3 * i) % 320));
  for (int i = 0; i < output; ++i) claim.output.push_back(static_cast<TokenId>((11 * record + 5 * i) % 320));
  claim.seed = record;
  claim.seed_origin = SeedOrigin::requested;
  return claim;
}

/// A case of 20 requests of one provider, three of which no reference can score.
struct TestCase {
  QTemporaryDir folder;
  CaseFile file = CaseFile::open(folder.filePath("a.difr").toStdString(), OpenMode::create_or_open);
  std::int64_t provider = 0;

  explicit TestCase(const std::string& sampler) {
    SourceRow source;
    source.path = "a.json";
    source.sha256 = std::string(64, 'a');
    source.format = "test";
    const auto source_id = file.add_source(source);
    ProviderConfig config;
    config.name = "p";
    config.sampler = sampler;
    provider = file.add_provider(source_id, ProviderRole::subject, config);
    std::vector<Claim> claims;
    for (int i = 0; i < 20; ++i) claims.push_back(make_claim(provider, i, 5 + i, 10 + i));
    claims[3].output[2] = 320;
    claims[4].prompt.clear();
    claims[5].prompt[0] = -1;
    file.add_claims(claims);
  }
};

std::unique_ptr<ReferenceEngine> engine() {
  EngineOptions options;
  options.threads = 2;
  options.batch_tokens = 64;
  return load_engine(kModel, options);
}

}  // namespace

class TestRecompute : public QObject {
  Q_OBJECT
 private slots:
  void stores_everything_once();
  void resumes_after_stop();
  void unknown_sampler_has_no_noise();
};

void TestRecompute::stores_everything_once() {
  TestCase c("vllm-cpu-splitmix64");
  const auto reference = engine();
  std::vector<RecomputeProgress> seen;
  RecomputeOptions options;
  options.batch_tokens = 100;
  options.top_m = 16;
  const auto result =
      recompute_case(c.file, *reference, {}, options, [&](const RecomputeProgress& p) { seen.push_back(p); }, {});
  QVERIFY(!result.stopped);
  QCOMPARE(result.requests, 17);
  QCOMPARE(result.skipped.size(), 3U);
  QCOMPARE(result.refused_tokens, 0);
  QVERIFY(result.skipped[0].reason.find("320") != std::string::npos);
  QVERIFY(seen.size() > 3);
  QCOMPARE(seen.front().requests_total, 17);
  QCOMPARE(seen.back().requests_done, 17);
  QCOMPARE(seen.back().tokens_done, seen.back().tokens_total);
  std::int64_t checked = 0;
  c.file.for_each_claim(0, [&](Claim&& claim) {
    const auto evidence = c.file.evidence(result.run_id, claim.id);
    if (!evidence) return true;
    const auto scores = c.file.scores(result.run_id, claim.id, "vllm-cpu-splitmix64");
    if (!scores || evidence->size() != claim.output.size() || scores->size() != claim.output.size()) return false;
    for (std::size_t t = 0; t < scores->size(); ++t)
      if (!(scores->margin[t] >= 0) || evidence->top_logits[t * 16] < evidence->claimed_logit[t]) return false;
    ++checked;
    return true;
  });
  QCOMPARE(checked, 17);

  const auto again = recompute_case(c.file, *reference, {}, options, {}, {});
  QCOMPARE(again.run_id, result.run_id);
  QCOMPARE(again.requests, 0);
  QVERIFY(c.file.verify().empty());
}

void TestRecompute::resumes_after_stop() {
  TestCase c("vllm-cpu-splitmix64");
  const auto reference = engine();
  RecomputeOptions options;
  options.batch_tokens = 100;
  std::stop_source source;
  const auto first = recompute_case(
      c.file, *reference, {}, options,
      [&](const RecomputeProgress& p) {
        if (p.requests_done > 4) source.request_stop();
      },
      source.get_token());
  QVERIFY(first.stopped);
  QVERIFY(first.requests > 4 && first.requests < 17);
  const auto rest = recompute_case(c.file, *reference, {}, options, {}, {});
  QCOMPARE(rest.run_id, first.run_id);
  QCOMPARE(first.requests + rest.requests, 17);
  QCOMPARE(c.file.latest_run()->requests_done, 17);
}

void TestRecompute::unknown_sampler_has_no_noise() {
  TestCase c("");
  const auto result = recompute_case(c.file, *engine(), {}, {}, {}, {});
  QCOMPARE(result.requests, 17);
  std::size_t tokens = 0;
  c.file.for_each_claim(0, [&](Claim&& claim) {
    const auto scores = c.file.scores(result.run_id, claim.id);
    if (!scores) return true;
    for (std::size_t t = 0; t < scores->size(); ++t)
      tokens += (scores->flags[t] & TokenFlag::no_noise) != 0 && std::isfinite(scores->log_prob[t]) ? 1 : 0;
    return true;
  });
  QCOMPARE(static_cast<std::int64_t>(tokens), result.tokens);
}

QTEST_APPLESS_MAIN(TestRecompute)
#include "test_recompute.moc"
