// Detection per byte on real states: SmolLM2 in bf16 and its 4-bit form against an fp32 reference.

#include <QtTest>
#include <cmath>

#include "core/fingerprint/golden.h"
#include "core/fingerprint/per_byte.h"
#include "core/util/error.h"

using namespace difr;

namespace {

constexpr int kHidden = 576;

struct States {
  std::vector<std::vector<float>> provider, reference;
};

States states(const std::string& name) {
  const std::string stem = std::string(DIFR_TEST_DATA) + "/hidden-smollm2/" + name;
  const golden::Tensors provider(stem + ".provider.bf16.safetensors"), reference(stem + ".reference.fp32.safetensors");
  States result;
  for (const auto& tensor : provider.header().tensors) {
    result.provider.push_back(provider.floats(tensor.name));
    result.reference.push_back(reference.floats(tensor.name));
  }
  return result;
}

MethodScores activation(const States& s, int k, FingerprintDtype dtype) {
  const auto projection = Projection::make({ProjectionKind::orthogonal, 42, k, kHidden});
  std::vector<std::vector<double>> distances;
  for (std::size_t i = 0; i < s.provider.size(); ++i)
    distances.push_back(fingerprint_distances(pack_and_unpack(projection.apply(s.provider[i]), k, dtype),
                                              projection.apply(s.reference[i]), k));
  return activation_scores(distances, dtype, k);
}

std::vector<ToplocReport> toploc(const States& s, const ToplocSettings& settings) {
  const auto bits = [](const std::vector<float>& values) {
    std::vector<std::uint16_t> words;
    for (const float value : values) words.push_back(float_to_bf16(value));
    return words;
  };
  std::vector<ToplocReport> reports;
  for (std::size_t i = 0; i < s.provider.size(); ++i) {
    const auto claimed = bits(s.provider[i]), own = bits(s.reference[i]);
    const auto proofs = build_toploc(golden::rows(claimed, kHidden), settings);
    std::vector<std::string> texts;
    for (const ToplocProof& proof : proofs.value()) texts.push_back(proof.to_base64());
    reports.push_back(verify_toploc(golden::rows(own, kHidden), texts, settings));
  }
  return reports;
}

PowerOptions options(std::vector<std::size_t> budgets) {
  PowerOptions result;
  result.budgets = std::move(budgets);
  result.pools = 500;
  result.bootstraps = 20;
  return result;
}

}  // namespace

class TestPerByte : public QObject {
  Q_OBJECT

 private slots:
  void fewerBytesThanToplocForInt4() {
    const States honest = states("honest"), int4 = states("int4");
    // One token of Activation-DiFR costs 16 bytes at k = 8 and 4 at k = 2; one TOPLOC chunk of 32 tokens 258.
    const auto eight = detection_per_byte(activation(honest, 8, FingerprintDtype::bf16),
                                          activation(int4, 8, FingerprintDtype::bf16), options({1, 2, 4}));
    QCOMPARE(eight.size(), std::size_t{3});
    QCOMPARE(eight[1].bytes, 32.0);
    QCOMPARE(eight[1].tokens, 2.0);
    QVERIFY2(eight[1].auc > 0.999, std::to_string(eight[1].auc).c_str());
    QVERIFY(eight[1].band.low <= eight[1].auc && eight[1].auc <= eight[1].band.high);

    const ToplocSettings settings{32, 128, true};
    const auto honest_reports = toploc(honest, settings), int4_reports = toploc(int4, settings);
    for (const ToplocReport& report : honest_reports) QVERIFY(report.passed == report.chunks.size());
    const auto proofs =
        detection_per_byte(toploc_scores(honest_reports, settings, ToplocScore::mantissa_mean),
                           toploc_scores(int4_reports, settings, ToplocScore::mantissa_mean), options({1, 2}));
    QCOMPARE(proofs[0].bytes, 258.0);
    QVERIFY(proofs[0].tokens > 15 && proofs[0].tokens <= 32);
    QVERIFY2(proofs[0].auc > 0.95, std::to_string(proofs[0].auc).c_str());
    QVERIFY(bytes_for_auc(eight, 0.999) <= 0.75 * bytes_for_auc(proofs, 0.999));
  }

  void narrowFingerprintsKeepTheSignal() {
    const States honest = states("honest"), int4 = states("int4");
    for (const auto dtype :
         {FingerprintDtype::fp32, FingerprintDtype::bf16, FingerprintDtype::fp16, FingerprintDtype::int8}) {
      const auto points = detection_per_byte(activation(honest, 8, dtype), activation(int4, 8, dtype), options({1, 4}));
      QVERIFY2(points[1].auc > 0.999, to_string(dtype));
    }
  }

  void unlikeMethodsAreRefused() {
    const States honest = states("honest");
    QVERIFY_THROWS_EXCEPTION(Error,
                             (void)detection_per_byte(activation(honest, 8, FingerprintDtype::bf16),
                                                      activation(honest, 4, FingerprintDtype::bf16), options({1})));
  }

  void bytesForAnAucAreInterpolated() {
    const std::vector<DetectionPoint> points{{1, 10, 0.6, {}}, {10, 100, 0.8, {}}, {100, 1000, 0.9, {}}};
    QVERIFY(std::abs(bytes_for_auc(points, 0.7) - std::sqrt(1000.0)) <= 1e-9);
    QCOMPARE(bytes_for_auc(points, 0.5), 10.0);
    QCOMPARE(bytes_for_auc(points, 0.8), 100.0);
    QVERIFY(std::isinf(bytes_for_auc(points, 0.95)));
    QVERIFY(std::isinf(bytes_for_auc({}, 0.5)));
  }
};

QTEST_APPLESS_MAIN(TestPerByte)
#include "test_per_byte.moc"
