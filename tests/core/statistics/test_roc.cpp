// ROC, AUC and standardised partial AUC against scikit-learn 1.9 and the public DiFR code (tests/data/auc).

#include <QtTest>

#include "core/statistics/golden.h"
#include "core/statistics/power.h"
#include "core/statistics/roc.h"
#include "core/statistics/two_sample.h"
#include "core/util/error.h"

using namespace difr;
using golden::near;

class TestRoc : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { QVERIFY(parser_.load(DIFR_TEST_DATA "/auc/auc.json").get(auc_) == simdjson::SUCCESS); }
  void casesOfScikitLearn();
  void tokenScores();
  void bucketsOfThePublicCode();
  void curvesPointByPoint();
  void powerGrowsWithTokens();
  void poolingMatchesTheSample();
  void refusesBadInput();

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element auc_;
  golden::Tensors tensors_{DIFR_TEST_DATA "/auc/auc.safetensors"};
};

void TestRoc::casesOfScikitLearn() {
  int compared = 0;
  for (simdjson::dom::element item : auc_["pauc_cases"].get_array()) {
    const std::vector<double> labels = golden::numbers(item["y"]);
    const std::vector<double> scores = golden::numbers(item["s"]);
    std::vector<double> negatives;
    std::vector<double> positives;
    for (std::size_t i = 0; i < labels.size(); ++i) (labels[i] > 0 ? positives : negatives).push_back(scores[i]);
    const RocCurve curve = roc_curve(negatives, positives);
    QVERIFY(near(auc(curve), golden::number(item["auc"]), 1e-13, 1e-15));
    for (const auto& [key, cut] : {std::pair{"sk_pauc0.01", 0.01}, {"sk_pauc0.1", 0.1}, {"sk_pauc0.5", 0.5}}) {
      QVERIFY(near(partial_auc(curve, cut), golden::number(item[key]), 1e-12));
      ++compared;
    }
    QVERIFY(near(partial_auc(curve, 1), golden::number(item["peer_pauc1.0"]), 1e-13, 1e-15));
  }
  QVERIFY(compared >= 18);
}

void TestRoc::tokenScores() {
  // The goldens clip margins at 0.5, as the public classifier does.
  const auto clipped = [&](const std::string& name) {
    std::vector<double> margins = tensors_.values(name + ".margin");
    for (double& margin : margins) margin = std::min(margin, 0.5);
    return margins;
  };
  const std::vector<double> trusted = clipped("trusted");
  for (const auto [key, expected] : simdjson::dom::object(auc_["direct"])) {
    const std::vector<double> other = clipped(std::string(key));
    const RocCurve curve = roc_curve(trusted, other, PositiveClass::untrusted);
    QVERIFY(near(auc(curve), golden::number(expected["auc"]), 1e-12));
    QVERIFY(near(partial_auc(curve, 0.01), golden::number(expected["pauc0.01"]), 1e-12));
    const TestResult rank_sum = mann_whitney(other, trusted, Side::greater, PMethod::asymptotic);
    QCOMPARE(rank_sum.statistic, golden::number(expected["mannwhitney_U"]));
    QVERIFY(near(rank_sum.p_value, golden::number(expected["mannwhitney_p_greater"]), 1e-9));
    // U and the area are the same number.
    QVERIFY(near(auc(curve), rank_sum.statistic / (double(trusted.size()) * double(other.size())), 1e-12));
  }
}

void TestRoc::bucketsOfThePublicCode() {
  int compared = 0;
  for (const char* provider : {"fp8", "int4", "wrong_seed"}) {
    for (const int bucket : {10, 30, 100, 300}) {
      const std::string stem = std::string(provider) + ".b" + std::to_string(bucket);
      const std::vector<double> means = tensors_.values("bucket." + stem + ".X");
      const std::size_t half = means.size() / 2;  // trusted buckets first
      std::vector<double> trusted;
      std::vector<double> untrusted;
      for (const double i : tensors_.values("test_idx." + stem)) {
        const auto at = static_cast<std::size_t>(i);
        (at < half ? trusted : untrusted).push_back(means[at]);
      }
      const simdjson::dom::element expected =
          auc_["results"][std::string(provider) + ".margin.b" + std::to_string(bucket)];
      QCOMPARE(static_cast<double>(trusted.size() + untrusted.size()), golden::number(expected["n_test"]));
      const RocCurve theirs = roc_curve(trusted, untrusted, PositiveClass::trusted);
      QVERIFY(near(auc(theirs), golden::number(expected["auc"]), 1e-12));
      QVERIFY(near(partial_auc(theirs, 0.01), golden::number(expected["std_pauc_fpr0.01"]), 1e-12));
      const RocCurve ours = roc_curve(trusted, untrusted, PositiveClass::untrusted);
      QVERIFY(near(partial_auc(ours, 0.01), golden::number(expected["sklearn_pauc0.01_positive_untrusted"]), 1e-12));
      ++compared;
    }
  }
  QCOMPARE(compared, 12);
}

void TestRoc::curvesPointByPoint() {
  for (const char* stem : {"fp8.b100", "int4.b30", "wrong_seed.b300"}) {
    const std::vector<double> means = tensors_.values("bucket." + std::string(stem) + ".X");
    std::vector<double> trusted;
    std::vector<double> untrusted;
    for (const double i : tensors_.values("test_idx." + std::string(stem))) {
      const auto at = static_cast<std::size_t>(i);
      (at < means.size() / 2 ? trusted : untrusted).push_back(means[at]);
    }
    const RocCurve curve = roc_curve(trusted, untrusted, PositiveClass::trusted);
    // scikit-learn drops collinear points: each of its points is one of ours.
    const std::vector<double> fpr = tensors_.values("roc." + std::string(stem) + ".fpr");
    const std::vector<double> tpr = tensors_.values("roc." + std::string(stem) + ".tpr");
    for (std::size_t k = 0; k < fpr.size(); ++k) {
      bool found = false;
      for (std::size_t i = 0; i < curve.fpr.size(); ++i)
        found |= near(curve.fpr[i], fpr[k], 0, 1e-12) && near(curve.tpr[i], tpr[k], 0, 1e-12);
      QVERIFY2(found, stem);
    }
  }
}

void TestRoc::powerGrowsWithTokens() {
  const auto features = [&](const std::string& name) {
    std::vector<double> margins = tensors_.values(name + ".margin");
    for (double& margin : margins) margin = std::min(margin, 0.5);
    TokenFeatures result(1);
    for (std::size_t at = 0; at < margins.size(); at += 100) {
      result.add_request(std::span(margins).subspan(at, std::min<std::size_t>(100, margins.size() - at)));
    }
    return result;
  };
  PowerOptions options;
  options.budgets = {1, 30, 300};
  options.pools = 1000;
  options.bootstraps = 20;
  options.pooling = Pooling::tokens;
  const std::vector<PowerPoint> points = power_by_tokens(features("trusted"), features("int4"), options);
  QVERIFY(points[0].auc < points[1].auc && points[1].auc < points[2].auc);
  // One token: pools are single draws, so the area is that of the token scores, up to 1,000 draws (s.e. 0.013).
  QVERIFY(near(points[0].auc, golden::number(auc_["direct"]["int4"]["auc"]), 0, 0.04));
  for (const PowerPoint& point : points) {
    QVERIFY(point.auc_band.low <= point.auc + 0.03 && point.auc <= point.auc_band.high + 0.03);
    QVERIFY(point.tpr_1 >= 0 && point.tpr_001 <= point.tpr_1);
  }
  const std::vector<PowerPoint> again = power_by_tokens(features("trusted"), features("int4"), options);
  QVERIFY(again[1].auc == points[1].auc && again[2].auc_band.low == points[2].auc_band.low);
}

void TestRoc::poolingMatchesTheSample() {
  // Every pool holds exactly n tokens, and its mean is unbiased for the tokens of equally long requests.
  TokenFeatures features(2);
  for (int r = 0; r < 30; ++r) {
    std::vector<double> values;
    for (int t = 0; t < 20; ++t) values.insert(values.end(), {1.0, r + 0.1 * t});
    features.add_request(values);
  }
  for (const Pooling pooling : {Pooling::requests, Pooling::tokens}) {
    const auto ones = pooled_scores(features, 33, pooling, 500, 1, 2, [](auto means) { return means[0]; });
    for (const double one : ones) QVERIFY(near(one, 1, 1e-12));
    const auto means = pooled_scores(features, 33, pooling, 4000, 1, 2, [](auto m) { return m[1]; });
    double sum = 0;
    for (const double mean : means) sum += mean;
    QVERIFY(near(sum / 4000, 14.5 + 0.95, 0, 0.4));
  }
}

void TestRoc::refusesBadInput() {
  const std::vector<double> fine = {1, 2};
  const std::vector<double> nan = {1, std::nan("")};
  QVERIFY_THROWS_EXCEPTION(Error, (void)roc_curve(fine, {}));
  QVERIFY_THROWS_EXCEPTION(Error, (void)roc_curve(nan, fine));
  QVERIFY_THROWS_EXCEPTION(Error, (void)partial_auc(roc_curve(fine, fine), 0));
  TokenFeatures features(1);
  QVERIFY_THROWS_EXCEPTION(Error, features.add_request(nan));
  QVERIFY_THROWS_EXCEPTION(Error, (void)power_by_tokens(features, features, {}));
}

QTEST_APPLESS_MAIN(TestRoc)
#include "test_roc.moc"
