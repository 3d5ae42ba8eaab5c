// Trying other levels gives what deciding at them would store; signatures know which decision they are about.
#include "core/verdict/decision_preview.h"

#include <QtTest>
#include <map>

#include "core/report/sample_case.h"
#include "core/statistics/multiple_testing.h"
#include "core/util/error.h"
#include "core/verdict/case_pipeline.h"
#include "core/verdict/sign_off.h"

using namespace difr;

class TestDecisionPreview : public QObject {
  Q_OBJECT
  QTemporaryDir folder_;
  test::SampleCase sample_;

 private slots:
  void initTestCase() { sample_ = test::make_sample_case(folder_.path().toStdString()); }

  void preview_is_what_deciding_stores() {
    CaseFile file = CaseFile::open(sample_.case_path, OpenMode::read_write);
    for (const double alpha : {0.001, 0.05}) {
      DecisionOptions options;
      options.alpha = alpha;
      options.request_alpha = 0.2;
      const DecisionMaterial material = load_decision_material(file);
      const DecisionPreview preview = preview_decision(material, options);
      PipelineOptions pipeline;
      pipeline.decision = options;
      const CaseDecision decided = decide_case(file, pipeline);
      QCOMPARE(preview.providers.size(), decided.decisions.providers.size());
      for (std::size_t i = 0; i < preview.providers.size(); ++i) {
        const ProviderDecision& a = preview.providers[i].decision;
        const ProviderDecision& b = decided.decisions.providers[i];
        QCOMPARE(a.name, b.name);
        QCOMPARE(a.verdict, b.verdict);
        QCOMPARE(a.score, b.score);
        QCOMPARE(a.p_value, b.p_value);
        QCOMPARE(a.threshold, b.threshold);
        std::size_t flagged = 0;
        for (const RequestDecision& request : file.request_decisions(b.provider_id)) flagged += request.flagged;
        QCOMPARE(preview.providers[i].flagged, flagged);
        QVERIFY(preview.providers[i].q_value >= a.p_value.value_or(1));
      }
      QCOMPARE(preview.any_false_alarm, alpha * static_cast<double>(preview.providers.size()));
    }
  }

  void flag_limit_is_where_benjamini_hochberg_begins() {
    for (const std::size_t trusted : {3U, 19U, 96U, 2000U})
      for (const std::size_t claimed : {1U, 5U, 96U})
        for (const double level : {0.01, 0.05, 0.2}) {
          const FlagLimit limit = flag_limit(trusted, claimed, level);
          // The smallest number of best-possible p-values, the rest at 1, that the correction lets through.
          std::size_t found = 0;
          for (std::size_t k = 1; k <= claimed && found == 0; ++k) {
            std::vector<double> p(claimed, 1.0);
            std::fill_n(p.begin(), k, limit.smallest_p);
            if (benjamini_hochberg(p).front() <= level) found = k;
          }
          QCOMPARE(limit.together, found);
          QCOMPARE(flag_limit(limit.needed_for_one, claimed, level).together, std::size_t(1));
          if (limit.needed_for_one > 0) QVERIFY(flag_limit(limit.needed_for_one - 1, claimed, level).together != 1);
        }
  }

  void says_what_cannot_be_supported() {
    const CaseFile file = CaseFile::open(sample_.case_path, OpenMode::read_only);
    const DecisionMaterial material = load_decision_material(file);
    DecisionOptions options;
    options.request_alpha = 0.01;  // 60 requests against 60: 1/61 > 0.01
    const DecisionPreview strict = preview_decision(material, options);
    QCOMPARE(strict.cannot.size(), std::size_t(1));
    QVERIFY(strict.cannot.front().starts_with("No request of "));
    QVERIFY(strict.cannot.front().find("5999 trusted requests") != std::string::npos);
    // One request on either side: no p-value reaches 0.1 %.
    DecisionMaterial tiny = material;
    for (ScoredProvider& subject : tiny.subjects) subject.requests.resize(1);
    tiny.calibration.offsets.resize(3);
    for (auto* values : {&tiny.calibration.margin, &tiny.calibration.gap, &tiny.calibration.runner_up})
      values->resize(tiny.calibration.offsets.back());
    const DecisionPreview small = preview_decision(tiny, {});
    QVERIFY(small.cannot.front().find("out of reach for like-trusted, far-off") != std::string::npos);
    std::stop_source stop;
    stop.request_stop();
    QVERIFY(preview_decision(material, options, stop.get_token()).providers.empty());
    QVERIFY_THROWS_EXCEPTION(
        Error, (void)load_decision_material(CaseFile::open(sample_.folder / "empty.difr", OpenMode::create_or_open)));
  }

  void signatures() {
    CaseFile file = CaseFile::open(sample_.case_path, OpenMode::read_write);
    const auto decisions = file.decisions();
    const DecisionOptions options = stored_decision_options(file);
    QVERIFY_THROWS_EXCEPTION(Error, (void)make_sign_off(decisions[0], "c", options, " ", "why"));
    QVERIFY_THROWS_EXCEPTION(Error, (void)make_sign_off(decisions[0], "c", options, "A. Auditor", "\n "));
    const auto id = file.add_finding(make_sign_off(decisions[0], "c", options, " A. Auditor ", "seen by two\npeople"));
    file.add_finding({0, {}, decisions[0].provider_id, -1, "note", "no signature", "B", {}});
    auto signed_off = sign_offs(file.findings(), decisions, "c", options);
    QCOMPARE(signed_off.size(), std::size_t(1));
    QCOMPARE(signed_off[0].finding_id, id);
    QCOMPARE(signed_off[0].author, std::string("A. Auditor"));
    QCOMPARE(signed_off[0].reason, std::string("seen by two\npeople"));
    QVERIFY(signed_off[0].current);
    QVERIFY(!sign_offs(file.findings(), decisions, "another calibration", options)[0].current);
    auto changed = decisions;
    changed[0].score *= 1.5;
    QVERIFY(!sign_offs(file.findings(), changed, "c", options)[0].current);
    QCOMPARE(file.trail().back().action, std::string("add finding"));
    QVERIFY(file.verify().empty());
    file.remove_finding(id);
    QVERIFY(sign_offs(file.findings(), decisions, "c", options).empty());
  }
};

QTEST_APPLESS_MAIN(TestDecisionPreview)
#include "test_decision_preview.moc"
