// TOPLOC against proofs and results of the public package 0.1.6 (tests/data/acts/toploc.json).

#include <QtTest>
#include <cstdlib>
#include <random>

#include "core/fingerprint/golden.h"
#include "core/fingerprint/toploc_verify.h"
#include "core/util/base64.h"
#include "core/util/error.h"

using namespace difr;
using nlohmann::json;

namespace {

const std::string kData = DIFR_TEST_DATA;

double hex(const json& value) {
  return value.is_number() ? value.get<double>() : std::strtod(value.get<std::string>().c_str(), nullptr);
}

ToplocNumbers numbers(const json& triple) {
  return {triple[0].get<int>(), hex(triple[1]), hex(triple[2])};
}

std::string show(const ToplocNumbers& n) {
  return "[" + std::to_string(n.exponent_mismatches) + ", " + std::to_string(n.mantissa_mean) + ", " +
         std::to_string(n.mantissa_median) + "]";
}

/// Exact but for the mean, which Python sums as a fraction: one rounding apart at most.
bool same(const ToplocNumbers& a, const ToplocNumbers& b) {
  return a.exponent_mismatches == b.exponent_mismatches && a.mantissa_median == b.mantissa_median &&
         std::abs(a.mantissa_mean - b.mantissa_mean) <= 1e-12 * b.mantissa_mean;
}

/// Activations of a golden set: the prefill as one row, then decode rows.
struct Activations {
  std::vector<std::uint16_t> prefill, decode;
  std::vector<std::span<const std::uint16_t>> rows;
};

Activations activations(const golden::Tensors& tensors, const std::string& set, const std::string& variant) {
  const std::string dim = set.substr(0, set.find('.'));
  const bool skip = set.find("decode_only") != std::string::npos;
  Activations result;
  const std::string infix = variant == "honest" ? "" : "." + variant;
  if (!skip) {
    result.prefill = tensors.bits(dim + infix + ".prefill");
    result.rows.emplace_back(result.prefill);
  }
  const bool own = skip && variant.starts_with("noise");
  const std::string name = own ? dim + ".decodeonly." + variant : dim + infix + ".decode";
  result.decode = tensors.bits(name);
  for (const auto row : golden::rows(result.decode, static_cast<std::size_t>(tensors.shape(name)[1])))
    result.rows.push_back(row);
  return result;
}

ToplocSettings settings_of(const json& set) {
  return {set["dbs"].get<int>(), set["topk"].get<int>(), set["skip_prefill"].get<bool>()};
}

std::vector<std::string> built(ToplocActivations rows, const ToplocSettings& settings) {
  const auto proofs = build_toploc(rows, settings);
  std::vector<std::string> texts;
  for (const ToplocProof& proof : proofs.value()) texts.push_back(proof.to_base64());
  return texts;
}

/// A proof and what it was made from, for damage.
struct Sample {
  std::vector<std::uint16_t> flat;
  std::vector<std::span<const std::uint16_t>> rows;
  std::vector<std::string> proofs;
  ToplocSettings settings{32, 128, true};
};

Sample sample() {
  const golden::Tensors tensors(kData + "/acts/toploc_inputs.safetensors");
  Sample result;
  result.flat = tensors.bits("D576.decode");
  result.rows = golden::rows(result.flat, 576);
  result.proofs = built(result.rows, result.settings);
  return result;
}

}  // namespace

class TestToploc : public QObject {
  Q_OBJECT

 private slots:
  void goldenSetsBuildAndVerify() {
    const json goldens = golden::json_of(kData + "/acts/toploc.json");
    const golden::Tensors tensors(kData + "/acts/toploc_inputs.safetensors");
    int built = 0, verified = 0;
    for (const auto& [name, set] : goldens["sets"].items()) {
      const ToplocSettings settings = settings_of(set);
      std::vector<std::string> proofs = set["proofs_b64"];
      const auto honest = activations(tensors, name, "honest");
      const auto own = build_toploc(honest.rows, settings);
      if (set.value("null", false)) {
        QVERIFY2(!own && own.error().find("fewer than topk") != std::string::npos, name.c_str());
        const auto report = verify_toploc(honest.rows, proofs, settings);
        QCOMPARE(report.passed, std::size_t{0});
        QCOMPARE(report.chunks.front().status, ToplocStatus::null);
        continue;
      }
      QVERIFY2(own.has_value(), name.c_str());
      QCOMPARE(own->size(), proofs.size());
      for (std::size_t i = 0; i < proofs.size(); ++i, ++built) {
        QCOMPARE(QString::fromStdString((*own)[i].to_base64()), QString::fromStdString(proofs[i]));
        QCOMPARE(decode_toploc_base64(proofs[i]).value(), (*own)[i]);
      }
      for (const std::string variant : {"honest", "noise1e-3", "noise1e-2", "wrong"}) {
        const auto other = activations(tensors, name, variant);
        const json& expected = set.at("verify_py." + variant);
        const auto report = verify_toploc(other.rows, proofs, settings);
        QCOMPARE(report.chunks.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i, ++verified)
          QVERIFY2(same(report.chunks[i].numbers, numbers(expected[i])),
                   (name + " " + variant + " chunk " + std::to_string(i) + ": " + show(report.chunks[i].numbers) +
                    " instead of " + show(numbers(expected[i])))
                       .c_str());
      }
    }
    QVERIFY(built > 200);
    QVERIFY(verified > 800);
  }

  void interpolationKnownAnswers() {
    const json kat = golden::json_of(kData + "/acts/toploc.json")["kat"];
    for (const json& known : kat["from_points"]) {
      const std::vector<std::int64_t> x = known["x"];
      const std::vector<std::uint16_t> y = known["y"];
      const auto proof = interpolate_toploc(x, y);
      QVERIFY(proof.has_value());
      QCOMPARE(proof->modulus, known["modulus"].get<int>());
      QCOMPARE(proof->coefficients, known["coeffs"].get<std::vector<int>>());
      QCOMPARE(proof->to_base64(), known["b64"].get<std::string>());
      for (std::size_t i = 0; i < x.size(); ++i) {
        QCOMPARE(proof->evaluate(x[i]), known["eval_at_x"][i].get<int>());
        QCOMPARE(proof->evaluate(x[i] % proof->modulus), known["eval_at_x_mod"][i].get<int>());
      }
    }
    for (const auto& [indices, modulus] : kat["find_injective_modulus"].items())
      QCOMPARE(injective_modulus(json::parse(indices).get<std::vector<std::int64_t>>()), modulus.get<int>());
    QVERIFY(!injective_modulus(std::vector<std::int64_t>{7, 7}));
  }

  void tiesFollowTorchOnCpu() {
    const json edge = golden::json_of(kData + "/acts/toploc.json")["edge"];
    const golden::Tensors tensors(kData + "/acts/toploc_inputs.safetensors");
    int compared = 0;
    for (const auto& [name, expected] : edge.items()) {
      const std::string tensor = "edge." + name;
      if (!tensors.has(tensor) || !expected.contains("topk_indices_torch2.15")) continue;
      const json& indices = expected["topk_indices_torch2.15"];
      if (indices.is_null() || tensors.header().find(tensor)->dtype != "BF16") continue;
      const auto values = tensors.bits(tensor);
      const auto own = largest_magnitudes(values, expected["k"].get<int>());
      QCOMPARE(own, indices.get<std::vector<std::int64_t>>());
      std::vector<std::uint16_t> picked;
      for (const auto i : own) picked.push_back(values[static_cast<std::size_t>(i)]);
      QCOMPARE(interpolate_toploc(own, picked)->to_base64(), expected["proof_b64"].get<std::string>());
      ++compared;
    }
    QVERIFY(compared >= 6);
  }

  void collidingIndicesDoNotFailAnHonestProvider() {
    // The public Python path evaluates at the raw index and finds errors in its own proof; both numbers are reported.
    const json edge = golden::json_of(kData + "/acts/toploc.json")["edge"];
    for (const std::string name : {"modulus_collision", "modulus_collision2"}) {
      const json& known = edge[name];
      std::vector<std::uint16_t> values(known["N"].get<std::size_t>(), 0);
      for (std::size_t i = 0; i < known["idx"].size(); ++i)
        values[known["idx"][i].get<std::size_t>()] = float_to_bf16(known["val"][i].get<float>());
      const std::vector<std::span<const std::uint16_t>> rows{values};
      const ToplocSettings settings{32, 4, true};
      const auto proofs = build_toploc(rows, settings).value();
      QCOMPARE(proofs.at(0).to_base64(), known["proof_b64"].get<std::string>());
      QCOMPARE(proofs[0].modulus, known["modulus"].get<int>());
      const std::vector<std::string> texts{proofs[0].to_base64()};
      const auto report = verify_toploc(rows, texts, settings);
      QVERIFY(same(report.chunks[0].python, numbers(known["verify_py_self"][0])));
      QVERIFY(same(report.chunks[0].numbers, numbers(known["verify_cpp_self"][0])));
      QCOMPARE(report.chunks[0].status, ToplocStatus::pass);
    }
  }

  void whatProvesNothingIsRefused() {
    Sample s = sample();
    QCOMPARE(s.proofs.size(), std::size_t{1});
    const std::vector<std::uint16_t> zeros(s.flat.size(), 0);
    const auto zero_rows = golden::rows(zeros, 576);
    const std::vector<std::string> null{ToplocProof::null(128).to_base64()};
    QCOMPARE(verify_toploc(zero_rows, null, s.settings).chunks[0].status, ToplocStatus::null);
    QCOMPARE(verify_toploc(s.rows, null, s.settings).chunks[0].status, ToplocStatus::null);
    const std::vector<std::string> zero{ToplocProof{65497, std::vector<int>(128, 0)}.to_base64()};
    QCOMPARE(verify_toploc(zero_rows, zero, s.settings).chunks[0].status, ToplocStatus::null);
    QCOMPARE(verify_toploc(zero_rows, s.proofs, s.settings).chunks[0].status, ToplocStatus::unusable);
    std::vector<std::uint16_t> nan = s.flat;
    nan[1000] = 0x7FC0;
    QCOMPARE(verify_toploc(golden::rows(nan, 576), s.proofs, s.settings).chunks[0].status, ToplocStatus::unusable);
    QVERIFY(!build_toploc(golden::rows(nan, 576), s.settings));
  }

  void missingAndSurplusProofsAreNamed() {
    Sample s = sample();
    s.settings.decode_batching_size = 8;  // 20 rows: 3 chunks
    std::vector<std::string> proofs = built(s.rows, s.settings);
    QCOMPARE(proofs.size(), std::size_t{3});
    const auto report = verify_toploc(s.rows, std::span(proofs).first(1), s.settings);
    QCOMPARE(report.passed, std::size_t{1});
    QCOMPARE(report.not_proven, std::size_t{2});
    QCOMPARE(report.chunks[2].status, ToplocStatus::missing);
    QCOMPARE(report.chunks[2].reason, std::string("no proof for output rows 16 to 19"));
    proofs.push_back(proofs[0]);
    const auto more = verify_toploc(s.rows, proofs, s.settings);
    QCOMPARE(more.passed, std::size_t{3});
    QCOMPARE(more.chunks[3].status, ToplocStatus::surplus);
    QCOMPARE(more.proof_bytes, 4 * toploc_bytes(128));
  }

  void malformedTextIsRefused() {
    const json malformed = golden::json_of(kData + "/acts/toploc.json")["edge"]["malformed"];
    const std::string good = malformed["good"]["b64"];
    QVERIFY(decode_toploc_base64(good));
    std::string bad_character = good, no_padding = good, newline = good;
    bad_character[3] = '!';
    no_padding.resize(no_padding.find('='));
    newline.insert(4, "\n");
    for (const std::string& text : {bad_character, no_padding, newline, std::string(), std::string("/w=="),
                                    std::string("/9k="), std::string("////")})
      QVERIFY2(!decode_toploc_base64(text), text.c_str());
    // Odd length, and coefficients outside the field.
    QVERIFY(!decode_toploc(std::vector<std::uint8_t>{0xFF, 0xD9, 1, 2, 3}));
    QVERIFY(!decode_toploc(std::vector<std::uint8_t>{0xFF, 0xD9, 0xFF, 0xFF}));
    QVERIFY(!decode_toploc(std::vector<std::uint8_t>{0x00, 0x01, 0, 1}));
    QVERIFY(!decode_toploc(std::vector<std::uint8_t>{0x00, 0x00, 0, 1}));
    QVERIFY_THROWS_EXCEPTION(Error, (void)toploc_chunks(3, {0, 128, true}));
    QVERIFY_THROWS_EXCEPTION(Error, (void)toploc_chunks(3, {32, 0, true}));
  }

  void damagedProofsNeverPassOrCrash() {
    const Sample s = sample();
    const auto good = base64_decode(s.proofs[0]).value();
    std::mt19937 random(20261201);
    int passed = 0, failed = 0, refused = 0;
    for (int round = 0; round < 3000; ++round) {
      auto bytes = good;
      switch (round % 3) {
        case 0:
          bytes[random() % bytes.size()] ^= static_cast<std::uint8_t>(1u << (random() % 8));
          break;
        case 1:
          bytes.resize(random() % bytes.size());
          break;
        default:
          for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
          if (round % 2 == 0) bytes[0] = good[0], bytes[1] = good[1];
      }
      std::string text = base64_encode(bytes);
      if (round % 5 == 0 && !text.empty()) text[random() % text.size()] = static_cast<char>(random() % 256);
      const std::vector<std::string> proofs{text};
      const auto report = verify_toploc(s.rows, proofs, s.settings);
      QCOMPARE(report.chunks.size(), std::size_t{1});
      passed += static_cast<int>(report.passed);
      failed += static_cast<int>(report.failed);
      refused += static_cast<int>(report.not_proven);
    }
    // One flipped bit of one coefficient changes the polynomial nearly everywhere; only a flip of the modulus to
    // another valid one, which matters to no index below it, may pass.
    QVERIFY2(passed <= 20, std::to_string(passed).c_str());
    QVERIFY(failed > 500);
    QVERIFY(refused > 1000);
    QCOMPARE(passed + failed + refused, 3000);
  }

  void foreignProofsFail() {
    const Sample s = sample();
    const golden::Tensors tensors(kData + "/acts/toploc_inputs.safetensors");
    const auto wrong = tensors.bits("D576.wrong.decode");
    const auto report = verify_toploc(golden::rows(wrong, 576), s.proofs, s.settings);
    QCOMPARE(report.chunks[0].status, ToplocStatus::fail);
    QVERIFY(report.chunks[0].reason.find("exponent mismatches") != std::string::npos);
  }
};

QTEST_APPLESS_MAIN(TestToploc)
#include "test_toploc.moc"
