// Monte-Carlo checks of what the statistics promise, 10,000 honest resamples each: the 99 % interval of the observed
// rate contains the promise or lies below it.

#include <QtTest>
#include <algorithm>
#include <cmath>

#include "core/statistics/counter_rng.h"
#include "core/statistics/e_process.h"
#include "core/statistics/intervals.h"
#include "core/statistics/model_equality.h"
#include "core/statistics/multiple_testing.h"
#include "core/statistics/quantile.h"
#include "core/util/error.h"

using namespace difr;

namespace {

constexpr std::size_t kTrials = 10000;

bool keeps(std::size_t alarms, std::size_t trials, double promise) {
  return clopper_pearson_interval(alarms, trials, 0.99).low <= promise;
}

/// Honest request scores as they are: many zeros, a skewed rest.
double honest_score(CounterRng& rng) {
  const double u = rng.uniform();
  return u < 0.4 ? 0 : -std::log1p(-(u - 0.4) / 0.6);
}

QByteArray number(double value) {
  return QByteArray::number(value);
}

}  // namespace

class TestMonteCarlo : public QObject {
  Q_OBJECT

 private slots:
  void toleranceLimitHasItsConfidence() {
    // On uniform draws the share above a limit is 1 - limit.
    std::size_t broken = 0;
    std::vector<double> values(100);
    for (std::size_t i = 0; i < kTrials; ++i) {
      CounterRng rng(1, 1, i);
      for (double& value : values) value = rng.uniform();
      broken += 1 - *upper_tolerance_limit(values, 0.05, 0.05).limit > 0.05 ? 1 : 0;
    }
    QVERIFY2(keeps(broken, kTrials, 0.05), number(double(broken) / kTrials));
    QVERIFY(broken > 0);
  }

  void benjaminiHochbergControlsFalseDiscoveries() {
    for (const int bad : {0, 5}) {
      std::size_t any = 0;
      double false_share = 0;
      double found = 0;
      std::vector<double> calibration(999);
      for (std::size_t i = 0; i < kTrials; ++i) {
        CounterRng rng(2, static_cast<std::uint64_t>(bad), i);
        for (double& score : calibration) score = honest_score(rng);
        std::sort(calibration.begin(), calibration.end());
        std::vector<double> p;
        for (int r = 0; r < 20; ++r) p.push_back(conformal_p(calibration, honest_score(rng) + (r < bad ? 9 : 0)));
        int flagged = 0;
        int wrong = 0;
        const std::vector<double> q = benjamini_hochberg(p);
        for (int r = 0; r < 20; ++r) {
          if (q[static_cast<std::size_t>(r)] > 0.05) continue;
          ++flagged;
          wrong += r >= bad ? 1 : 0;
        }
        any += wrong > 0 ? 1 : 0;
        false_share += flagged > 0 ? double(wrong) / flagged : 0;
        found += flagged - wrong;
      }
      // With nothing bad every discovery is false: the rate of any is the false discovery rate.
      if (bad == 0) QVERIFY2(keeps(any, kTrials, 0.05), number(double(any) / kTrials));
      // The false discovery proportion lies in [0, 1]: 2.6 standard errors of at most 0.0022 each.
      QVERIFY2(false_share / kTrials <= 0.05 + 0.006, number(false_share / kTrials));
      if (bad > 0) QVERIFY2(found / kTrials > 4.5, number(found / kTrials));
    }
  }

  void eProcessHoldsAtItsWorstTime() {
    std::size_t alarms = 0;
    std::vector<double> calibration(200);
    for (std::size_t i = 0; i < kTrials; ++i) {
      CounterRng rng(3, 3, i);
      for (double& score : calibration) score = honest_score(rng);
      EProcess process(calibration, 0.05);
      for (int t = 0; t < 200; ++t) process.update(honest_score(rng));
      alarms += process.peak_log_wealth() >= std::log(1 / 0.05) ? 1 : 0;
    }
    QVERIFY2(keeps(alarms, kTrials, 0.05 + 0.05), number(double(alarms) / kTrials));
  }

  void eProcessWithKnownLawHoldsAlpha() {
    // A grid of 2,000 scores is the uniform law but for 1/4,000, less than its band: the promise is then alpha alone.
    std::vector<double> grid(2000);
    for (std::size_t i = 0; i < grid.size(); ++i) grid[i] = (static_cast<double>(i) + 0.5) / 2000;
    const EProcess fresh(grid, 0.5);
    std::size_t alarms = 0;
    for (std::size_t i = 0; i < kTrials; ++i) {
      CounterRng rng(4, 5, i);
      EProcess process = fresh;
      for (int t = 0; t < 100; ++t) process.update(rng.uniform());
      alarms += process.peak_log_wealth() >= std::log(1 / 0.05) ? 1 : 0;
    }
    QVERIFY2(keeps(alarms, kTrials, 0.05), number(double(alarms) / kTrials));
    QVERIFY(alarms > 0);  // the bets are daring enough to lose sometimes
  }

  void eProcessFindsWhatIsThere() {
    std::vector<double> calibration(500);
    CounterRng rng(5, 5, 5);
    for (double& score : calibration) score = honest_score(rng);
    EProcess process(calibration, 0.05);
    std::size_t steps = 0;
    while (process.wealth() < 1000 && steps < 1000) {
      process.update(honest_score(rng) + 4);
      ++steps;
    }
    QVERIFY2(steps < 40, number(double(steps)));
    QCOMPARE(process.observations(), steps);
    // A calibration so small that its band exceeds exp(-1) can never accuse.
    EProcess blind(std::span<const double>(calibration).first(8), 0.05);
    for (int t = 0; t < 1000; ++t) blind.update(1e9);
    QVERIFY(blind.wealth() < 20);
    QVERIFY_THROWS_EXCEPTION(Error, (void)process.update(std::nan("")));
  }

  void modelEqualityKeepsItsLevel() {
    // Two prompts with very different answers, unequally many of each: within-prompt labels keep the level.
    std::size_t alarms = 0;
    constexpr std::size_t kRounds = 1000;
    EqualityOptions options;
    options.length = 4;
    options.resamples = 99;
    for (std::size_t i = 0; i < kRounds; ++i) {
      CounterRng rng(6, 6, i);
      const auto draw = [&](int many, int few) {
        std::vector<Completion> result;
        for (int r = 0; r < many + few; ++r) {
          Completion completion{r < many ? 0 : 1, {}};
          for (int t = 0; t < 4; ++t)
            completion.tokens.push_back(static_cast<std::int32_t>(rng.below(r < many ? 2 : 5)));
          result.push_back(completion);
        }
        return result;
      };
      const auto first = draw(8, 4);
      const auto second = draw(4, 8);
      options.seed = i;
      alarms += test_model_equality(first, second, options).p_value <= 0.05 ? 1 : 0;
    }
    QVERIFY2(keeps(alarms, kRounds, 0.05), number(double(alarms) / kRounds));
  }
};

QTEST_APPLESS_MAIN(TestMonteCarlo)
#include "test_monte_carlo.moc"
