// The pages that compute: what they ask, what they show, how they wait, stop and start over.
#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QSlider>
#include <QTemporaryDir>
#include <QtTest>

#include "fake_analyses.h"
#include "fake_case.h"
#include "views/charts/power_chart.h"
#include "views/models/problem_model.h"
#include "views/models/table_model.h"
#include "views/shell/main_window.h"
#include "views/widgets/explanation_panel.h"
#include "views/widgets/fact_panel.h"
#include "window_probe.h"

using namespace difr;
using namespace difr::views;
using difr::test::FakeAnalyses;
using difr::test::FakeCase;
using difr::test::FakeJobs;
using difr::test::find_table;
using difr::test::label_text;

class TestAnalysisPages : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<QSettings> settings_;

 private slots:
  void init() {
    static int n = 0;
    settings_ = std::make_unique<QSettings>(folder_.filePath(QStringLiteral("s%1.ini").arg(n++)), QSettings::IniFormat);
  }

  void diagnoses_the_failed_provider() {
    FakeCase source(300);
    FakeJobs jobs;
    FakeAnalyses analyses;
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    window.show();
    source.open({}, false);
    window.navigation().go({page_id::diagnosis});
    QTableView* explanations = find_table(window, QStringLiteral("Explanations, best first"));
    QVERIFY(explanations);
    QTRY_COMPARE(explanations->model()->rowCount(), 4);
    QCOMPARE(analyses.asked, std::vector<std::int64_t>{3});
    auto* panel = window.findChild<ExplanationPanel*>();
    const auto told = [&] { return label_text(*panel, false); };
    QVERIFY(told().contains(QLatin1String("What logit-noise says.")));
    QVERIFY(told().contains(QLatin1String("Noise that grows")));  // cannot be told from it
    QTest::keyClick(explanations, Qt::Key_End, Qt::ControlModifier);
    QVERIFY(told().contains(QLatin1String("the seed of the next request")));
    // Seen once, a diagnosis is not computed again, until what it rests on has changed.
    window.navigation().go({page_id::diagnosis, 1});
    QTRY_COMPARE(analyses.asked.size(), std::size_t(2));
    QTRY_COMPARE(window.page(page_id::diagnosis)->busy(), false);
    window.navigation().go({page_id::diagnosis, 3});
    source.reload();
    QTest::qWait(20);
    QCOMPARE(analyses.asked.size(), std::size_t(2));
    source.fill(301);
    source.reload();
    QTRY_COMPARE(analyses.asked.size(), std::size_t(3));
  }

  void a_diagnosis_can_be_stopped() {
    FakeCase source(30);
    FakeJobs jobs;
    FakeAnalyses analyses;
    analyses.hold = true;
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    window.show();
    source.open({}, false);
    window.navigation().go({page_id::diagnosis, 2});
    QTRY_COMPARE(analyses.asked.size(), std::size_t(1));
    QVERIFY(window.page(page_id::diagnosis)->busy());
    emit analyses.progressed(1, 3, 12);
    QTest::mouseClick(window.findChild<QPushButton*>(QStringLiteral("cancel_analysis")), Qt::LeftButton);
    QCOMPARE(analyses.cancelled, std::vector<quint64>{1});
    QVERIFY(!window.page(page_id::diagnosis)->busy());
    analyses.fail = true;
    auto* again = window.findChild<QPushButton*>(QStringLiteral("diagnosis_again"));
    QVERIFY(again->isVisible());
    QTest::mouseClick(again, Qt::LeftButton);
    analyses.answer_all();
    QCOMPARE(window.problems().rowCount(), 1);
    QVERIFY(again->isVisible());
    // Another case: the question about the old one is withdrawn.
    QTest::mouseClick(again, Qt::LeftButton);
    source.close();
    QCOMPARE(analyses.cancelled.size(), std::size_t(2));
    source.recomputed = false;
    source.open({}, false);
    window.navigation().go({page_id::diagnosis, 2});
    QTest::qWait(20);
    QCOMPARE(analyses.asked.size(), std::size_t(3));  // nothing to diagnose before a recomputation
  }

  void calibration_says_what_it_can_promise() {
    FakeCase source(300);
    FakeJobs jobs;
    FakeAnalyses analyses;
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    window.show();
    source.open({}, false);
    window.navigation().go({page_id::calibration, 1});
    QTableView* promises = find_table(window, QStringLiteral("False-alarm promises"));
    QTRY_COMPARE(promises->model()->rowCount(), 3);
    QCOMPARE(promises->currentIndex().row(), 1);  // the strongest promise that is supported
    auto* page = window.page(page_id::calibration);
    const auto told = [&] { return label_text(*page, true); };
    QVERIFY(told().contains(QLatin1String("96 trusted requests support at best 3.07 %")));
    QVERIFY(told().contains(QLatin1String("A promise of 1 % needs 299.")));
    auto* power = page->findChild<PowerChart*>();
    for (auto* box : page->findChildren<QComboBox*>())
      if (box->accessibleName() == QLatin1String("Measure of power"))
        for (int i = 0; i < box->count(); ++i) {
          box->setCurrentIndex(i);
          QVERIFY(power->chart()->series().size() >= 2);
        }
    // Another sampling: no pools, and the reason instead.
    window.navigation().go({page_id::calibration, 2});
    QTRY_COMPARE(analyses.asked.size(), std::size_t(2));
    QTRY_COMPARE(page->busy(), false);
    power->set_measure(PowerMeasure::detection);
    QVERIFY(power->chart()->series().isEmpty());
  }

  void levels_are_tried_before_they_are_decided() {
    FakeCase source(300);
    FakeJobs jobs;
    FakeAnalyses analyses;
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    window.show();
    source.open({}, false);
    window.navigation().go({page_id::decision, 2});
    QTableView* providers = find_table(window, QStringLiteral("Providers at these levels"));
    QTRY_COMPARE(providers->model()->rowCount(), 3);
    QCOMPARE(analyses.previewed.front().alpha, 0.001);
    QCOMPARE(providers->currentIndex().data(TableModel::id_role).toInt(), 2);
    auto* page = window.page(page_id::decision);
    auto* alpha = page->findChildren<QSlider*>().front();
    const auto told = [&] { return label_text(*page, true); };
    QVERIFY(told().contains(QLatin1String("as decided")));
    QVERIFY(told().contains(QLatin1String("1 fail, 1 undetermined, 1 pass")));
    // Several steps in a row ask once, when the slider rests.
    for (int i = 0; i < 2; ++i) QTest::keyClick(alpha, Qt::Key_Left);
    QVERIFY(page->busy());
    QTRY_COMPARE(analyses.previewed.size(), std::size_t(2));
    QCOMPARE(analyses.previewed.back().alpha, 0.005);
    QTRY_VERIFY(told().contains(QLatin1String("1 verdict would change")));
    QVERIFY(told().contains(QLatin1String("only a stored verdict can be signed")));
    QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("decide")), Qt::LeftButton);
    QCOMPARE(jobs.decided.size(), std::size_t(1));
    QCOMPARE(jobs.decided.front().alpha, 0.005);
    QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("decided_levels")), Qt::LeftButton);
    QTRY_VERIFY(told().contains(QLatin1String("as decided")));
    QTest::keyClick(alpha, Qt::Key_End);
    QTRY_VERIFY(told().contains(QLatin1String("out of reach")));
  }

  void verdicts_are_signed_off_and_withdrawn() {
    FakeCase source(300);
    FakeJobs jobs;
    FakeAnalyses analyses;
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    window.show();
    source.open({}, false);
    window.navigation().go({page_id::decision, 3});
    auto* page = window.page(page_id::decision);
    QTRY_COMPARE(page->busy(), false);
    auto* sign = page->findChild<QPushButton*>(QStringLiteral("sign_off"));
    QVERIFY(!sign->isEnabled());  // nobody signs without a name and a reason
    for (auto* edit : page->findChildren<QLineEdit*>()) {
      if (edit->accessibleName() == QLatin1String("Who signs")) QTest::keyClicks(edit, QStringLiteral("A. Auditor"));
      if (edit->accessibleName() == QLatin1String("Reason of the sign-off"))
        QTest::keyClicks(edit, QStringLiteral("seen by two"));
    }
    QTRY_VERIFY(sign->isEnabled());
    QTest::mouseClick(sign, Qt::LeftButton);
    QTableView* signs = find_table(window, QStringLiteral("Sign-offs"));
    QTRY_COMPARE(signs->model()->rowCount(), 1);
    QCOMPARE(source.findings.front().author, std::string("A. Auditor"));
    QCOMPARE(source.findings.front().provider_id.value_or(0), std::int64_t(3));
    QVERIFY(source.findings.front().text.find("provider-3: fail") == 0);
    QVERIFY(!sign->isEnabled());  // the reason is used up
    QCOMPARE(signs->model()->index(0, 3).data().toString(), QStringLiteral("stands"));
    // Decided anew at another level: the signature is about what was.
    source.decision_options.alpha = 0.01;
    source.reload();
    QTRY_COMPARE(signs->model()->index(0, 3).data().toString(), QStringLiteral("decision changed since"));
    signs->selectRow(0);
    for (auto* button : page->findChildren<QPushButton*>())
      if (button->text() == QLatin1String("&Withdraw")) QTest::mouseClick(button, Qt::LeftButton);
    QTRY_COMPARE(signs->model()->rowCount(), 0);
    QVERIFY(source.findings.empty());
    QCOMPARE(window.problems().rowCount(), 0);
  }

  void samplers_need_no_case() {
    FakeCase source(30);
    FakeJobs jobs;
    FakeAnalyses analyses;
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    window.show();
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window));
    QTest::keyClick(&window, Qt::Key_7, Qt::ControlModifier);
    QCOMPARE(window.navigation().current().page, page_id::samplers);
    QTableView* samplers = find_table(window, QStringLiteral("Samplers"));
    QVERIFY(samplers->model()->rowCount() > 20);
    auto* page = window.page(page_id::samplers);
    auto* words = page->findChild<QLineEdit*>();
    QTest::keyClicks(words, QStringLiteral("tensorrt"));
    QCOMPARE(samplers->model()->rowCount(), 1);
    QTest::keyClick(words, Qt::Key_Return);
    samplers->selectRow(0);
    const QString facts = label_text(*page->findChild<FactPanel*>(), false);
    QVERIFY(facts.contains(QLatin1String("batch slot")));  // what would be needed
    words->setText(QStringLiteral("no such engine"));
    for (auto* button : page->findChildren<QPushButton*>())
      if (button->text() == QLatin1String("Clear the filter")) QTest::mouseClick(button, Qt::LeftButton);
    QVERIFY(samplers->model()->rowCount() > 20);
  }
};

QTEST_MAIN(TestAnalysisPages)
#include "test_analysis_pages.moc"
