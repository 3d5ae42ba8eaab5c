// PyTorch's generators and exponentials: torch 2.15, LibTorch 1.13, MKL 2024.2, Random123.

#include <QtTest>
#include <cmath>

#include "core/sampling/counter_hash.h"
#include "core/sampling/mt19937.h"
#include "core/sampling/profile.h"
#include "core/support/fixture_files.h"

using namespace difr;
using difr::test::number;
using difr::test::Safetensors;

class TestNoiseTorch : public QObject {
  Q_OBJECT

 private slots:
  void generatorWords() {
    simdjson::dom::parser parser;
    const simdjson::dom::element misc = parser.load(DIFR_TEST_DATA "/noise/torch_cpu_misc.json");
    int words = 0;
    for (const auto [seed, versions] : misc["randint_0_2^31"].get_object()) {
      const auto s = static_cast<std::uint32_t>(std::stoull(std::string(seed)));
      Mt19937 one(s), two(s);
      for (const auto v : versions["libtorch1.13"].get_array()) QCOMPARE(one() & 0x7fffffffU, v.get_uint64().value());
      for (const auto v : versions["torch2.15"].get_array()) {
        QCOMPARE(two.next64() & 0x7fffffffU, v.get_uint64().value());
        ++words;
      }
    }
    QVERIFY(words >= 50);
  }

  void discardIsTheSameAsDrawing() {
    Mt19937 drawn(5), skipped(5);
    for (int i = 0; i < 5000; ++i) drawn();
    skipped.discard(5000);
    for (int i = 0; i < 2000; ++i) QCOMPARE(skipped(), drawn());
  }

  void cpuExponentialBitForBit() {
    const Safetensors golden(DIFR_TEST_DATA "/noise/torch_cpu_exponential.safetensors");
    int elements = 0;
    for (const auto& [name, tensor] : golden.tensors()) {
      const auto seed = static_cast<std::int64_t>(std::stoull(name.substr(1)));
      const int v = static_cast<int>(tensor.shape[1]);
      const auto e = golden.get<float>(name);
      auto source = make_noise(*find_profile("torch-cpu-exponential"), {.seed = seed, .vocab = v});
      std::vector<double> g(static_cast<std::size_t>(v));
      for (const int t : {0, 1, 2, 1}) {  // the last one asks for an earlier step again
        source->row(t, g);
        for (std::size_t i = 0; i < g.size(); ++i) {
          const float mine = static_cast<float>(std::exp(-g[i]));
          const float want = e[static_cast<std::size_t>(t) * g.size() + i];
          // g is the logarithm of an fp32 number: exp brings it back exactly after rounding to fp32.
          QVERIFY2(mine == want, qPrintable(QString::fromStdString(name)));
          ++elements;
        }
      }
      std::vector<double> part(1);
      source->row(2, part);
      QCOMPARE(static_cast<float>(std::exp(-part[0])), e[2 * g.size()]);
      source->row(1, part);
      source->row(2, g);
      QCOMPARE(static_cast<float>(std::exp(-g.back())), e.back());
    }
    QVERIFY(elements >= 30000);
  }

  void multinomialOfOneRow() {
    simdjson::dom::parser parser;
    const simdjson::dom::element misc = parser.load(DIFR_TEST_DATA "/noise/torch_cpu_misc.json");
    int draws = 0;
    for (const auto [seed, versions] : misc["multinomial_p=1..320"].get_object()) {
      const NoiseKey key{.seed = static_cast<std::int64_t>(std::stoull(std::string(seed))), .vocab = 320};
      std::vector<double> g(320);
      make_noise(*find_profile("hf-torch-cpu-multinomial"), key)->row(0, g);
      for (std::size_t i = 0; i < g.size(); ++i) g[i] += std::log(static_cast<double>(i + 1));
      const auto winner = std::max_element(g.begin(), g.end()) - g.begin();
      for (const char* version : {"torch2.15", "libtorch1.13"}) {
        QCOMPARE(winner, versions[version].at(0).at(0).get_int64().value());
        ++draws;
      }
    }
    QVERIFY(draws >= 12);
  }

  void mkl() {
    const Safetensors golden(DIFR_TEST_DATA "/noise/mkl_mcg31.safetensors");
    // torch seeds the stream with the first mt19937 word: search none, use seeds whose word is a stored stream.
    int found = 0, elements = 0;
    for (const std::int64_t seed : {0, 1, 42, 123456789}) {
      const std::string name = "seed" + std::to_string(Mt19937(static_cast<std::uint32_t>(seed))());
      if (!golden.has(name)) continue;
      ++found;
      const auto e = golden.get<float>(name);
      auto source = make_noise(*find_profile("torch-cpu-exponential-mkl"), {.seed = seed, .vocab = 1000});
      std::vector<double> g(1000), alone(3);
      source->row(0, g);
      for (std::size_t i = 0; i < g.size(); ++i) {
        // MKL's log is within 2 ulp of the correctly rounded one.
        QVERIFY(std::abs(std::exp(-g[i]) - e[i]) <= 3 * 1.2e-7 * std::abs(e[i]));
        ++elements;
      }
      source->at(0, std::vector<TokenId>{0, 7, 999}, alone);
      QCOMPARE(alone[1], g[7]);
      QCOMPARE(alone[2], g[999]);
    }
    QVERIFY(found >= 1 && elements >= 1000);
  }

  void philoxVectors() {
    simdjson::dom::parser parser;
    const simdjson::dom::element doc = parser.load(DIFR_TEST_DATA "/noise/philox_cuda.json");
    int vectors = 0;
    for (const auto kat : doc["philox4x32_kat"].get_array()) {
      Words4 counter{}, out{};
      std::size_t i = 0;
      for (const auto v : kat["ctr"].get_array()) counter[i++] = static_cast<std::uint32_t>(v.get_uint64().value());
      i = 0;
      for (const auto v : kat["out"].get_array()) out[i++] = static_cast<std::uint32_t>(v.get_uint64().value());
      QCOMPARE(philox4x32(counter, static_cast<std::uint32_t>(kat["key"].at(0).get_uint64().value()),
                          static_cast<std::uint32_t>(kat["key"].at(1).get_uint64().value()),
                          static_cast<int>(number(kat["rounds"]))),
               out);
      ++vectors;
    }
    QCOMPARE(vectors, 6);
  }

  void cudaExponentialAsEmulated() {
    const Safetensors golden(DIFR_TEST_DATA "/noise/torch_cuda_exponential_EMULATED.safetensors");
    int elements = 0;
    for (const auto& [name, tensor] : golden.tensors()) {
      if (name[0] != 'E') continue;
      const auto seed = static_cast<std::int64_t>(std::stoull(name.substr(3)));
      const int v = static_cast<int>(tensor.shape[1]);
      const int blocks = name.find("maxblocks2") != std::string::npos ? 2 : 0;
      auto source =
          make_noise(*find_profile("torch-cuda-exponential"), {.seed = seed, .vocab = v, .cuda_blocks = blocks});
      const auto e = golden.get<float>(name);
      std::vector<double> g(static_cast<std::size_t>(v));
      for (std::size_t t = 0; t < tensor.shape[0]; ++t) {
        source->row(static_cast<int>(t), g);
        for (std::size_t i = 0; i < g.size(); ++i) {
          QVERIFY2(static_cast<float>(std::exp(-g[i])) == e[t * g.size() + i],
                   qPrintable(QString::fromStdString(name)));
          ++elements;
        }
      }
      // Large noise, where the winner is decided, is the least certain.
      QVERIFY(source->uncertainty(11.0) > 0.03 && source->uncertainty(11.0) < 0.1);
      QVERIFY(source->uncertainty(0.0) < 1e-6);
    }
    QVERIFY(elements > 30000);
  }

  void threefryVectors() {
    // Random123 kat_vectors, threefry2x32 with 20 rounds.
    QCOMPARE(threefry2x32({0, 0}, {0, 0}), (Words2{0x6b200159, 0x99ba4efe}));
    QCOMPARE(threefry2x32({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}), (Words2{0x1cb996fc, 0xbb002be7}));
    QCOMPARE(threefry2x32({0x13198a2e, 0x03707344}, {0x243f6a88, 0x85a308d3}), (Words2{0xc4923a9c, 0x483df7a0}));
  }
};

QTEST_APPLESS_MAIN(TestNoiseTorch)
#include "test_noise_torch.moc"
