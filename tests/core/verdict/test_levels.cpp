// Monte-Carlo check of the promised false-alarm rates of whole decisions: calibration fit included, honest on both
// sides.

#include <QtTest>

#include "core/statistics/intervals.h"
#include "core/verdict/decide.h"
#include "core/verdict/simulated.h"

using namespace difr;
using simulated::Recipe;

namespace {

struct Rates {
  std::size_t trials = 0;
  std::size_t margin = 0;  ///< p <= alpha
  std::size_t gap = 0;     ///< llr p <= alpha
  std::size_t above = 0;   ///< score beyond the threshold shown
  std::size_t fail = 0;
  std::size_t flagged = 0;  ///< any request flagged
};

/// Small on purpose: few requests, few mismatches and much skew are where a promise would break first.
Rates honest_rates(std::size_t trials, const Recipe& trusted, const Recipe& claimed, double claimed_temperature,
                   double alpha) {
  DecisionOptions options;
  options.alpha = alpha;
  options.warn_alpha = 2 * alpha;
  options.resamples = 1;  // raised to ten exceedances at alpha
  Rates rates;
  rates.trials = trials;
  for (std::size_t i = 0; i < trials; ++i) {
    const ScoredProvider first = simulated::provider("trusted", trusted, 2 * i);
    ScoredProvider second = simulated::provider("claimed", claimed, 2 * i + 1);
    second.sampling.temperature = claimed_temperature;
    options.seed = i;
    const Calibration calibration = make_calibration("c", std::span(&first, 1), "e", options);
    const Decisions decisions = decide(calibration, std::span(&second, 1), options);
    const ProviderDecision& decision = decisions.providers.at(0);
    rates.margin += *decision.p_value <= alpha ? 1 : 0;
    rates.gap += *decision.llr_p_value <= alpha ? 1 : 0;
    rates.above += decision.threshold && decision.score > *decision.threshold ? 1 : 0;
    rates.fail += decision.verdict == Outcome::fail ? 1 : 0;
    rates.flagged +=
        std::any_of(decisions.requests.begin(), decisions.requests.end(), [](const auto& r) { return r.flagged; }) ? 1
                                                                                                                   : 0;
  }
  return rates;
}

/// The 99 % interval of the observed rate contains the promise or lies below it.
bool keeps(std::size_t alarms, std::size_t trials, double promise) {
  return clopper_pearson_interval(alarms, trials, 0.99).low <= promise;
}

QByteArray text(std::size_t alarms, const Rates& rates) {
  return QString("%1 of %2").arg(alarms).arg(rates.trials).toUtf8();
}

}  // namespace

class TestLevels : public QObject {
  Q_OBJECT

 private slots:
  void sameSampling() {
    const Recipe recipe{.requests = 12, .tokens = 20, .gap_scale = 0.3};
    const Rates rates = honest_rates(10000, recipe, recipe, 1.0, 0.05);
    for (const std::size_t alarms : {rates.margin, rates.gap, rates.above, rates.fail, rates.flagged}) {
      QVERIFY2(keeps(alarms, rates.trials, 0.05), text(alarms, rates));
    }
    // And the test is not merely shy: a permutation test spends most of its level.
    QVERIFY2(rates.margin > rates.trials * 3 / 100, text(rates.margin, rates));
  }
  void unequalSizes() {
    const Recipe many{.requests = 30, .tokens = 20, .gap_scale = 0.3};
    const Recipe few{.requests = 4, .tokens = 20, .gap_scale = 0.3};
    const Rates rates = honest_rates(1000, many, few, 1.0, 0.05);
    for (const std::size_t alarms : {rates.margin, rates.gap, rates.above, rates.fail})
      QVERIFY2(keeps(alarms, rates.trials, 0.05), text(alarms, rates));
  }
  void otherSampling() {
    // Halving the temperature halves the gaps: twice the mismatches, honest all the same.
    const Recipe warm{.requests = 16, .tokens = 20, .gap_scale = 0.3};
    const Recipe cool{.requests = 16, .tokens = 20, .gap_scale = 0.15};
    const Rates rates = honest_rates(1000, warm, cool, 0.5, 0.05);
    for (const std::size_t alarms : {rates.margin, rates.gap, rates.above, rates.fail})
      QVERIFY2(keeps(alarms, rates.trials, 0.05), text(alarms, rates));
  }
};

QTEST_APPLESS_MAIN(TestLevels)
#include "test_levels.moc"
