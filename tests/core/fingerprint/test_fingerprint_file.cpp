// Fingerprint and TOPLOC files: provider files made by Hugging Face runs, round trips, and damage.

#include <QTemporaryDir>
#include <QtTest>
#include <cmath>
#include <fstream>
#include <random>

#include "core/fingerprint/fingerprint_file.h"
#include "core/fingerprint/golden.h"
#include "core/fingerprint/toploc_file.h"
#include "core/util/base64.h"
#include "core/util/error.h"

using namespace difr;

namespace {

const std::string kDemo = std::string(DIFR_TEST_DATA) + "/fingerprints-demo/";

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

FingerprintClaim small_claim(FingerprintDtype dtype) {
  FingerprintClaim claim;
  claim.seed = 7;
  claim.k = 4;
  claim.dtype = dtype;
  claim.mode = ProviderMode::decode;
  claim.layer = "final_norm";
  claim.log = "honest.json";
  std::mt19937 random(3);
  for (const auto& [id, tokens] : {std::pair<std::string, std::size_t>{"a", 3}, {"b.c", 1}, {"empty", 0}}) {
    std::vector<float> values;
    for (std::size_t i = 0; i < tokens * 4; ++i) values.push_back(static_cast<float>(random()) * 0x1p-30F - 2);
    claim.requests.push_back({id, tokens, pack_and_unpack(values, 4, dtype)});
  }
  return claim;
}

bool equal(const FingerprintClaim& a, const FingerprintClaim& b) {
  bool same = a.projection == b.projection && a.seed == b.seed && a.order == b.order && a.signs == b.signs &&
              a.k == b.k && a.dtype == b.dtype && a.mode == b.mode && a.layer == b.layer && a.log == b.log &&
              a.requests.size() == b.requests.size();
  for (std::size_t i = 0; same && i < a.requests.size(); ++i)
    same = a.requests[i].external_id == b.requests[i].external_id && a.requests[i].tokens == b.requests[i].tokens &&
           a.requests[i].values == b.requests[i].values;
  return same;
}

}  // namespace

class TestFingerprintFile : public QObject {
  Q_OBJECT

 private slots:
  void providerFilesAreRead() {
    for (const std::string name : {"honest", "int4", "int8", "fp8"}) {
      const auto file = read_fingerprints(kDemo + name + ".safetensors");
      QCOMPARE(file.claims.size(), std::size_t{2});
      QCOMPARE(file.issues.size(), std::size_t{0});
      for (const FingerprintClaim& claim : file.claims) {
        QCOMPARE(claim.requests.size(), std::size_t{24});
        QCOMPARE(claim.k, 8);
        QCOMPARE(claim.dtype, FingerprintDtype::bf16);
        QCOMPARE(claim.mode, ProviderMode::prefill);
        QCOMPARE(claim.layer, std::string("final_norm"));
        QCOMPARE(claim.log, name + ".json");
        QVERIFY(!claim.seed);
        QCOMPARE(claim.bytes(), claim.tokens() * 16);
      }
      QCOMPARE(file.claims[0].projection, ProjectionKind::gaussian);
      QCOMPARE(file.claims[1].requests[7].external_id, std::string("q007"));
      const golden::Tensors tensors(kDemo + name + ".safetensors");
      QCOMPARE(file.claims[1].requests[7].values, tensors.floats("q007.orthogonal"));
      QCOMPARE(file.claims[0].requests[7].values, tensors.floats("q007.gaussian"));
    }
  }

  void theDocumentedExampleIsReproduced() {
    // Written by the Python of docs/fingerprints.md with torch's QR and matrix product.
    const std::string data = DIFR_TEST_DATA;
    const auto file = read_fingerprints(data + "/fingerprints-example/honest.safetensors");
    QCOMPARE(file.issues.size(), std::size_t{0});
    const FingerprintClaim& claim = file.claims.at(0);
    const ProjectionSpec spec{claim.projection, claim.seed.value(), claim.k, 576, claim.order, claim.signs};
    QVERIFY(projection_mismatch(claim, spec).empty());
    const golden::Tensors states(data + "/hidden-smollm2/honest.provider.bf16.safetensors");
    const Projection projection = Projection::make(spec);
    std::size_t equal_values = 0, values = 0;
    for (const RequestFingerprint& request : claim.requests) {
      const auto own = pack_and_unpack(projection.apply(states.floats(request.external_id)), 8, claim.dtype);
      QCOMPARE(own.size(), request.values.size());
      for (std::size_t i = 0; i < own.size(); ++i, ++values) {
        // Another order of the fp32 sum may fall to the neighbouring bf16 value.
        QVERIFY(std::abs(own[i] - request.values[i]) <= 0x1p-7F * std::abs(own[i]));
        equal_values += own[i] == request.values[i] ? 1 : 0;
      }
    }
    QCOMPARE(values, std::size_t{127 * 8});
    QVERIFY(static_cast<double>(equal_values) >= 0.99 * static_cast<double>(values));
    // What differs is named.
    ProjectionSpec other = spec;
    other.seed += 1;
    QVERIFY(projection_mismatch(claim, other).find("seed 20261201 claimed") != std::string::npos);
    other = spec;
    other.kind = ProjectionKind::gaussian;
    QVERIFY(projection_mismatch(claim, other).find("orthogonal claimed") != std::string::npos);
  }

  void toplocFilesAreReadAndDecode() {
    for (const std::string name : {"honest", "int4", "int8", "fp8"}) {
      const auto claim = read_toploc(kDemo + name + ".toploc.json");
      QCOMPARE(claim.settings, (ToplocSettings{32, 64, false}));
      QCOMPARE(claim.requests.size(), std::size_t{24});
      QCOMPARE(claim.log, name + ".json");
      const auto prints = read_fingerprints(kDemo + name + ".safetensors");
      for (const ToplocRequest& request : claim.requests) {
        const auto& own = prints.claims[0].requests;
        const auto found =
            std::find_if(own.begin(), own.end(), [&](const auto& r) { return r.external_id == request.external_id; });
        QVERIFY(found != own.end());
        QCOMPARE(request.proofs.size(), toploc_chunks(found->tokens, claim.settings).size());
        for (const std::string& proof : request.proofs) {
          const auto decoded = decode_toploc_base64(proof);
          QVERIFY(decoded && decoded->coefficients.size() == 64);
          QCOMPARE(decoded->to_base64(), proof);
        }
      }
    }
    const auto list = read_toploc(std::string(DIFR_TEST_DATA) + "/formats/toploc_proofs.json");
    QCOMPARE(list.settings, (ToplocSettings{3, 4, false}));
    QCOMPARE(list.requests.at(0).proofs.size(), std::size_t{5});
    QVERIFY(message_of([] {
              (void)parse_toploc(R"({"proofs": ["AAAA"], "topk": 4})", "p.json");
            }).find("decode_batching_size") != std::string::npos);
    QVERIFY_THROWS_EXCEPTION(Error, (void)parse_toploc("[1]", "p.json"));
    QVERIFY_THROWS_EXCEPTION(
        Error, (void)parse_toploc(R"({"proofs":[],"topk":-4,"decode_batching_size":1,"skip_prefill":true})", "p"));
    QCOMPARE(
        parse_toploc(R"({"proofs":{"a":[1],"b":["/w=="]},"topk":4,"decode_batching_size":1,"skip_prefill":true})", "p")
            .issues.size(),
        std::size_t{1});
  }

  void everyDtypeSurvivesTheRoundTrip() {
    for (const auto dtype :
         {FingerprintDtype::fp32, FingerprintDtype::bf16, FingerprintDtype::fp16, FingerprintDtype::int8}) {
      const auto claim = small_claim(dtype);
      const auto bytes = write_fingerprints(claim);
      const auto file = parse_fingerprints_safetensors(bytes, "round trip");
      QCOMPARE(file.issues.size(), std::size_t{0});
      QVERIFY2(equal(file.claims.at(0), claim), to_string(dtype));
      // Through the disk, by content.
      QTemporaryDir folder;
      const std::string path = folder.filePath("prints").toStdString();
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      QVERIFY(equal(read_fingerprints(path).claims.at(0), claim));
    }
  }

  void jsonRowsAndBase64AreRead() {
    const std::string declaration =
        R"("difr": {"method": "activation-difr", "projection": "orthogonal", "seed": 18446744073709551615, "k": 2,
            "dtype": "fp16", "mode": "decode"})";
    const auto file = parse_fingerprints_json(
        "{" + declaration + R"(, "fingerprints": {"x": [[1, -2.5], [0.25, 3e2]], "y": {"data": "ADwAwA=="},
        "short": [[1]], "text": [["1", 2]], "odd": {"data": "AAA="}, "bad": {"data": "?"}, "none": 3, "x": [[1, 2]]}})",
        "prints.json");
    const FingerprintClaim& claim = file.claims.at(0);
    QCOMPARE(claim.seed, std::optional<std::uint64_t>(~0ULL));
    QCOMPARE(claim.requests.size(), std::size_t{2});
    QCOMPARE(claim.requests[0].values, (std::vector<float>{1, -2.5, 0.25, 300}));
    QCOMPARE(claim.requests[1].values, (std::vector<float>{1, -2}));
    QCOMPARE(file.issues.size(), std::size_t{6});
    QCOMPARE(file.issues[0].request, std::string("short"));
    QCOMPARE(file.issues[0].message, std::string("token 0 is not a list of 2 numbers"));
    QCOMPARE(file.issues[5].message, std::string("occurs twice"));
  }

  void wrongDeclarationsNameTheKey() {
    const auto refuse = [](const std::string& declaration) {
      return message_of(
          [&] { (void)parse_fingerprints_json("{\"difr\": {" + declaration + "}, \"fingerprints\": {}}", "f.json"); });
    };
    const std::string good = R"("method": "activation-difr", "k": 8, "dtype": "bf16")";
    QVERIFY(refuse(R"("k": 8)").find("f.json: does not state difr.method") == 0);
    QVERIFY(refuse(good).find("difr.projection") != std::string::npos);
    QVERIFY(refuse(good + R"(, "projection": "random")").find("orthogonal or gaussian") != std::string::npos);
    QVERIFY(refuse(good + R"(, "projection": "gaussian", "mode": "fast")").find("prefill or decode") !=
            std::string::npos);
    QVERIFY(refuse(good + R"(, "projection": "gaussian", "seed": "-1")").find("difr.seed") != std::string::npos);
    QVERIFY(refuse(R"("method": "activation-difr", "k": 0, "dtype": "bf16")").find("difr.k") != std::string::npos);
    QVERIFY(refuse(R"("method": "activation-difr", "k": 8, "dtype": "int4")").find("int8") != std::string::npos);
    QVERIFY(refuse(R"("method": "toploc", "k": 8, "dtype": "bf16")").find("activation-difr") != std::string::npos);
    QVERIFY(message_of([] { (void)read_fingerprints("/nonexistent/prints"); }).find("/nonexistent/prints") == 0);
  }

  void badTensorsAreListedAndTheRestIsRead() {
    auto claim = small_claim(FingerprintDtype::bf16);
    claim.requests[0].values[5] = NAN;
    auto file = parse_fingerprints_safetensors(write_fingerprints(claim), "nan");
    QCOMPARE(file.issues.size(), std::size_t{1});
    QCOMPARE(file.issues[0].request, std::string("a"));
    QCOMPARE(file.issues[0].message, std::string("token 1 holds a value that is not finite"));
    QCOMPARE(file.claims[0].requests.size(), std::size_t{2});
  }

  void damagedFilesNeverCrash() {
    std::mt19937 random(20261201);
    std::vector<std::vector<std::uint8_t>> seeds{golden::bytes_of(kDemo + "projections.safetensors"),
                                                 write_fingerprints(small_claim(FingerprintDtype::int8)),
                                                 write_fingerprints(small_claim(FingerprintDtype::fp32))};
    const std::string json =
        R"({"difr": {"method": "activation-difr", "projection": "orthogonal", "k": 2, "dtype": "int8"},
            "fingerprints": {"x": [[1, 2]], "y": {"data": "AQI=", "scales": "ADw="}}})";
    const std::string toploc =
        R"({"proofs":{"a":["/9k=", "/w=="]},"topk":4,"decode_batching_size":1,"skip_prefill":true})";
    seeds.emplace_back(json.begin(), json.end());
    seeds.emplace_back(toploc.begin(), toploc.end());
    int accepted = 0, refused = 0;
    for (int round = 0; round < 6000; ++round) {
      auto bytes = seeds[static_cast<std::size_t>(round) % seeds.size()];
      const auto edits = 1 + random() % 4;
      for (std::size_t e = 0; e < edits && !bytes.empty(); ++e) {
        // Headers are where parsers break: damage the first 400 bytes most of the time.
        const std::size_t reach = random() % 4 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 400);
        const std::size_t at = random() % reach;
        switch (random() % 4) {
          case 0:
            bytes[at] = static_cast<std::uint8_t>(random());
            break;
          case 1:
            bytes[at] ^= static_cast<std::uint8_t>(1u << (random() % 8));
            break;
          case 2:
            bytes.resize(at);
            break;
          default:
            bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                         static_cast<std::uint8_t>('0' + random() % 10));
        }
      }
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      for (int form = 0; form < 3; ++form) try {
          if (form == 0) (void)parse_fingerprints_safetensors(bytes, "fuzz");
          if (form == 1) (void)parse_fingerprints_json(text, "fuzz");
          if (form == 2) (void)parse_toploc(text, "fuzz");
          ++accepted;
        } catch (const Error&) {
          ++refused;
        }
    }
    QVERIFY(accepted > 100);
    QVERIFY(refused > 10000);
  }

  void safetensorsHeadersAreChecked() {
    const auto refuse = [](const std::string& json, std::uint64_t data) {
      return message_of([&] { (void)parse_safetensors_header(json, 8 + json.size() + data, "m.safetensors"); });
    };
    const auto tensor = [](const char* shape, const char* offsets, const char* dtype = "F32") {
      return std::string("{\"t\":{\"dtype\":\"") + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets +
             "}}";
    };
    QCOMPARE(refuse(tensor("[2,3]", "[0,24]"), 24), std::string("nothing was thrown"));
    QCOMPARE(refuse(tensor("[]", "[0,4]"), 4), std::string("nothing was thrown"));
    QVERIFY(refuse(tensor("[2,3]", "[0,20]"), 20).find("do not hold its 6 elements") != std::string::npos);
    QVERIFY(refuse(tensor("[2,3]", "[0,24]"), 20).find("take 24 bytes, the file has 20") != std::string::npos);
    QVERIFY(refuse(tensor("[2,3]", "[4,28]"), 28).find("starts at 4") != std::string::npos);
    QVERIFY(refuse(tensor("[4294967296,4294967296]", "[0,0]"), 0).find("larger than any file") != std::string::npos);
    QVERIFY(refuse(tensor("[-1]", "[0,4]"), 4).find("whole numbers") != std::string::npos);
    QVERIFY(refuse(tensor("[1]", "[0,4]", "F31"), 4).find("F31") != std::string::npos);
    QVERIFY(refuse("[]", 0).find("not a JSON object") != std::string::npos);
    QVERIFY(
        refuse(
            R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
            2)
            .find("occurs twice") != std::string::npos);
    QVERIFY(message_of([] {
              (void)safetensors_header_length(std::vector<std::uint8_t>(8, 0xFF), 8, "m");
            }).find("header") != std::string::npos);
  }
};

QTEST_APPLESS_MAIN(TestFingerprintFile)
#include "test_fingerprint_file.moc"
