// Model Equality Testing against the public code's numbers (tests/data/auc), RUT, cross-entropy and the covert channel.

#include <QtTest>
#include <numeric>

#include "core/statistics/counter_rng.h"
#include "core/statistics/covert_channel.h"
#include "core/statistics/cross_entropy.h"
#include "core/statistics/golden.h"
#include "core/statistics/model_equality.h"
#include "core/statistics/rank_uniformity.h"
#include "core/util/error.h"

using namespace difr;
using golden::near;

namespace {

std::vector<Completion> completions(const golden::Tensors& tensors, const std::string& name) {
  const std::vector<double> rows = tensors.values(name);
  const std::size_t columns = tensors.columns(name);
  std::vector<Completion> result;
  for (std::size_t at = 0; at < rows.size(); at += columns) {
    Completion completion;
    completion.prompt = static_cast<int>(rows[at]);
    for (std::size_t c = 1; c < columns && rows[at + c] >= 0; ++c)
      completion.tokens.push_back(static_cast<std::int32_t>(rows[at + c]));
    result.push_back(completion);
  }
  return result;
}

}  // namespace

class TestBaselines : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { QVERIFY(parser_.load(DIFR_TEST_DATA "/auc/stats.json").get(stats_) == simdjson::SUCCESS); }
  void mmdAgreesWithThePublicCode();
  void mmdNullOfStoredPermutations();
  void mmdPValues();
  void paddingIsNoMatch();
  void ranksAreUniform();
  void crossEntropyIsTwoSided();
  void likelihoodScores();
  void covertChannel();

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element stats_;
  golden::Tensors tensors_{DIFR_TEST_DATA "/auc/stats.safetensors"};
};

void TestBaselines::mmdAgreesWithThePublicCode() {
  int compared = 0;
  for (const auto [key, expected] : simdjson::dom::object(stats_["mmd"])) {
    const std::string name(key);
    const auto first = completions(tensors_, "mmd." + name + ".seq1");
    const auto second = completions(tensors_, "mmd." + name + ".seq2");
    EqualityOptions options;
    options.length = static_cast<std::size_t>(golden::number(expected["L"]));
    options.padding_matches = true;
    const double want = golden::number(expected["stat"]);
    if (std::isnan(want)) {
      QVERIFY_THROWS_EXCEPTION(Error, (void)hamming_mmd2(first, second, options));
      QVERIFY_THROWS_EXCEPTION(Error, (void)test_model_equality(first, second, options));
    } else {
      QVERIFY2(near(hamming_mmd2(first, second, options), want, 0, 1e-13), key.data());
    }
    ++compared;
  }
  QCOMPARE(compared, 6);
}

void TestBaselines::mmdNullOfStoredPermutations() {
  for (const char* name : {"same", "diff", "unequal", "padded", "one_prompt"}) {
    const std::string stem = "mmd." + std::string(name);
    std::vector<Completion> pooled = completions(tensors_, stem + ".seq1");
    const std::size_t n = pooled.size();
    const auto second = completions(tensors_, stem + ".seq2");
    pooled.insert(pooled.end(), second.begin(), second.end());
    const std::vector<double> order = tensors_.values(stem + ".perms");
    const std::vector<double> null = tensors_.values(stem + ".null");
    EqualityOptions options;
    options.length = static_cast<std::size_t>(golden::number(stats_["mmd"][name]["L"]));
    options.padding_matches = true;
    for (std::size_t b = 0; b < 40; ++b) {
      std::vector<Completion> shuffled;
      for (std::size_t i = 0; i < pooled.size(); ++i)
        shuffled.push_back(pooled[static_cast<std::size_t>(order[b * pooled.size() + i])]);
      QVERIFY(
          near(hamming_mmd2(std::span(shuffled).first(n), std::span(shuffled).subspan(n), options), null[b], 0, 1e-13));
    }
  }
}

void TestBaselines::mmdPValues() {
  for (const PermuteWithin permute : {PermuteWithin::prompt, PermuteWithin::all}) {
    EqualityOptions options;
    options.permute = permute;
    const auto run = [&](const char* name) {
      const std::string stem = "mmd." + std::string(name);
      return test_model_equality(completions(tensors_, stem + ".seq1"), completions(tensors_, stem + ".seq2"), options);
    };
    const EqualityResult different = run("diff");
    QCOMPARE(different.p_value, 1.0 / 1001);  // never 0, where the public code says 0
    const EqualityResult same = run("same");
    // The public code's own p with the +1 is 0.537 from 200 permutations: standard error 0.035.
    QVERIFY(near(same.p_value, golden::number(stats_["mmd"]["same"]["pvalue_plus1"]), 0, 0.13));
    QVERIFY(run("same").p_value == same.p_value);
  }
}

void TestBaselines::paddingIsNoMatch() {
  const Completion a{0, {1, 2}};
  const Completion b{0, {3, 4}};
  EqualityOptions options;
  options.length = 12;
  QCOMPARE(hamming_kernel(a, b, options), 0.0);
  QCOMPARE(hamming_kernel(a, a, options), 1.0);
  options.padding_matches = true;
  QVERIFY(near(hamming_kernel(a, b, options), 10.0 / 12, 1e-15));
}

void TestBaselines::ranksAreUniform() {
  const std::vector<std::int32_t> ranks = {0, 1, 9};
  QVERIFY(near(log_rank_score(ranks), (std::log(2.0) + std::log(10.0)) / 3, 1e-14));
  // Scores on four levels, so mostly ties: honest percentiles must be uniform all the same.
  const auto prompts = [](double shift) {
    std::vector<RankedPrompt> result(400);
    CounterRng rng(3, 1, 4);
    for (RankedPrompt& prompt : result) {
      prompt.response = std::floor(4 * std::min(0.999, rng.uniform() + shift));
      for (int i = 0; i < 20; ++i) prompt.references.push_back(std::floor(4 * rng.uniform()));
    }
    return result;
  };
  QVERIFY(rank_uniformity_test(prompts(0), 5).cramer_von_mises.p_value > 0.01);
  QVERIFY(rank_uniformity_test(prompts(0.15), 5).cramer_von_mises.p_value < 1e-4);
  RankedPrompt empty;
  QVERIFY_THROWS_EXCEPTION(Error, (void)rank_percentile(empty, 1, 1));
}

void TestBaselines::crossEntropyIsTwoSided() {
  const auto requests = [](double mean, std::uint64_t seed) {
    std::vector<RequestEntropy> result;
    CounterRng rng(seed, 1, 1);
    for (int r = 0; r < 96; ++r) result.push_back({120 * (mean + 0.3 * (rng.uniform() - 0.5)), 120});
    return result;
  };
  const auto trusted = requests(2.7, 1);
  QVERIFY(test_cross_entropy(trusted, requests(2.7, 2), 2000, 9).p_value > 0.01);
  for (const double mean : {2.5, 2.9}) {
    const EntropyTest test = test_cross_entropy(trusted, requests(mean, 3), 2000, 9);
    QCOMPARE(test.p_value, 1.0 / 2001);
    QVERIFY(near(test.mean, mean, 0, 0.03) && near(test.calibration_mean, 2.7, 0, 0.03));
  }
  QVERIFY_THROWS_EXCEPTION(Error, (void)test_cross_entropy(trusted, {}, 100, 9));
}

void TestBaselines::likelihoodScores() {
  // scipy: log_ndtr(-margin/(sqrt2 sigma)); log(ndtr((C_i-u)/s) - ndtr((C_{i-1}-u)/s) + 1e-12)
  QVERIFY(near(gumbel_likelihood_score(0, 0.03), std::log(0.5), 1e-14));
  QVERIFY(near(gumbel_likelihood_score(0.05, 0.03), -2.126144003488147, 1e-11));
  QVERIFY(near(gumbel_likelihood_score(0.3, 0.03), -27.89403672609738, 1e-11));
  QVERIFY(near(gumbel_likelihood_score(1, 0.03), -281.8584925890391, 1e-11));
  QVERIFY(std::isinf(gumbel_likelihood_score(INFINITY, 0.03)));
  QVERIFY(near(convolved_gaussian_score(0.2, 0.3, 0.25, 0.01), -5.73302308206929e-07, 1e-8));
  QVERIFY(near(convolved_gaussian_score(0.2, 0.3, 0.31, 0.01), -1.8410216450029617, 1e-12));
  QVERIFY(near(convolved_gaussian_score(0.9, 0.95, 0.2, 0.05), -27.631021115928547, 1e-12));
  QVERIFY(near(accepted_margin(-5, 0.03), 0.10483304797821097, 1e-10));  // -ndtri(exp(-5)) sqrt2 sigma
  QCOMPARE(classify_token(-0.7, 3000, {}), TokenClass::safe);
  QCOMPARE(classify_token(-9, 3, {}), TokenClass::suspicious);
  QCOMPARE(classify_token(-9, 101, {}), TokenClass::dangerous);
  QVERIFY_THROWS_EXCEPTION(Error, (void)gumbel_likelihood_score(0, 0));
}

void TestBaselines::covertChannel() {
  // Four positions with 1, 2, 4, 8 accepted tokens of 16: 0 + 1 + 2 + 3 bits of 16.
  const std::vector<std::size_t> accepted = {1, 2, 4, 8};
  CovertChannelInput input{accepted, 16};
  const CovertChannelBound bound = covert_channel_bound(input);
  QVERIFY(near(bound.bits, 6, 1e-14) && near(bound.raw_bits, 16, 1e-14) && near(bound.share, 0.375, 1e-14));
  // Exceptions are counted, never more than the raw capacity; one exception in four places of 16 kinds, or none.
  input.dangerous_allowed = 1;
  const CovertChannelBound wider = covert_channel_bound(input);
  QVERIFY(near(wider.bits, 6 + std::log2(4.0 * 16) + 1, 1e-12));
  QVERIFY(wider.bits >= 6 + std::log2(1 + 4.0 * 16));
  input.dangerous_allowed = 4;
  QVERIFY(covert_channel_bound(input).bits <= 16);
  const ExfiltrationTime time = exfiltration_time(bound, 4, 1e9, 16, 1e9);
  QVERIFY(near(time.days_unchecked, 16e9 / (4 * 1e9), 1e-12));
  QVERIFY(near(time.slowdown, 1 / 0.375, 1e-12));
  const std::vector<std::size_t> none = {1, 1};
  QVERIFY(std::isinf(exfiltration_time(covert_channel_bound({none, 16}), 2, 1e9, 16, 1e9).days));
  const std::vector<double> margins = {0, 0.01, 0.09, 0.11, INFINITY};
  QCOMPARE(accepted_tokens(margins, -5, 0.03), std::size_t{3});
  const std::vector<std::size_t> wrong = {17};
  QVERIFY_THROWS_EXCEPTION(Error, (void)covert_channel_bound({wrong, 16}));
}

QTEST_APPLESS_MAIN(TestBaselines)
#include "test_baselines.moc"
