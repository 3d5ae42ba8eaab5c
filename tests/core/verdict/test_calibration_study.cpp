// What a calibration promises and sees, over the sample case: trusted logs, one like them, one clearly off.
#include "core/verdict/calibration_study.h"

#include <QtTest>
#include <cmath>

#include "core/report/sample_case.h"
#include "core/util/error.h"

using namespace difr;

class TestCalibrationStudy : public QObject {
  Q_OBJECT
  QTemporaryDir folder_;
  test::SampleCase sample_;

  [[nodiscard]] CaseFile open() const { return CaseFile::open(sample_.case_path, OpenMode::read_only); }
  static std::int64_t id_of(const CaseFile& file, const std::string& name) {
    for (const auto& provider : file.providers())
      if (provider.config.name == name) return provider.id;
    return 0;
  }

 private slots:
  void initTestCase() {
    sample_ = test::make_sample_case(folder_.path().toStdString());
    // More matches than "far-off", for which the pipeline goes looking for another sampler.
    CaseFile file = CaseFile::open(sample_.case_path, OpenMode::read_write);
    std::vector<ScoredProvider> scored;
    test::add_scored_provider(file, file.sources().front().id, file.latest_run()->id, ProviderRole::subject, "off",
                              0.25, 0.8, 4, scored);
  }

  void promises_follow_wilks() {
    const CaseFile file = open();
    const CalibrationStudy study = study_calibration(file, 0, {});
    QCOMPARE(study.request_scores.size(), study.facts.requests);
    QVERIFY(std::ranges::is_sorted(study.request_scores));
    QVERIFY(!study.power);
    for (const TolerancePromise& promise : study.promises) {
      // 1 - (1 - alpha)^n >= 1 - delta, the textbook condition for the largest of n values.
      const double n = static_cast<double>(study.request_scores.size());
      QCOMPARE(promise.limit.limit.has_value(), std::pow(1 - promise.alpha, n) <= 0.05);
    }
    QVERIFY(study.promises.front().limit.limit.has_value());
    QVERIFY(!study.promises.back().limit.limit.has_value());
    QVERIFY(study.hold_out.p_value > 0.01);  // halves of one run agree
  }

  void off_needs_fewer_tokens_than_like_trusted() {
    const CaseFile file = open();
    const auto off = study_calibration(file, id_of(file, "off"), {});
    const auto like = study_calibration(file, id_of(file, "like-trusted"), {});
    QVERIFY(off.power && like.power);
    QVERIFY2(off.power->roc_auc > 0.95, qPrintable(QString::number(off.power->roc_auc)));
    QVERIFY(like.power->roc_auc > 0.3 && like.power->roc_auc < 0.7);
    QVERIFY(!off.power->margin.empty() && !off.power->gap.empty());
    QVERIFY(off.power->margin.back().tokens <= off.power->tokens);
    QVERIFY(off.power->margin.back().tpr_1 > 0.9);
    QVERIFY(like.power->margin.back().tpr_1 < 0.5);
    for (const PowerPoint& point : off.power->margin)
      QVERIFY(point.auc_band.low <= point.auc + 0.05 && point.auc_band.high >= point.auc - 0.05);
  }

  void same_runs_are_one_environment() {
    CaseFile file = CaseFile::open(sample_.case_path, OpenMode::read_write);
    const auto run = file.latest_run();
    Calibration again = file.calibrations().front();
    file.store_calibration(run->id, again);
    QCOMPARE(study_calibration(file, 0, {}).environments.size(), std::size_t(1));
    again.environment = "another machine";
    for (float& margin : again.margin) margin *= 1.5F;
    file.store_calibration(run->id, again);
    const auto study = study_calibration(file, 0, {});
    QCOMPARE(study.environments.size(), std::size_t(2));
    QVERIFY(study.environments.front().studied);
    QVERIFY(study.environments.back().drift.has_value());
    QVERIFY(std::isfinite(study.mixture_threshold));
    // Another sampling cannot be compared, and says so.
    again.sampling.temperature = 0.5;
    file.store_calibration(run->id, again);
    const auto mixed = study_calibration(file, 0, {});
    QCOMPARE(mixed.environments.size(), std::size_t(3));
    QVERIFY(!mixed.environments.back().drift && !mixed.environments.back().incomparable.empty());
  }

  void stops_and_refuses() {
    const CaseFile file = open();
    std::stop_source stop;
    stop.request_stop();
    (void)study_calibration(file, id_of(file, "off"), {}, stop.get_token());
    const auto empty = CaseFile::open(sample_.folder / "empty.difr", OpenMode::create_or_open);
    QVERIFY_THROWS_EXCEPTION(Error, (void)study_calibration(empty, 0, {}));
  }
};

QTEST_APPLESS_MAIN(TestCalibrationStudy)
#include "test_calibration_study.moc"
