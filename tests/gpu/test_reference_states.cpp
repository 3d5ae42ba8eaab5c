// Fingerprints of real providers against our own states: distances and proof numbers as Hugging Face and the public
// TOPLOC package gave them.

#include <QtTest>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/fingerprint/fingerprint_file.h"
#include "core/replay/generation_log.h"
#include "gpu/fingerprint/reference_states.h"

using namespace difr;
using namespace difr::gpu;
using nlohmann::json;

namespace {

const std::filesystem::path kDemo = DIFR_DEMO_DATA;
const std::filesystem::path kPrints = std::filesystem::path(DIFR_TEST_DATA) / "fingerprints-demo";

json read_json(const std::filesystem::path& path) {
  std::ifstream in(path);
  return json::parse(in);
}

std::vector<Claim> claims_of(const std::string& name, std::size_t count) {
  std::vector<Claim> claims;
  for (const auto& sample : read_generation_log(kDemo / "logs" / (name + ".json")).samples) {
    if (claims.size() == count) break;
    Claim claim;
    claim.external_id = sample.id;
    claim.prompt = sample.prompt;
    claim.output = sample.output;
    claims.push_back(std::move(claim));
  }
  return claims;
}

/// The golden's mean is the mean of the requests' means, so that long answers weigh no more than short ones.
double mean_of(const std::vector<FingerprintCheck>& checks) {
  double sum = 0;
  for (const auto& check : checks) {
    double of_request = 0;
    for (const double x : check.distances) of_request += x;
    sum += of_request / static_cast<double>(check.distances.size());
  }
  return sum / static_cast<double>(checks.size());
}

}  // namespace

class TestReferenceStates : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { engine_ = load_engine(kDemo / "model", {.threads = 2}); }
  void distances_agree_with_hugging_face_data();
  void distances_agree_with_hugging_face();
  void proofs_give_the_public_numbers_data() { distances_agree_with_hugging_face_data(); }
  void proofs_give_the_public_numbers();
  void decode_and_prefill_are_close();
  void what_is_missing_is_named();

 private:
  std::unique_ptr<ReferenceEngine> engine_;
};

void TestReferenceStates::distances_agree_with_hugging_face_data() {
  QTest::addColumn<QString>("provider");
  for (const char* name : {"honest", "int4", "int8"}) QTest::newRow(name) << name;
}

/// The golden's reference is Hugging Face in fp32, ours is fp32 too: states agree to 1e-4, distances of 0.2 and more to
/// well below 1 %.
void TestReferenceStates::distances_agree_with_hugging_face() {
  QFETCH(QString, provider);
  const auto name = provider.toStdString();
  const double golden = read_json(kPrints / "summary.json")[name]["mean_l2_orthogonal"];
  const auto file = read_fingerprints(kPrints / (name + ".safetensors"));
  for (const auto& claim : file.claims) {
    if (claim.projection != ProjectionKind::orthogonal) continue;
    const auto projection = read_projection(kPrints / "projections.safetensors", "orthogonal");
    const auto checks = check_fingerprints(*engine_, claims_of(name, claim.requests.size()), claim, projection, {});
    QCOMPARE(checks.size(), claim.requests.size());
    for (const auto& check : checks) QVERIFY2(check.issue.empty(), check.issue.c_str());
    const double mean = mean_of(checks);
    QVERIFY2(!(!(std::abs(mean - golden) <= 0.01 * golden)), qPrintable(QString("%1 for %2").arg(mean).arg(golden)));
    return;
  }
  QFAIL("no orthogonal fingerprints");
}

/// Proof numbers are of bf16 bits: where the two fp32 references round a value to different sides, a mantissa differs
/// by one unit. Mismatch counts may differ by one in a chunk, means by 0.1 units.
void TestReferenceStates::proofs_give_the_public_numbers() {
  QFETCH(QString, provider);
  const auto name = provider.toStdString();
  const auto path = kPrints / (name + ".toploc.json");
  const auto golden = read_json(path)["verified_against_fp32_reference_cast_bf16"];
  const auto proofs = read_toploc(path);
  const auto checks = check_proofs(*engine_, claims_of(name, proofs.requests.size()), proofs, {}, {});
  QCOMPARE(checks.size(), proofs.requests.size());
  int chunks = 0, differing = 0;
  for (const auto& check : checks) {
    QVERIFY2(check.issue.empty(), check.issue.c_str());
    const auto& expected = golden[check.name];
    QCOMPARE(check.report.chunks.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i, ++chunks) {
      const auto& got = check.report.chunks[i].numbers;
      const int mismatches = expected[i][0];
      const double mean = expected[i][1];
      QVERIFY2(std::abs(got.exponent_mismatches - mismatches) <= 1, check.name.c_str());
      const bool same = got.exponent_mismatches == mismatches && std::abs(got.mantissa_mean - mean) <= 0.1;
      differing += same ? 0 : 1;
    }
  }
  QVERIFY(chunks > 60);
  QVERIFY2(differing * 20 <= chunks, qPrintable(QString("%1 of %2").arg(differing).arg(chunks)));
}

/// In fp32 the two modes differ by the order of sums only; what is sent in bf16 rounds to the same or its neighbour.
void TestReferenceStates::decode_and_prefill_are_close() {
  const auto claims = claims_of("honest", 6);
  FingerprintClaim made;
  made.k = 8;
  made.dtype = FingerprintDtype::fp32;
  made.mode = ProviderMode::decode;
  made.seed = 7;
  made.layer = "final_norm";
  const auto projection = Projection::make({.seed = 7, .k = 8, .d = engine_->info().hidden});
  QVERIFY(fill_fingerprints(*engine_, claims, projection, made, {}));
  QCOMPARE(made.requests.size(), claims.size());
  const auto checks = check_fingerprints(*engine_, claims, made, projection, {});
  double largest = 0;
  for (const auto& check : checks)
    for (const double x : check.distances)
      if (!(x <= largest)) largest = x;
  QVERIFY2(!(!(largest <= 1e-3)), qPrintable(QString::number(largest)));
  const auto proofs =
      build_proofs(*engine_, claims, {.decode_batching_size = 16, .topk = 32}, ProviderMode::decode, {});
  QVERIFY(proofs.issues.empty());
  for (const auto& check : check_proofs(*engine_, claims, parse_toploc(write_toploc(proofs), "memory"), {}, {})) {
    QVERIFY(check.report.failed == 0 && check.report.not_proven == 0 && check.report.passed > 0);
    for (const auto& chunk : check.report.chunks) QVERIFY(chunk.numbers.mantissa_mean < 0.5);
  }
}

void TestReferenceStates::what_is_missing_is_named() {
  auto claims = claims_of("honest", 3);
  FingerprintClaim made;
  made.k = 4;
  made.mode = ProviderMode::prefill;
  const auto projection = Projection::make({.k = 4, .d = engine_->info().hidden});
  QVERIFY(fill_fingerprints(*engine_, claims, projection, made, {}));
  made.requests[0].external_id = "nobody";
  made.requests[1].tokens -= 1;
  made.requests[1].values.resize(made.requests[1].values.size() - 4);
  const auto checks = check_fingerprints(*engine_, claims, made, projection, {});
  int issues = 0;
  for (const auto& check : checks) issues += check.issue.empty() ? 0 : 1;
  QCOMPARE(checks.size(), std::size_t(4));
  QCOMPARE(issues, 3);
}

QTEST_GUILESS_MAIN(TestReferenceStates)
#include "test_reference_states.moc"
