// Noise of vLLM's samplers against known answers taken from its engines and kernels.

#include <QtTest>
#include <cmath>

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
