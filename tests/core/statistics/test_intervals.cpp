// Intervals, quantiles, tolerance limits, multiple testing and the audit plan against scipy 1.17.

#include <QtTest>
#include <array>
#include <numeric>

#include "core/statistics/audit_plan.h"
#include "core/statistics/counter_rng.h"
#include "core/statistics/golden.h"
#include "core/statistics/intervals.h"
#include "core/statistics/multiple_testing.h"
#include "core/statistics/normal.h"
#include "core/statistics/quantile.h"
#include "core/util/error.h"

using namespace difr;
using golden::near;

class TestIntervals : public QObject {
  Q_OBJECT

 private slots:
  void normalTails();
  void proportions();
  void quantilesInterpolateAsNumpy();
  void toleranceLimits();
  void conformalAndBenjaminiHochberg();
  void dkw();
  void auditPlan();
  void bootstrapIsSeeded();
};

void TestIntervals::normalTails() {
  // scipy.special.log_ndtr, ndtri
  const std::array<std::array<double, 2>, 11> log_cdf{{{-1e4, -50000010.12927892},
                                                       {-100, -5005.524208694205},
                                                       {-37, -689.0305855768908},
                                                       {-30.5, -469.4627373229121},
                                                       {-29.5, -439.4294746091503},
                                                       {-10, -53.23128515051248},
                                                       {-1, -1.8410216450092634},
                                                       {0, -0.6931471805599453},
                                                       {2, -0.023012909328963476},
                                                       {6, -9.86587645524372e-10},
                                                       {10, -7.61985302416047e-24}}};
  for (const auto& [x, want] : log_cdf) QVERIFY2(near(normal_log_cdf(x), want, 1e-12), qPrintable(QString::number(x)));
  QVERIFY(std::isinf(normal_log_cdf(-INFINITY)));
  QVERIFY(near(normal_quantile(1e-12), -7.034483825301131, 1e-12));
  QVERIFY(near(normal_quantile(0.001), -3.090232306167813, 1e-13));
  QVERIFY(near(normal_quantile(0.3), -0.5244005127080409, 1e-13));
  QVERIFY(near(normal_quantile(0.5), 0, 0, 1e-15));
  QVERIFY_THROWS_EXCEPTION(Error, (void)normal_quantile(1));
}

void TestIntervals::proportions() {
  // scipy.stats.binomtest(k, n).proportion_ci(0.95, 'wilson' | 'exact')
  struct Case {
    std::size_t k, n;
    Interval wilson, exact;
  };
  for (const Case& c :
       {Case{0, 10, {0.0, 0.27753279986288926}, {0.0, 0.30849710781876294}},
        Case{3, 10, {0.10779126740630102, 0.6032218525388546}, {0.06673951117773447, 0.652452850060008}},
        Case{10, 10, {0.7224672001371109, 1.0}, {0.6915028921812371, 1.0}},
        Case{95, 11228, {0.006926880872988817, 0.010331327367518772}, {0.006850685279899103, 0.010333374528842098}},
        Case{999, 1000, {0.9943574414020421, 0.9998234536293739}, {0.9944410757201502, 0.9999746825125083}}}) {
    const Interval wilson = wilson_interval(c.k, c.n, 0.95);
    const Interval exact = clopper_pearson_interval(c.k, c.n, 0.95);
    QVERIFY(near(wilson.low, c.wilson.low, 1e-11) && near(wilson.high, c.wilson.high, 1e-11));
    QVERIFY(near(exact.low, c.exact.low, 1e-9) && near(exact.high, c.exact.high, 1e-9));
  }
  QVERIFY_THROWS_EXCEPTION(Error, (void)wilson_interval(1, 0, 0.95));
}

void TestIntervals::quantilesInterpolateAsNumpy() {
  const std::vector<double> values = {3, 1, 2, 10};
  QCOMPARE(quantile(values, 0), 1.0);
  QCOMPARE(quantile(values, 1), 10.0);
  QCOMPARE(quantile(values, 0.5), 2.5);
  QVERIFY(near(quantile(values, 0.9), 7.9, 1e-14));  // numpy.quantile([3,1,2,10], .9)
  const std::vector<double> infinite = {1, 2, INFINITY, INFINITY};
  QCOMPARE(quantile(infinite, 0.9), INFINITY);
  QVERIFY_THROWS_EXCEPTION(Error, (void)quantile({}, 0.5));
}

void TestIntervals::toleranceLimits() {
  // Rank: smallest r with binom.cdf(r - 1, n, 1 - alpha) >= 1 - delta.
  struct Case {
    std::size_t n;
    double alpha;
    std::size_t rank;
  };
  for (const Case& c : {Case{96, 0.05, 95}, Case{59, 0.05, 59}, Case{58, 0.05, 0}, Case{500, 0.05, 484},
                        Case{3000, 0.001, 3000}, Case{10000, 0.001, 9996}, Case{96, 0.001, 0}}) {
    std::vector<double> values(c.n);
    std::iota(values.rbegin(), values.rend(), 1.0);
    const ToleranceLimit limit = upper_tolerance_limit(values, c.alpha, 0.05);
    QCOMPARE(limit.rank, c.rank);
    QCOMPARE(limit.limit.has_value(), c.rank > 0);
    if (limit.limit) QCOMPARE(*limit.limit, static_cast<double>(c.rank));
    QVERIFY(limit.needed <= c.n || !limit.limit);
  }
  QCOMPARE(tolerance_sample_size(0.001, 0.05), std::size_t{2995});  // ln 0.05 / ln 0.999 = 2994.2
  QCOMPARE(tolerance_sample_size(0.05, 0.05), std::size_t{59});
  QCOMPARE(tolerance_sample_size(0.5, 0.25), std::size_t{2});  // exactly two, despite rounding
}

void TestIntervals::conformalAndBenjaminiHochberg() {
  const std::vector<double> calibration = {0, 0, 0.1, 0.2, 0.2};
  QCOMPARE(conformal_p(calibration, 0.0), 1.0);
  QCOMPARE(conformal_p(calibration, 0.2), 0.5);
  QCOMPARE(conformal_p(calibration, 0.3), 1.0 / 6);
  QVERIFY_THROWS_EXCEPTION(Error, (void)conformal_p(calibration, std::nan("")));
  // scipy.stats.false_discovery_control
  const std::vector<double> p = {.01, .04, .03, .005, .5, .03, 1, .2};
  const std::vector<double> want = {0.04, 0.064, 0.06, 0.04, 0.5714285714285714, 0.06, 1.0, 0.26666666666666666};
  const std::vector<double> q = benjamini_hochberg(p);
  for (std::size_t i = 0; i < p.size(); ++i) QVERIFY(near(q[i], want[i], 1e-14));
  QVERIFY(benjamini_hochberg({}).empty());
}

void TestIntervals::dkw() {
  QVERIFY(near(dkw_epsilon(96, 0.05), std::sqrt(std::log(20.0) / 192), 1e-14));
  QCOMPARE(dkw_epsilon(0, 0.05), 1.0);
  QVERIFY_THROWS_EXCEPTION(Error, (void)dkw_epsilon(10, 0.7));
}

void TestIntervals::auditPlan() {
  QVERIFY(near(detection_probability(0.001, 3000), 0.9503, 0, 5e-5));
  // 1 - scipy.stats.hypergeom.pmf(0, population, false, n)
  QVERIFY(near(detection_probability_finite(100000, 100, 3000), 0.952520284834831, 1e-11));
  QVERIFY(near(detection_probability_finite(50, 3, 10), 0.4959183673469387, 1e-12));
  QCOMPARE(detection_probability_finite(10, 3, 8), 1.0);
  QCOMPARE(samples_for_detection_finite(1000, 10, 0.95), std::size_t{258});
  QCOMPARE(samples_for_detection(0.001, 0.95), std::size_t{2995});
  QCOMPARE(samples_for_detection(0.5, 0.75), std::size_t{2});
  QVERIFY_THROWS_EXCEPTION(Error, (void)detection_probability_finite(10, 11, 2));
  QVERIFY_THROWS_EXCEPTION(Error, (void)samples_for_detection(0, 0.9));
}

void TestIntervals::bootstrapIsSeeded() {
  std::vector<double> values(400);
  CounterRng rng(1, 2, 3);
  for (double& value : values) value = rng.uniform();
  const auto mean = [&](std::span<const std::size_t> indices) {
    double sum = 0;
    for (const std::size_t i : indices) sum += values[i];
    return sum / static_cast<double>(indices.size());
  };
  const Interval first = bootstrap_interval(values.size(), 2000, 0.95, 7, mean);
  const Interval again = bootstrap_interval(values.size(), 2000, 0.95, 7, mean);
  QVERIFY(first.low == again.low && first.high == again.high);
  // The mean of 400 uniforms has standard error 0.289/20; the bootstrap's own error of the ends is about a tenth of it.
  const double centre = mean([&] {
    std::vector<std::size_t> all(values.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }());
  QVERIFY(near(first.high - centre, 1.96 * 0.289 / 20, 0.12) && near(centre - first.low, 1.96 * 0.289 / 20, 0.12));
}

QTEST_APPLESS_MAIN(TestIntervals)
#include "test_intervals.moc"
