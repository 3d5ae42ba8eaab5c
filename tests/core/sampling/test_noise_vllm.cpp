// Noise of vLLM's samplers against known answers taken from its engines and kernels.

#include <QtTest>
#include <cmath>

#include "core/sampling/counter_hash.h"
#include "core/sampling/profile.h"
#include "core/support/fixture_files.h"

using namespace difr;
using difr::test::number;

class TestNoiseVllm : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { kat_ = parser_.load(DIFR_TEST_DATA "/noise/vllm_noise_kat.json"); }

  void splitmix() {
    const auto* profile = find_profile("vllm-cpu-splitmix64");
    QVERIFY(profile != nullptr);
    int cases = 0;
    for (const auto c : kat_["cpu_splitmix"].get_array()) {
      const auto ids = token_ids();
      const int step = static_cast<int>(number(c["step"]));
      auto source = make_noise(*profile, {.seed = c["seed"].get_int64().value(), .vocab = 49152});
      QVERIFY(source != nullptr);
      std::vector<double> row(49152), some(ids.size());
      source->row(step, row);
      source->at(step, ids, some);
      std::size_t i = 0;
      for (const auto expected : c["noise"].get_array()) {
        // numpy's and libm's log may differ in the last place, twice.
        QVERIFY(std::abs(some[i] - number(expected)) <= 1e-14 * (1 + std::abs(number(expected))));
        QVERIFY(std::abs(row[static_cast<std::size_t>(ids[i])] - some[i]) <= 1e-13 * (1 + std::abs(some[i])));
        ++i;
      }
      QCOMPARE(i, ids.size());
      QCOMPARE(std::max_element(row.begin(), row.end()) - row.begin(), c["argmax_noise"].get_int64().value());
      ++cases;
    }
    QVERIFY(cases >= 20);
  }

  void splitmixChildSeedAndShift() {
    const auto* profile = find_profile("vllm-cpu-splitmix64");
    const std::vector<TokenId> ids{0, 7, 100};
    const auto noise = [&](NoiseKey key, int t) {
      std::vector<double> out(ids.size());
      make_noise(*profile, key)->at(t, ids, out);
      return out;
    };
    QCOMPARE(noise({.seed = 10, .choice = 2}, 3), noise({.seed = 12}, 3));
    QCOMPARE(noise({.seed = 10, .shift = 2}, 3), noise({.seed = 10}, 5));
    QVERIFY(std::isnan(noise({.seed = 10, .shift = -4}, 3)[0]));
    // The engine keeps the low 32 bits only.
    QCOMPARE(noise({.seed = 5}, 0), noise({.seed = (1LL << 32) + 5}, 0));
    QVERIFY(noise({.seed = 5}, 0) != noise({.seed = 6}, 0));
  }

  void modelRunnerV2() {
    struct Column {
      const char* key;
      const char* profile;
      double tolerance;  // fp32 results of numpy against correctly rounded steps: a few ulp; fp64: last places
    };
    const Column columns[] = {
        {"murmur32", "vllm-mrv2-murmur", 1e-6},         {"murmur64", "vllm-mrv2-murmur-fp64", 1e-13},
        {"philox_0.16", "vllm-mrv2-philox-0.16", 1e-7}, {"philox_f32", "vllm-mrv2-philox-0.22", 1e-6},
        {"philox_f32log1p", "vllm-mrv2-philox", 1e-6},  {"philox_f64", "vllm-mrv2-philox-fp64", 1e-13}};
    const auto ids = token_ids();
    int compared = 0;
    for (const auto c : kat_["v2"].get_array()) {
      const int pos = static_cast<int>(number(c["pos"]));
      const NoiseKey key{.seed = c["seed"].get_int64().value(), .prompt_len = pos + 1, .vocab = 49152};
      for (const auto& column : columns) {
        std::vector<double> g(ids.size());
        make_noise(*find_profile(column.profile), key)->at(0, ids, g);
        std::size_t i = 0;
        for (const auto expected : c[column.key].get_array()) {
          const double want = number(expected);
          QVERIFY2(std::abs(g[i] - want) <= column.tolerance * (1 + std::abs(want)),
                   qPrintable(QString("%1 %2: %3 for %4").arg(column.key).arg(pos).arg(g[i]).arg(want)));
          ++i;
          ++compared;
        }
      }
      std::size_t i = 0;
      for (const auto hash : c["murmur_hash_u32"].get_array()) {
        const auto prefix = murmur3_prefix(static_cast<std::uint64_t>(key.seed), static_cast<std::uint32_t>(pos), 0);
        QCOMPARE(murmur3_column(prefix, static_cast<std::uint32_t>(ids[i++])), hash.get_uint64().value());
      }
    }
    QCOMPARE(compared, 15 * 6 * 7);
  }

  void tritonGoldens() {
    const difr::test::Safetensors golden(DIFR_TEST_DATA "/noise/vllm_mrv2_gumbel.safetensors");
    struct Form {
      const char* key;
      const char* profile;
      double tolerance;
    };
    // g1 is stored in fp64 before the cast to fp32; g4_ref64 is fp64 from the fp32 u.
    const Form forms[] = {{"g1", "vllm-mrv2-philox-0.16", 1e-6},
                          {"g2", "vllm-mrv2-philox-fp64", 1e-13},
                          {"g4", "vllm-mrv2-philox", 1e-6}};
    int rows = 0;
    for (const auto& form : forms) {
      for (const auto& [name, tensor] : golden.tensors()) {
        if (name.rfind(std::string(form.key) + ".s", 0) != 0) continue;
        const auto seed = std::stoll(name.substr(name.find(".s") + 2));
        const auto pos = std::stoll(name.substr(name.find(".p") + 2));
        if (pos > 1'000'000) continue;  // beyond what a prompt length can say
        const NoiseKey key{.seed = seed, .prompt_len = static_cast<int>(pos) + 1, .vocab = 320};
        std::vector<double> g(320);
        make_noise(*find_profile(form.profile), key)->row(0, g);
        std::vector<double> want = tensor.dtype == "F64" ? golden.get<double>(name) : std::vector<double>();
        if (want.empty()) {
          for (const float v : golden.get<float>(name)) want.push_back(v);
        }
        for (std::size_t i = 0; i < g.size(); ++i)
          QVERIFY2(std::abs(g[i] - want[i]) <= form.tolerance * (1 + std::abs(want[i])), name.c_str());
        ++rows;
      }
    }
    QVERIFY2(rows >= 30, qPrintable(QString::number(rows)));
  }

  void exponential() {
    const auto* profile = find_profile("torch-cpu-exponential");
    QVERIFY(profile != nullptr);
    int cases = 0;
    for (const auto c : kat_["cpu_exponential"].get_array()) {
      const auto ids = token_ids();
      auto source = make_noise(*profile, {.seed = c["seed"].get_int64().value(), .vocab = 49152});
      std::vector<double> row(49152);
      source->row(static_cast<int>(number(c["step"])), row);
      std::size_t i = 0;
      for (const auto q : c["q_f32"].get_array()) {
        const double expected = -std::log(number(q));
        QVERIFY(std::abs(row[static_cast<std::size_t>(ids[i])] - expected) <= 1e-13 * (1 + std::abs(expected)));
        ++i;
      }
      QCOMPARE(std::max_element(row.begin(), row.end()) - row.begin(), c["argmin_q"].get_int64().value());
      ++cases;
    }
    QVERIFY(cases >= 10);
  }

 private:
  std::vector<TokenId> token_ids() {
    std::vector<TokenId> ids;
    for (const auto id : kat_["ids"].get_array()) ids.push_back(static_cast<TokenId>(id.get_int64().value()));
    return ids;
  }
  simdjson::dom::parser parser_;
  simdjson::dom::element kat_;
};

QTEST_APPLESS_MAIN(TestNoiseVllm)
#include "test_noise_vllm.moc"
