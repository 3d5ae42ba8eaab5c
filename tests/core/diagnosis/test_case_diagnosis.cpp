// A diagnosis of the sample case: its ranking, what it cannot separate, its progress and its end on request.
#include "core/diagnosis/case_diagnosis.h"

#include <QtTest>
#include <algorithm>

#include "core/report/sample_case.h"

using namespace difr;

class TestCaseDiagnosis : public QObject {
  Q_OBJECT
  QTemporaryDir folder_;
  std::optional<CaseFile> file_;

  [[nodiscard]] Diagnosis diagnose(DiagnosisOptions options, std::stop_token stop = {}) const {
    const auto providers = file_->providers();
    const auto subject = std::ranges::find(providers, ProviderRole::subject, &ProviderRow::role);
    return diagnose_provider(*file_, *file_->latest_run(), *subject, std::move(options), stop);
  }

 private slots:
  void initTestCase() {
    const auto sample = test::make_sample_case(folder_.path().toStdString());
    file_.emplace(CaseFile::open(sample.case_path, OpenMode::read_only));
  }

  void gaps_and_pairs_agree() {
    DiagnosisOptions options;
    options.max_tokens = 400;
    std::vector<std::size_t> steps;
    std::size_t of = 0;
    options.progress = [&](std::size_t done, std::size_t total) {
      steps.push_back(done);
      of = total;
    };
    const Diagnosis found = diagnose(options);
    QVERIFY(!found.explanations.empty());
    QCOMPARE(found.separation, options.separation);
    QCOMPARE(steps.size(), of);
    QCOMPARE(of, found.explanations.size());
    QVERIFY(std::ranges::is_sorted(steps));
    double least = INFINITY;
    for (const Explanation& a : found.explanations) {
      least = std::min(least, nats_behind(found, a));
      const auto alike = inseparable_from(found, a.kind);
      for (const Explanation& b : found.explanations) {
        if (a.kind == b.kind) continue;
        const bool close = std::abs(a.log_likelihood - b.log_likelihood) <= found.separation;
        QCOMPARE(std::ranges::count(alike, b.kind) == 1, close);
      }
    }
    QCOMPARE(least, 0.0);
    // The one named first is never told apart from the best one.
    QVERIFY(nats_behind(found, found.explanations.front()) <= found.separation);
  }

  void ends_on_request() {
    std::stop_source stop;
    DiagnosisOptions options;
    options.max_tokens = 400;
    options.progress = [&](std::size_t done, std::size_t) {
      if (done == 2) stop.request_stop();
    };
    // What was under way when the stop came is left out: it is not a fit.
    QCOMPARE(diagnose(options, stop.get_token()).explanations.size(), std::size_t(2));
  }
};

QTEST_APPLESS_MAIN(TestCaseDiagnosis)
#include "test_case_diagnosis.moc"
