// A tour of the window over fakes, by keyboard and mouse, and its end at awkward moments.
#include <QAccessible>
#include <QLineEdit>
#include <QListWidget>
#include <QMimeData>
#include <QPushButton>
#include <QSettings>
#include <QTableView>
#include <QTemporaryDir>
#include <QtTest>

#include "fake_analyses.h"
#include "fake_case.h"
#include "views/charts/margin_chart.h"
#include "views/models/problem_model.h"
#include "views/models/request_model.h"
#include "views/shell/command_palette.h"
#include "views/shell/main_window.h"
#include "views/theme/palette.h"
#include "views/widgets/heat_text.h"
#include "window_probe.h"

using namespace difr;
using namespace difr::views;
using difr::test::FakeAnalyses;
using difr::test::FakeCase;
using difr::test::FakeJobs;
using difr::test::find_table;

class TestTour : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<QSettings> settings_;

 private slots:
  void init() {
    static int n = 0;
    settings_ = std::make_unique<QSettings>(folder_.filePath(QStringLiteral("s%1.ini").arg(n++)), QSettings::IniFormat);
  }

  void from_welcome_to_a_token_and_back() {
    FakeCase source(300);
    FakeJobs jobs;
    FakeAnalyses analyses;
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    window.show();
    QCOMPARE(window.navigation().current().page, page_id::welcome);
    auto* demo = window.findChild<QPushButton*>(QStringLiteral("open_demo"));
    QVERIFY(demo);
    QTest::mouseClick(demo, Qt::LeftButton);
    QCOMPARE(jobs.demos, 1);

    window.open_paths({QStringLiteral("/cases/a.difr")});
    QCOMPARE(window.navigation().current().page, page_id::overview);
    QTableView* providers = find_table(window, QStringLiteral("Providers and verdicts"));
    QVERIFY(providers);
    QTRY_COMPARE(providers->model()->rowCount(), 4);
    QCOMPARE(providers->model()->index(0, 0).data().toString(), QStringLiteral("fail"));  // the findings first
    providers->selectRow(0);
    QTest::keyClick(providers, Qt::Key_Return);
    QCOMPARE(window.navigation().current().page, page_id::requests);
    QCOMPARE(window.navigation().current().provider_id, 3);

    QTableView* requests = find_table(window, QStringLiteral("Requests"));
    QVERIFY(requests);
    QTRY_COMPARE(requests->model()->rowCount(), 100);
    requests->selectRow(2);
    QTest::keyClick(requests, Qt::Key_Return);
    QCOMPARE(window.navigation().current().page, page_id::request);
    auto* text = window.findChild<HeatText*>();
    auto* chart = window.findChild<MarginChart*>();
    QVERIFY(text && chart);
    QTRY_COMPARE(text->selected(), 12);  // the token outside the filter is the most telling
    QTest::keyClick(text, Qt::Key_Left);
    QCOMPARE(chart->selected(), 11);
    QTest::keyClick(chart, Qt::Key_Home);
    QCOMPARE(text->selected(), 0);
    QCOMPARE(window.navigation().current().token, 0);

    window.navigation().back();
    QCOMPARE(window.navigation().current().page, page_id::requests);
    window.navigation().back();
    QCOMPARE(window.navigation().current().page, page_id::overview);
    QVERIFY(!window.navigation().can_go_back());
    window.navigation().forward();
    window.navigation().forward();
    QCOMPARE(window.navigation().current().page, page_id::request);
    QCOMPARE(window.navigation().current().token, 0);
    QCOMPARE(window.problems().rowCount(), 0);
  }

  void filters_requests_by_typing() {
    FakeCase source(300);
    FakeJobs jobs;
    FakeAnalyses analyses;
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    window.show();
    source.open({}, false);
    window.navigation().go({page_id::requests});
    QTableView* requests = find_table(window, QStringLiteral("Requests"));
    QTRY_COMPARE(requests->model()->rowCount(), 200);
    for (auto* edit : window.findChildren<QLineEdit*>())
      if (edit->accessibleName() == QLatin1String("Filter by request id"))
        QTest::keyClicks(edit, QStringLiteral("q29"));
    QTRY_COMPARE(requests->model()->rowCount(), 11);  // q29, q290 … q299
    requests->selectAll();
    QTest::keyClick(requests, Qt::Key_C, Qt::ControlModifier);
  }

  void palette_finds_commands_and_providers() {
    QVERIFY(match_score(QStringLiteral("rec"), QStringLiteral("Recompute…")) >
            match_score(QStringLiteral("rec"), QStringLiteral("Recent trace c")) - 100);
    QCOMPARE(match_score(QStringLiteral("xyz"), QStringLiteral("Recompute")), 0);
    FakeCase source(30);
    FakeJobs jobs;
    FakeAnalyses analyses;
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    window.show();
    source.open({}, false);
    auto* palette = window.findChild<CommandPalette*>();
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window));
    QTest::keyClick(&window, Qt::Key_K, Qt::ControlModifier);
    QTRY_VERIFY(palette->isVisible());
    auto* query = palette->findChild<QLineEdit*>();
    QTest::keyClicks(query, QStringLiteral("requests of provider-2"));
    QTest::keyClick(query, Qt::Key_Return);
    QVERIFY(!palette->isVisible());
    QCOMPARE(window.navigation().current().page, page_id::requests);
    QCOMPARE(window.navigation().current().provider_id, 2);
  }

  void jobs_can_be_cancelled() {
    FakeCase source(30);
    FakeJobs jobs;
    FakeAnalyses analyses;
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    window.show();
    source.open({}, false);
    JobInfo job;
    job.id = 5;
    job.title = QStringLiteral("Recompute");
    job.state = JobState::running;
    job.total = 100;
    job.log << QStringLiteral("first line");
    jobs.add(job);
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window));
    QTest::keyClick(&window, Qt::Key_9, Qt::ControlModifier);
    QCOMPARE(window.navigation().current().page, page_id::jobs);
    for (int i = 0; i < 50; ++i) jobs.advance(5, i);
    for (auto* button : window.findChildren<QPushButton*>())
      if (button->text() == QLatin1String("Cancel job")) QTest::mouseClick(button, Qt::LeftButton);
    QCOMPARE(jobs.cancelled, std::vector<quint64>{5});
  }

  void problems_go_to_one_list() {
    FakeCase source(0);
    FakeJobs jobs;
    FakeAnalyses analyses;
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    window.show();
    window.open_paths({QStringLiteral("/cases/broken.difr"), QStringLiteral("/logs/x.json")});
    QCOMPARE(window.problems().rowCount(), 1);
    QVERIFY(jobs.imported.isEmpty());  // not into whatever case is opened next
    window.open_paths({QStringLiteral("/cases/sound.difr"), QStringLiteral("/logs/y.json")});
    QCOMPARE(jobs.imported, QStringList{QStringLiteral("/logs/y.json")});
    QVERIFY(!QApplication::activeModalWidget());
    QCOMPARE(window.navigation().current().page, page_id::overview);
  }

  void dropped_files_are_taken() {
    FakeCase source(3);
    FakeJobs jobs;
    FakeAnalyses analyses;
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    window.show();
    QMimeData data;
    data.setUrls(
        {QUrl::fromLocalFile(QStringLiteral("/logs/a.json")), QUrl::fromLocalFile(QStringLiteral("/logs/b.jsonl.gz"))});
    QDragEnterEvent enter({5, 5}, Qt::CopyAction, &data, Qt::LeftButton, {});
    QApplication::sendEvent(&window, &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop({5, 5}, Qt::CopyAction, &data, Qt::LeftButton, {});
    QApplication::sendEvent(&window, &drop);
    QCOMPARE(jobs.imported.size(), 2);
  }

  void session_comes_back() {
    FakeJobs jobs;
    FakeAnalyses analyses;
    {
      FakeCase source(30);
      MainWindow window(source, jobs, analyses, *settings_, standard_pages());
      window.show();
      source.open({}, false);
      window.navigation().go({page_id::request, 1, 9, 3});
      window.close();
    }
    FakeCase source(30);
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    QVERIFY(window.restore_session());
    QCOMPARE(window.navigation().current(), (Location{page_id::request, 1, 9, 3}));
    auto* text = window.findChild<HeatText*>();
    QTRY_COMPARE(text->selected(), 3);
  }

  void closes_during_every_load() {
    for (const PageSpec& spec : standard_pages()) {
      const QString page = spec.id;
      FakeJobs jobs;
      FakeAnalyses analyses;
      FakeCase source(5000);
      source.delay_ms = 3;
      {
        MainWindow window(source, jobs, analyses, *settings_, standard_pages());
        window.show();
        source.open({}, false);
        window.navigation().go({page, 1, 5, -1});
        if (page == page_id::overview) source.close();
      }
      QTest::qWait(15);
    }
  }

  void theme_changes_live() {
    FakeJobs jobs;
    FakeAnalyses analyses;
    FakeCase source(30);
    QApplication::setPalette(house_palette(false));
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    window.show();
    source.open({}, false);
    window.navigation().go({page_id::request, 1, 5, -1});
    auto* chart = window.findChild<MarginChart*>();
    QTRY_COMPARE(chart->chart()->backgroundBrush().color(), colours(false).surface);
    QApplication::setPalette(house_palette(true));
    QTRY_COMPARE(chart->chart()->backgroundBrush().color(), colours(true).surface);
    QApplication::setPalette(house_palette(false));
  }

  void everything_has_a_name() {
    FakeJobs jobs;
    FakeAnalyses analyses;
    FakeCase source(30);
    MainWindow window(source, jobs, analyses, *settings_, standard_pages());
    window.show();
    source.open({}, false);
    for (const PageSpec& spec : standard_pages()) {
      window.navigation().go({spec.id, 1, 5, -1});
      QTRY_VERIFY(!window.page(spec.id)->busy());
      QTest::qWait(10);
      for (auto* widget : window.findChildren<QWidget*>()) {
        if (!(widget->focusPolicy() & Qt::TabFocus) || !widget->isVisible()) continue;
        // A viewport speaks with its scroll area's name.
        const auto* area = qobject_cast<QAbstractScrollArea*>(widget->parentWidget());
        if (area && area->viewport() == widget) continue;
        QAccessibleInterface* face = QAccessible::queryAccessibleInterface(widget);
        QVERIFY(face);
        const bool named = !face->text(QAccessible::Name).isEmpty();
        QVERIFY2(named, qPrintable(QStringLiteral("%1 inside %2 on %3")
                                       .arg(widget->metaObject()->className(),
                                            widget->parentWidget()->metaObject()->className(), spec.id)));
      }
    }
  }
};

QTEST_MAIN(TestTour)
#include "test_tour.moc"
