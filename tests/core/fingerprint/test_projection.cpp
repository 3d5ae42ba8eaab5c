// Projections, distances and packing against torch, the public DiFR code and provider files made with neither of ours.

#include <QtTest>
#include <cmath>

#include "core/fingerprint/fingerprint.h"
#include "core/fingerprint/fingerprint_file.h"
#include "core/fingerprint/golden.h"
#include "core/fingerprint/torch_randn.h"
#include "core/util/error.h"

using namespace difr;

namespace {

const std::string kData = DIFR_TEST_DATA;

template <typename A, typename B>
double largest_difference(const A& a, const B& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

std::vector<float> all_rows(const Projection& projection) {
  std::vector<float> values;
  for (int i = 0; i < projection.k(); ++i)
    values.insert(values.end(), projection.row(i).begin(), projection.row(i).end());
  return values;
}

std::vector<float> transposed(const std::vector<float>& matrix, std::size_t rows, std::size_t columns) {
  std::vector<float> result(matrix.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = matrix[i * columns + j];
  return result;
}

}  // namespace

class TestProjection : public QObject {
  Q_OBJECT

 private slots:
  void randnIsTorchs() {
    // Torch approximates log, sin and cos to about 2 ulp; |randn| < 5.5 here, so 2e-6 is 4 ulp at most.
    const golden::Tensors tensors(kData + "/noise/torch_cpu_randn.safetensors");
    int compared = 0;
    for (const auto& tensor : tensors.header().tensors) {
      if (!tensor.name.starts_with("fp32.s")) continue;
      const std::uint64_t seed = std::stoull(tensor.name.substr(6));
      QVERIFY2(largest_difference(torch_randn_fp32(seed, tensor.elements), tensors.floats(tensor.name)) <= 2e-6,
               tensor.name.c_str());
      ++compared;
    }
    QVERIFY(compared >= 20);
    const double first[] = {0x1.32bee22ccb503p-2, 0x1.f063c46668b78p-3, 0x1.22011e840abbdp-2, -0x1.dd10ce0b8c5a4p-3};
    auto own = torch_randn_fp64(42, 128);
    own.resize(4);
    QVERIFY(largest_difference(own, std::span(first)) <= 1e-14);
  }

  void gaussianIsThePublicCodes() {
    const golden::Tensors tensors(kData + "/acts/activation_difr.safetensors");
    for (const int d : {64, 576})
      for (const int k : {2, 8, 32}) {
        const auto name = "D" + std::to_string(d) + ".k" + std::to_string(k);
        const auto projection = Projection::make({ProjectionKind::gaussian, 42, k, d});
        const auto peer =
            transposed(tensors.floats("peer.P.fp32." + name), static_cast<std::size_t>(d), static_cast<std::size_t>(k));
        QVERIFY(largest_difference(all_rows(projection), peer) <= 1e-6);
        const auto reference = tensors.floats("acts.D" + std::to_string(d) + ".ref_fp32");
        const auto own = projection.apply(reference);
        // fp32 sums of 576 products of size up to 20 against fp64 ones.
        QVERIFY(largest_difference(own, tensors.floats("peer.proj.fp32." + name + ".ref_fp32")) <= 5e-4);
        for (const std::string variant : {"bf16_model", "fp32_plus_1e-2", "wrong_model"}) {
          const auto claimed = projection.apply(tensors.floats("acts.D" + std::to_string(d) + "." + variant));
          const auto distances = fingerprint_distances(claimed, own, k);
          QVERIFY(largest_difference(distances, tensors.floats("peer.dist.fp32." + name + "." + variant)) <= 5e-4);
        }
      }
  }

  void orthogonalDistancesAgree() {
    // The goldens are in fp64 and unscaled: P P^T = I.
    const golden::Tensors tensors(kData + "/acts/activation_difr.safetensors");
    for (const int d : {64, 576})
      for (const int k : {2, 8, 32}) {
        const auto projection = Projection::make({ProjectionKind::orthogonal, 42, k, d});
        const double scale = std::sqrt(static_cast<double>(d) / k);
        const auto reference = projection.apply(tensors.floats("acts.D" + std::to_string(d) + ".ref_fp32"));
        for (const std::string variant : {"bf16_model", "fp32_plus_1e-2", "wrong_model"}) {
          const auto claimed = projection.apply(tensors.floats("acts.D" + std::to_string(d) + "." + variant));
          auto distances = fingerprint_distances(claimed, reference, k);
          for (double& distance : distances) distance /= scale;
          const auto expected =
              tensors.raw<double>("orth.dist64.D" + std::to_string(d) + ".k" + std::to_string(k) + "." + variant);
          // Our matrix and fingerprints are fp32: 24 bits of values up to about 100.
          QVERIFY(largest_difference(distances, expected) <= 2e-5);
        }
      }
  }

  void providerMatricesAreReproduced() {
    const std::string file = kData + "/fingerprints-demo/projections.safetensors";
    const auto gaussian = read_projection(file, "gaussian");
    QCOMPARE(gaussian.k(), 8);
    QCOMPARE(gaussian.d(), 192);
    QVERIFY(largest_difference(all_rows(Projection::make({ProjectionKind::gaussian, 42, 8, 192, DrawOrder::k_by_d})),
                               all_rows(gaussian)) <= 1e-6);
    // Rows of norm √24; one fp32 rounding.
    QVERIFY(largest_difference(all_rows(Projection::make(
                                   {ProjectionKind::orthogonal, 1234, 8, 192, DrawOrder::d_by_k, RowSigns::lapack})),
                               all_rows(read_projection(file, "orthogonal"))) <= 5e-7);
    QVERIFY_THROWS_EXCEPTION(Error, (void)read_projection(file, "absent"));
  }

  void orthogonalRowsAreOrthonormal() {
    const auto projection = Projection::make({ProjectionKind::orthogonal, 7, 16, 48});
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j <= i; ++j) {
        double product = 0;
        for (std::size_t c = 0; c < 48; ++c)
          product += static_cast<double>(projection.row(i)[c]) * projection.row(j)[c];
        QVERIFY(std::abs(product - (i == j ? 3.0 : 0.0)) <= 1e-5);  // d/k = 3
      }
    QVERIFY_THROWS_EXCEPTION(Error, (void)Projection::make({ProjectionKind::orthogonal, 7, 49, 48}));
    QVERIFY_THROWS_EXCEPTION(Error, (void)Projection::make({ProjectionKind::gaussian, 7, 0, 48}));
    QVERIFY_THROWS_EXCEPTION(Error, (void)fingerprint_distances(std::vector<float>(8), std::vector<float>(16), 8));
  }

  void packingKeepsWhatTheFormatHolds() {
    std::vector<float> values;
    for (int i = 0; i < 4000; ++i)
      values.push_back(static_cast<float>(std::sin(i * 1.7) * std::exp(std::sin(i * 0.013) * 6)));
    const struct {
      FingerprintDtype dtype;
      double relative;
    } cases[] = {{FingerprintDtype::fp32, 0},
                 {FingerprintDtype::bf16, 0x1p-8},
                 {FingerprintDtype::fp16, 0x1p-11},
                 {FingerprintDtype::int8, 0.51 / 127}};
    for (const auto& [dtype, relative] : cases) {
      const auto sent = pack_and_unpack(values, 8, dtype);
      for (std::size_t token = 0; token < values.size(); token += 8) {
        float largest = 0;
        for (std::size_t i = token; i < token + 8; ++i) largest = std::max(largest, std::abs(values[i]));
        for (std::size_t i = token; i < token + 8; ++i) {
          // int8 errs by half a step of the token's scale, floats by half a unit of the value itself.
          const double yard = dtype == FingerprintDtype::int8 ? largest : std::abs(values[i]);
          QVERIFY2(std::abs(sent[i] - values[i]) <= relative * yard + 0x1p-25, to_string(dtype));
        }
      }
    }
    QCOMPARE(fingerprint_bytes_per_token(FingerprintDtype::int8, 8), std::size_t{10});
    QCOMPARE(fingerprint_bytes_per_token(FingerprintDtype::bf16, 8), std::size_t{16});
    // What is not finite stays recognisable.
    const auto bad = pack_and_unpack(std::vector<float>{1, NAN, 2, 3}, 4, FingerprintDtype::int8);
    QVERIFY(std::isnan(bad[0]));
  }

  void halfPrecisionIsExact() {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      const float value = fp16_to_float(half);
      if (!std::isnan(value)) QCOMPARE(float_to_fp16(value), half);
      const float wide = bf16_to_float(half);
      if (!std::isnan(wide)) QCOMPARE(float_to_bf16(wide), half);
      if (std::isnan(value) || std::isinf(value) || (bits & 0x7FFF) == 0x7BFF || bits >= 0x8000) continue;
      // Half-way between neighbours goes to the even one.
      const float middle = (value + fp16_to_float(static_cast<std::uint16_t>(half + 1))) / 2;
      QCOMPARE(float_to_fp16(middle), static_cast<std::uint16_t>(half + (half & 1)));
    }
    QCOMPARE(float_to_fp16(65519.0F), std::uint16_t{0x7BFF});
    QCOMPARE(float_to_fp16(65520.0F), std::uint16_t{0x7C00});
    QVERIFY(std::isnan(fp16_to_float(float_to_fp16(NAN))));
    QVERIFY(std::isnan(bf16_to_float(float_to_bf16(NAN))));
  }

  void int4IsSeparatedFromHonestWithTwoTokens() {
    // SmolLM2's own final-norm states, the provider's in bf16, the reference's in fp32 (Hugging Face).
    const auto projection = Projection::make({ProjectionKind::orthogonal, 42, 8, 576});
    const auto pairs = [&](const std::string& provider) {
      const golden::Tensors claimed(kData + "/hidden-smollm2/" + provider + ".provider.bf16.safetensors");
      const golden::Tensors reference(kData + "/hidden-smollm2/" + provider + ".reference.fp32.safetensors");
      std::vector<double> means;
      for (const auto& tensor : claimed.header().tensors) {
        const auto sent = pack_and_unpack(projection.apply(claimed.floats(tensor.name)), 8, FingerprintDtype::bf16);
        const auto distances = fingerprint_distances(sent, projection.apply(reference.floats(tensor.name)), 8);
        for (std::size_t t = 0; t + 1 < distances.size(); t += 2)
          means.push_back((distances[t] + distances[t + 1]) / 2);
      }
      return means;
    };
    const auto honest = pairs("honest"), int4 = pairs("int4");
    QVERIFY(honest.size() > 100 && int4.size() > 80);
    double wins = 0;
    for (const double low : honest)
      for (const double high : int4) wins += high > low ? 1 : high == low ? 0.5 : 0;
    QVERIFY(wins / (static_cast<double>(honest.size()) * static_cast<double>(int4.size())) > 0.999);
  }
};

QTEST_APPLESS_MAIN(TestProjection)
#include "test_projection.moc"
