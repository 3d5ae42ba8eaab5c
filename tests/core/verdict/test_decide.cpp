#include <simdjson.h>
#include <QtTest>
#include <cmath>
#include <limits>

#include "core/util/error.h"
#include "core/verdict/decide.h"
#include "core/verdict/noise_model.h"
#include "core/verdict/provider_test.h"
#include "core/verdict/simulated.h"

using namespace difr;
using simulated::Recipe;

namespace {

Calibration calibrate(const ScoredProvider& provider, const DecisionOptions& options = {}) {
  return make_calibration("trusted", std::span(&provider, 1), "simulated", options);
}

ProviderDecision decide_alone(const Calibration& calibration, const ScoredProvider& provider,
                              const DecisionOptions& options = {}) {
  return decide(calibration, std::span(&provider, 1), options).providers.at(0);
}

/// Per-token scores of the independent emulation in tests/data/expected; it knows no gaps.
ScoredProvider golden_provider(const simdjson::padded_string& json, const std::string& name) {
  simdjson::dom::parser parser;
  simdjson::dom::element document = parser.parse(json);
  ScoredProvider result;
  result.name = name;
  for (simdjson::dom::element request : document[name].get_array()) {
    RequestScores scores;
    simdjson::dom::array margins = request["margin"].get_array();
    scores.scores.resize(margins.size());
    std::size_t t = 0;
    for (simdjson::dom::element margin : margins) {
      const float value =
          margin.is_string() ? std::numeric_limits<float>::infinity() : static_cast<float>(double(margin));
      scores.scores.margin[t] = scores.scores.margin_hi[t] = value;
      scores.scores.gap[t] = std::numeric_limits<float>::quiet_NaN();
      ++t;
    }
    t = 0;
    for (simdjson::dom::element match : request["exact_match"].get_array()) {
      scores.scores.flags[t++] = std::int64_t(match) != 0 ? TokenFlag::exact_match : 0;
    }
    result.requests.push_back(scores);
  }
  return result;
}

}  // namespace

class TestDecide : public QObject {
  Q_OBJECT

 private slots:
  void fitRecoversTheNoise();
  void fitSurvivesOutliersAndPerfection();
  void clipIsTheQuantileOfTrustedMargins();
  void honestPassesAndOthersFail();
  void transfersToAnotherSampling();
  void misfitForbidsTransfer();
  void whatCapsAtUndetermined();
  void smallCalibrationSaysWhatItNeeds();
  void refusedTokensDoNotCount();
  void filteredTokensCountAsTheClip();
  void requestsAreCorrectedForNumber();
  void sameSeedSameAnswer();
  void goldenScoresAtFourRequests();
  void refusesBadInput();
};

void TestDecide::fitRecoversTheNoise() {
  for (const double sigma : {0.003, 0.025, 0.2}) {
    const ScoredProvider trusted =
        simulated::provider("t", {.requests = 400, .sigma = sigma, .gap_scale = 60 * sigma}, 7);
    const Calibration calibration = calibrate(trusted);
    // About 900 mismatches carry the fit: its relative standard error is near 3 %.
    QVERIFY2(std::abs(calibration.noise_sigma / sigma - 1) <= 0.12,
             qPrintable(QString::number(calibration.noise_sigma)));
    const NoiseFit fit = check_noise_model(calibration);
    QVERIFY(fit.misfit.empty());
    QVERIFY(std::abs(fit.ratio - 1) <= 0.15);
  }
}

void TestDecide::fitSurvivesOutliersAndPerfection() {
  ScoredProvider trusted = simulated::provider("t", {.requests = 200}, 3);
  const double clean = calibrate(trusted).noise_sigma;
  trusted.requests[5].scores.gap[3] = -9;
  trusted.requests[6].scores.gap[3] = -std::numeric_limits<float>::infinity();
  trusted.requests[7].scores.gap[3] = -5;
  QVERIFY(std::abs(calibrate(trusted).noise_sigma / clean - 1) <= 0.05);

  // No mismatch at all: a sigma under which that was as likely as not, P = product of Phi.
  const std::vector<float> gaps = {0.1F, 0.4F, 2.0F, 0.2F};
  const double sigma = fit_noise_sigma(gaps);
  double log_probability = 0;
  for (const float gap : gaps) log_probability += normal_log_cdf(gap / (std::sqrt(2.0) * sigma));
  QVERIFY(std::abs(log_probability + std::log(2.0)) <= 1e-6);
}

void TestDecide::clipIsTheQuantileOfTrustedMargins() {
  ScoredProvider trusted = simulated::provider("t", {}, 11);
  const Calibration calibration = calibrate(trusted);
  std::vector<float> margins = calibration.margin;
  std::sort(margins.begin(), margins.end());
  const double position = 0.999 * static_cast<double>(margins.size() - 1);
  const auto low = static_cast<std::size_t>(position);
  const double expected = margins[low] + (position - static_cast<double>(low)) * (margins[low + 1] - margins[low]);
  QVERIFY(std::abs(calibration.clip - expected) <= 1e-6);
  QCOMPARE(calibration.requests(), trusted.requests.size());

  // Bit-exact trusted runs: the clip must not be zero, or nothing could ever be seen.
  for (RequestScores& request : trusted.requests) {
    for (std::size_t t = 0; t < request.scores.size(); ++t) {
      request.scores.margin[t] = request.scores.margin_hi[t] = 0;
      request.scores.gap[t] = request.scores.runner_up[t];
    }
  }
  const Calibration exact = calibrate(trusted);
  QVERIFY(exact.clip > 0);
  QCOMPARE(decide_alone(exact, simulated::provider("noisy", {}, 5)).verdict, Outcome::fail);
  QCOMPARE(decide_alone(exact, trusted).verdict, Outcome::pass);
}

void TestDecide::honestPassesAndOthersFail() {
  const Calibration calibration = calibrate(simulated::provider("t", {}, 1));
  const ProviderDecision honest = decide_alone(calibration, simulated::provider("honest", {}, 2));
  QCOMPARE(honest.verdict, Outcome::pass);
  QCOMPARE(honest.statistic, std::string(kClippedMargin));
  QVERIFY(honest.threshold && honest.score < *honest.threshold);
  QVERIFY(honest.score == honest.mean_clipped_margin);
  for (const Recipe& recipe : {Recipe{.sigma = 0.05}, Recipe{.sigma = 0.2}, Recipe{.corrupt_share = 0.02}}) {
    const ProviderDecision other = decide_alone(calibration, simulated::provider("other", recipe, 3));
    QCOMPARE(other.verdict, Outcome::fail);
    QVERIFY(*other.p_value <= 0.001 && other.score > *other.threshold);
    QVERIFY(*other.llr_p_value <= 0.001);
    for (const char* word : {"cheat", "evad", "intent", "quanti", "fraud"})
      QVERIFY(other.reason.find(word) == std::string::npos);
  }
}

void TestDecide::transfersToAnotherSampling() {
  const Calibration calibration = calibrate(simulated::provider("t", {}, 1));
  // Half the temperature halves the gaps between perturbed scores: raw margins double, standardised ones do not.
  ScoredProvider cool = simulated::provider("cool", {.gap_scale = 0.75}, 2);
  QCOMPARE(decide_alone(calibration, cool).verdict, Outcome::fail);
  cool.sampling.temperature = 0.5;
  const ProviderDecision decision = decide_alone(calibration, cool);
  QCOMPARE(decision.statistic, std::string(kStandardisedMargin));
  QVERIFY2(decision.verdict == Outcome::pass, decision.reason.c_str());
  QVERIFY(decision.reason.find("temperature 0.5 against 1") != std::string::npos);
  QVERIFY(std::abs(decision.score - 1) <= 0.5);
  ScoredProvider wide = simulated::provider("wide", {.sigma = 0.06, .gap_scale = 0.75}, 3);
  wide.sampling.temperature = 0.5;
  QCOMPARE(decide_alone(calibration, wide).verdict, Outcome::fail);
}

void TestDecide::misfitForbidsTransfer() {
  ScoredProvider trusted = simulated::provider("t", {}, 1);
  // Trusted runs that mismatch at clear wins as often as at near ties carry no normal noise.
  CounterRng rng(4, 4, 4);
  for (RequestScores& request : trusted.requests) {
    for (std::size_t t = 0; t < request.scores.size(); ++t) {
      const bool match = rng.uniform() > 0.01;
      request.scores.gap[t] = match ? request.scores.runner_up[t] : -request.scores.runner_up[t];
      request.scores.margin[t] = request.scores.margin_hi[t] = match ? 0 : request.scores.runner_up[t];
    }
  }
  const Calibration calibration = calibrate(trusted);
  QVERIFY(!check_noise_model(calibration).misfit.empty());
  ScoredProvider other = simulated::provider("o", {}, 9);
  other.sampling.top_p = 0.9;
  const ProviderDecision decision = decide_alone(calibration, other);
  QCOMPARE(decision.verdict, Outcome::undetermined);
  QVERIFY(decision.reason.find("calibrate with the declared sampling") != std::string::npos);
}

void TestDecide::whatCapsAtUndetermined() {
  const Calibration calibration = calibrate(simulated::provider("t", {}, 1));
  ScoredProvider bad = simulated::provider("bad", {.sigma = 0.2}, 3);
  bad.caveat = "the token ids were made from text";
  const ProviderDecision capped = decide_alone(calibration, bad);
  QCOMPARE(capped.verdict, Outcome::undetermined);
  QVERIFY(capped.reason.find(bad.caveat) != std::string::npos);
  QVERIFY(*capped.p_value <= 0.001);

  ScoredProvider empty;
  empty.name = "empty";
  QCOMPARE(decide_alone(calibration, empty).verdict, Outcome::undetermined);
  QVERIFY(!decide_alone(calibration, empty).p_value);

  // Bounds that leave both answers open.
  ScoredProvider bounded = simulated::provider("bounded", {}, 4);
  for (RequestScores& request : bounded.requests) {
    for (std::size_t t = 0; t < request.scores.size(); t += 5) {
      request.scores.margin_hi[t] = 1;
      request.scores.flags[t] |= TokenFlag::interval;
    }
  }
  const ProviderDecision open = decide_alone(calibration, bounded);
  QCOMPARE(open.verdict, Outcome::undetermined);
  QVERIFY(open.reason.find("bounded") != std::string::npos);
}

void TestDecide::smallCalibrationSaysWhatItNeeds() {
  const Calibration calibration = calibrate(simulated::provider("t", {.requests = 40}, 1));
  ScoredProvider one = simulated::provider("one", {.requests = 1, .sigma = 0.5}, 3);
  const ProviderDecision decision = decide_alone(calibration, one);
  // One of 41 requests: no permutation p-value below 1/41 exists; 999 trusted requests reach 1/1000.
  QCOMPARE(decision.verdict, Outcome::undetermined);
  QVERIFY(!decision.threshold);
  QVERIFY(*decision.p_value >= 1.0 / 42);
  QVERIFY2(decision.reason.find("calibration requests") != std::string::npos, decision.reason.c_str());
  const Calibration enough = calibrate(simulated::provider("t", {.requests = 1200}, 1));
  QCOMPARE(decide_alone(enough, one).verdict, Outcome::fail);
}

void TestDecide::refusedTokensDoNotCount() {
  const Calibration calibration = calibrate(simulated::provider("t", {}, 1));
  ScoredProvider provider = simulated::provider("p", {}, 2);
  const ProviderDecision before = decide_alone(calibration, provider);
  TokenScores& scores = provider.requests[0].scores;
  const std::size_t n = scores.size();
  scores.resize(n + 2);
  for (std::size_t t = n; t < n + 2; ++t) {
    scores.margin[t] = scores.margin_hi[t] = 1e9F;
    scores.gap[t] = scores.log_prob[t] = std::numeric_limits<float>::quiet_NaN();
  }
  scores.flags[n] = TokenFlag::refused;
  scores.flags[n + 1] = TokenFlag::no_noise;
  const ProviderDecision after = decide_alone(calibration, provider);
  QCOMPARE(after.refused_tokens, std::size_t{1});
  QCOMPARE(after.tokens, before.tokens);
  QCOMPARE(after.score, before.score);
  QCOMPARE(after.cross_entropy, before.cross_entropy);
}

void TestDecide::filteredTokensCountAsTheClip() {
  const Calibration calibration = calibrate(simulated::provider("t", {}, 1));
  ScoredProvider provider = simulated::provider("p", {}, 2);
  const double before = decide_alone(calibration, provider).score;
  TokenScores& scores = provider.requests[0].scores;
  scores.margin[4] = scores.margin_hi[4] = std::numeric_limits<float>::infinity();
  scores.gap[4] = -std::numeric_limits<float>::infinity();
  scores.flags[4] = TokenFlag::filtered;
  scores.filter_distance[4] = 2;
  const ProviderDecision far = decide_alone(calibration, provider);
  QCOMPARE(far.filtered_tokens, std::size_t{1});
  QVERIFY(std::abs(far.score - before - calibration.clip / static_cast<double>(far.tokens)) <= 1e-9);
  // At the edge, only what the noise had to bridge counts.
  scores.filter_distance[4] = static_cast<float>(calibration.noise_sigma);
  const ProviderDecision near = decide_alone(calibration, provider);
  QVERIFY(std::abs(near.score - before - calibration.noise_sigma / static_cast<double>(near.tokens)) <= 1e-9);
}

void TestDecide::requestsAreCorrectedForNumber() {
  const Calibration calibration = calibrate(simulated::provider("t", {.requests = 500}, 1));
  ScoredProvider mixed = simulated::provider("mixed", {.requests = 60}, 2);
  const ScoredProvider bad = simulated::provider("bad", {.requests = 20, .sigma = 0.3}, 3);
  mixed.requests.insert(mixed.requests.end(), bad.requests.begin(), bad.requests.end());
  const Decisions decisions = decide(calibration, std::span(&mixed, 1));
  QCOMPARE(decisions.requests.size(), std::size_t{80});
  int right = 0;
  int wrong = 0;
  for (std::size_t r = 0; r < 80; ++r) {
    const RequestDecision& request = decisions.requests[r];
    QVERIFY(request.q_value >= request.p_value && request.p_value >= 1.0 / 501);
    if (request.flagged) ++(r < 60 ? wrong : right);
  }
  QCOMPARE(right, 20);
  QVERIFY(wrong <= 4);  // false discovery rate 5 % of about 21
}

void TestDecide::sameSeedSameAnswer() {
  const Calibration calibration = calibrate(simulated::provider("t", {}, 1));
  const std::vector<ScoredProvider> two = {simulated::provider("a", {.sigma = 0.028}, 2),
                                           simulated::provider("b", {}, 3)};
  const std::vector<ScoredProvider> swapped = {two[1], two[0]};
  const Decisions first = decide(calibration, two);
  const Decisions second = decide(calibration, swapped);
  QVERIFY(*first.providers[0].p_value == *second.providers[1].p_value);
  QVERIFY(*first.providers[0].threshold == *second.providers[1].threshold);
  QVERIFY(*first.providers[1].llr_p_value == *second.providers[0].llr_p_value);
}

void TestDecide::goldenScoresAtFourRequests() {
  const auto json = simdjson::padded_string::load(DIFR_TEST_DATA "/expected/tiny_scores_float32.json");
  QVERIFY(json.error() == simdjson::SUCCESS);
  const std::vector<ScoredProvider> trusted = {golden_provider(json.value_unsafe(), "honest-calibration"),
                                               golden_provider(json.value_unsafe(), "honest")};
  const Calibration calibration = make_calibration("golden", trusted, "emulation");
  QCOMPARE(calibration.requests(), std::size_t{8});
  // 4 against 8 requests: 495 ways to split, so 0.1 % is out of reach and 1 % is not.
  const ProviderDecision strict = decide_alone(calibration, golden_provider(json.value_unsafe(), "wrong-seed"));
  QCOMPARE(strict.verdict, Outcome::undetermined);
  DecisionOptions loose;
  loose.alpha = 0.01;
  loose.warn_alpha = 0.05;
  for (const char* name : {"wrong-seed", "neighbour-seed", "int4", "fp8-kv-cache", "temp-1.1"}) {
    const ProviderDecision decision = decide_alone(calibration, golden_provider(json.value_unsafe(), name), loose);
    QVERIFY2(decision.verdict == Outcome::fail, decision.reason.c_str());
  }
}

void TestDecide::refusesBadInput() {
  ScoredProvider a = simulated::provider("a", {.requests = 5}, 1);
  ScoredProvider b = a;
  b.sampling.temperature = 0.7;
  const std::vector<ScoredProvider> unlike = {a, b};
  QVERIFY_THROWS_EXCEPTION(Error, (void)make_calibration("c", unlike, "e"));
  QVERIFY_THROWS_EXCEPTION(Error, (void)make_calibration("c", {}, "e"));
  for (RequestScores& request : a.requests)
    std::fill(request.scores.flags.begin(), request.scores.flags.end(), TokenFlag::no_noise);
  QVERIFY_THROWS_EXCEPTION(Error, (void)make_calibration("c", std::span(&a, 1), "e"));
  QVERIFY_THROWS_EXCEPTION(Error, (void)decide(Calibration{}, {}));
  DecisionOptions options;
  options.alpha = 0;
  QVERIFY_THROWS_EXCEPTION(Error, (void)decide(calibrate(simulated::provider("t", {}, 1)), {}, options));
}

QTEST_APPLESS_MAIN(TestDecide)
#include "test_decide.moc"
