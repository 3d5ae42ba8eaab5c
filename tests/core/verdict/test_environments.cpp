#include <QtTest>

#include "core/util/error.h"
#include "core/verdict/environments.h"
#include "core/verdict/gap_power.h"
#include "core/verdict/simulated.h"

using namespace difr;

namespace {

Calibration calibrate(const std::string& name, const simulated::Recipe& recipe, std::uint64_t seed) {
  const ScoredProvider trusted = simulated::provider(name, recipe, seed);
  return make_calibration(name, std::span(&trusted, 1), "simulated");
}

}  // namespace

class TestEnvironments : public QObject {
  Q_OBJECT

 private slots:
  void bestCandidateDecides() {
    const std::vector<Calibration> candidates = {calibrate("narrow", {.sigma = 0.02}, 1),
                                                 calibrate("wide", {.sigma = 0.06}, 2)};
    const std::vector<ScoredProvider> providers = {simulated::provider("wide honest", {.sigma = 0.06}, 3),
                                                   simulated::provider("narrow honest", {.sigma = 0.02}, 4),
                                                   simulated::provider("neither", {.sigma = 0.3}, 5)};
    const EnvelopeDecisions result = decide_over_environments(candidates, providers);
    QCOMPARE(result.decisions.providers[0].verdict, Outcome::pass);
    QCOMPARE(result.calibration[0], std::size_t{1});
    QCOMPARE(result.decisions.providers[1].verdict, Outcome::pass);
    QCOMPARE(result.decisions.providers[2].verdict, Outcome::fail);
    QCOMPARE(result.decisions.requests.size(), std::size_t{3 * 96});
    QVERIFY(result.decisions.providers[0].reason.find("wide") != std::string::npos);
    // Against the narrow environment alone the first would have failed.
    QCOMPARE(decide(candidates[0], std::span(providers).first(1)).providers[0].verdict, Outcome::fail);
    QVERIFY_THROWS_EXCEPTION(Error, (void)decide_over_environments({}, providers));
  }

  void driftAndHoldOut() {
    const Calibration calibration = calibrate("a", {.requests = 200}, 1);
    const HoldOut halves = split_calibration(calibration);
    QCOMPARE(halves.even.requests() + halves.odd.requests(), calibration.requests());
    QCOMPARE(halves.even.tokens() + halves.odd.tokens(), calibration.tokens());
    QVERIFY(check_drift(halves.even, halves.odd).p_value > 0.01);
    const DriftCheck drift = check_drift(calibration, calibrate("b", {.requests = 200, .sigma = 0.04}, 2));
    QVERIFY(drift.p_value <= 0.001 && drift.newer_score > drift.older_score);
    Calibration other = calibration;
    other.sampling.temperature = 0.5;
    QVERIFY_THROWS_EXCEPTION(Error, (void)check_drift(calibration, other));
  }

  void mixtureWidensTheBand() {
    const std::vector<Calibration> environments = {calibrate("narrow", {.sigma = 0.02}, 1),
                                                   calibrate("wide", {.sigma = 0.06}, 2)};
    const MixtureEffect effect = mixture_effect(environments, 96);
    QVERIFY(effect.alone[0] < effect.mixture);
    QVERIFY(effect.alone[0] < effect.alone[1]);
  }

  void gapStatisticSeesMoreThanTheMargin() {
    const Calibration calibration = calibrate("cal", {.requests = 200}, 1);
    const auto judged = [&](const simulated::Recipe& recipe, std::uint64_t seed) {
      std::vector<JudgedRequest> requests;
      for (const RequestScores& request : simulated::provider("p", recipe, seed).requests) {
        requests.push_back(judged_request(request.scores, calibration.noise_sigma));
      }
      return requests;
    };
    const auto honest = judged({.requests = 200}, 2);
    const auto noisy = judged({.requests = 200, .sigma = 0.035}, 3);
    PowerOptions options;
    options.budgets = {1000};
    options.bootstraps = 0;
    const double margin =
        power_by_tokens(margin_features(honest, calibration.clip), margin_features(noisy, calibration.clip), options)[0]
            .auc;
    const double gap =
        power_by_tokens(gap_features(honest, calibration.noise_sigma), gap_features(noisy, calibration.noise_sigma),
                        options, gap_pool_score(calibration))[0]
            .auc;
    QVERIFY2(margin > 0.75 && margin < 0.9999, qPrintable(QString::number(margin)));
    QVERIFY2(gap > margin, qPrintable(QString("%1 %2").arg(gap).arg(margin)));
  }
};

QTEST_APPLESS_MAIN(TestEnvironments)
#include "test_environments.moc"
