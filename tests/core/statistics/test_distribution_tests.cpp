// Uniformity and two-sample tests against scipy 1.17 (tests/data/auc/stats.json) and values of scipy.stats.

#include <QtTest>
#include <array>

#include "core/statistics/golden.h"
#include "core/statistics/two_sample.h"
#include "core/statistics/uniformity.h"
#include "core/util/error.h"

using namespace difr;
using golden::near;

namespace {
constexpr std::array<const char*, 3> kSides = {"two-sided", "less", "greater"};
constexpr std::array<Side, 3> kSideValues = {Side::two_sided, Side::less, Side::greater};
}  // namespace

class TestDistributionTests : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { QVERIFY(parser_.load(DIFR_TEST_DATA "/auc/stats.json").get(stats_) == simdjson::SUCCESS); }
  void uniformityAgreesWithScipy();
  void kolmogorovAgreesWithScipy();
  void kolmogorovToSixtyDigits();
  void twoSampleAgreesWithScipy();
  void refusesBadInput();

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element stats_;
  golden::Tensors tensors_{DIFR_TEST_DATA "/auc/stats.safetensors"};
};

void TestDistributionTests::uniformityAgreesWithScipy() {
  int compared = 0;
  for (const auto [key, expected] : simdjson::dom::object(stats_["uniform"])) {
    const std::string name(key);
    const std::vector<double> values = tensors_.values("uniform." + name);
    for (std::size_t i = 0; i < kSides.size(); ++i) {
      const std::vector<double> want = golden::numbers(expected["ks." + std::string(kSides[i]) + ".exact"]);
      const TestResult got = ks_uniform(values, kSideValues[i]);
      // Beyond 140 values scipy's "exact" two-sided p is Pelz and Good's approximation, good to about five digits.
      const double tolerance = i == 0 && values.size() > 140 ? 1e-5 : 1e-9;
      QVERIFY2(near(got.statistic, want[0], 1e-13), key.data());
      QVERIFY2(near(got.p_value, want[1], tolerance), key.data());
      ++compared;
    }
    simdjson::dom::element cvm;
    if (expected["cvm"].get(cvm) == simdjson::SUCCESS) {
      const std::vector<double> want = golden::numbers(cvm);
      const TestResult got = cvm_uniform(values);
      QVERIFY2(near(got.statistic, want[0], 1e-12), key.data());
      // scipy stops its series at terms of 1e-7 (limit law) and ours at 1e-12.
      QVERIFY2(near(got.p_value, want[1], 0, 3e-7), key.data());
      ++compared;
    }
    const TestResult ad = anderson_darling_uniform(values);
    QVERIFY2(near(ad.statistic, golden::number(expected["ad_A2"]), 1e-12), key.data());
    simdjson::dom::element ad_p;
    if (expected["ad_p_marsaglia"].get(ad_p) == simdjson::SUCCESS) {
      QVERIFY2(near(ad.p_value, golden::number(ad_p), 1e-9, 1e-12), key.data());
      ++compared;
    } else {
      QCOMPARE(ad.p_value, 0.0);
    }
  }
  QVERIFY(compared >= 45);
}

void TestDistributionTests::kolmogorovAgreesWithScipy() {
  // scipy.stats.kstwo.sf(d, n)
  struct Case {
    double d;
    std::size_t n;
    double survival;
    double tolerance;
  };
  for (const Case& c : {Case{0.1, 10, 0.99963712, 1e-12}, Case{0.2, 10, 0.7487190399999999, 1e-12},
                        Case{0.05, 100, 0.9532159710635725, 1e-11}, Case{0.15, 100, 0.019839242125643017, 1e-11},
                        // Beyond 140 values scipy approximates (Pelz and Good).
                        Case{0.03, 1000, 0.3226902143914636, 1e-7}, Case{0.06, 1000, 0.001428597887952891, 1e-11},
                        Case{0.02, 4000, 0.08043072865191048, 1e-7},
                        // Beyond 5,000 values the limit law: relative error of order 1/sqrt(n).
                        Case{0.01, 20000, 0.03638603905248727, 5e-4}}) {
    QVERIFY2(near(ks_survival(c.d, c.n), c.survival, 0, c.tolerance),
             qPrintable(QString::number(ks_survival(c.d, c.n), 'g', 15)));
  }
}

void TestDistributionTests::kolmogorovToSixtyDigits() {
  // Marsaglia-Tsang-Wang evaluated in 60-digit decimal arithmetic, where scipy is off in the sixth digit.
  QVERIFY(near(ks_survival(0x1.a285a07e87a78p-4, 150), 0.08127141816239556, 1e-12));
}

void TestDistributionTests::twoSampleAgreesWithScipy() {
  int compared = 0;
  for (const auto [key, expected] : simdjson::dom::object(stats_["two_sample"])) {
    const std::string name(key);
    const std::vector<double> x = tensors_.values("two." + name + ".x");
    const std::vector<double> y = tensors_.values("two." + name + ".y");
    for (const auto [test, value] : simdjson::dom::object(expected)) {
      const std::string what(test);
      if (!value.is_array()) continue;
      const std::vector<double> want =
          golden::numbers(simdjson::dom::array(value).size() == 2 ? value : simdjson::dom::element(value));
      TestResult got;
      double tolerance = 1e-10;
      bool known = false;
      for (std::size_t i = 0; i < kSides.size(); ++i) {
        const std::string side(kSides[i]);
        const PMethod method = what.find(".exact") != std::string::npos ? PMethod::exact : PMethod::asymptotic;
        if (what.rfind("mwu." + side + ".", 0) == 0) {
          got = mann_whitney(x, y, kSideValues[i], method, what.find("cc0") == std::string::npos);
          known = true;
        } else if (what.rfind("ks2." + side + ".", 0) == 0) {
          got = ks_two_sample(x, y, kSideValues[i], method);
          known = true;
        }
      }
      if (what == "cvm2.asymptotic") {
        got = cvm_two_sample(x, y);
        tolerance = 3e-7;  // scipy's series stops at terms of 1e-7
        known = true;
      }
      if (!known) continue;
      QVERIFY2(near(got.statistic, want[0], 1e-12, 1e-15), qPrintable(QString::fromStdString(name + " " + what)));
      // All values equal: scipy's uncorrected z is 0/0; no evidence is p = 1.
      const double p = std::isnan(want[1]) ? 1 : want[1];
      QVERIFY2(near(got.p_value, p, tolerance, tolerance == 3e-7 ? 3e-7 : 0),
               qPrintable(QString::fromStdString(name + " " + what) +
                          QString(" %1 %2").arg(got.p_value, 0, 'g', 17).arg(p, 0, 'g', 17)));
      ++compared;
    }
  }
  QVERIFY(compared >= 40);
}

void TestDistributionTests::refusesBadInput() {
  const std::vector<double> outside = {0.5, 1.5};
  const std::vector<double> nan = {0.5, std::nan("")};
  const std::vector<double> fine = {0.2, 0.4};
  QVERIFY_THROWS_EXCEPTION(Error, (void)ks_uniform(outside));
  QVERIFY_THROWS_EXCEPTION(Error, (void)cvm_uniform(nan));
  QVERIFY_THROWS_EXCEPTION(Error, (void)anderson_darling_uniform({}));
  QVERIFY_THROWS_EXCEPTION(Error, (void)mann_whitney(fine, nan, Side::two_sided, PMethod::asymptotic));
  QVERIFY_THROWS_EXCEPTION(Error, (void)mann_whitney(fine, fine, Side::two_sided, PMethod::exact));
  QVERIFY_THROWS_EXCEPTION(Error, (void)ks_two_sample(fine, {}, Side::two_sided, PMethod::asymptotic));
}

QTEST_APPLESS_MAIN(TestDistributionTests)
#include "test_distribution_tests.moc"
