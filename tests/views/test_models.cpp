// Every table model under Qt's own model tester; paging with 0, 1 and 100,000 rows.
#include <QAbstractItemModelTester>
#include <QtTest>

#include "fake_analyses.h"
#include "fake_case.h"
#include "views/models/candidate_model.h"
#include "views/models/environment_model.h"
#include "views/models/explanation_model.h"
#include "views/models/format.h"
#include "views/models/job_model.h"
#include "views/models/preview_model.h"
#include "views/models/problem_model.h"
#include "views/models/promise_model.h"
#include "views/models/provider_model.h"
#include "views/models/request_model.h"
#include "views/models/sampler_model.h"
#include "views/models/sign_off_model.h"
#include "views/models/sort_proxy.h"

using namespace difr;
using namespace difr::views;
using difr::test::FakeAnalyses;
using difr::test::FakeCase;
using difr::test::FakeJobs;

namespace {
constexpr auto fatal = QAbstractItemModelTester::FailureReportingMode::Fatal;
}

class TestModels : public QObject {
  Q_OBJECT
 private slots:
  void pages_of_a_case_data() {
    QTest::addColumn<int>("rows");
    QTest::newRow("none") << 0;
    QTest::newRow("one") << 1;
    QTest::newRow("exactly a page") << 200;
    QTest::newRow("a page and one") << 201;
    QTest::newRow("100,000") << 100'000;
  }
  void pages_of_a_case() {
    QFETCH(int, rows);
    FakeCase source(rows);
    source.open({}, false);
    RequestModel model(nullptr, rows > 1000 ? 2000 : 200, 8);
    // The tester walks all rows at each change: for the large case it looks on at the end only.
    std::unique_ptr<QAbstractItemModelTester> tester;
    if (rows <= 1000) tester = std::make_unique<QAbstractItemModelTester>(&model, fatal);
    model.set_source(&source);
    while (true) {
      QTRY_VERIFY(!model.loading());
      if (!model.canFetchMore({})) break;
      model.fetchMore({});
    }
    QCOMPARE(model.rowCount(), rows);
    QTRY_VERIFY(model.total().has_value());
    QCOMPARE(*model.total(), std::int64_t(rows));
    QVERIFY(model.cached_rows() <= 8 * 2000);
    if (rows == 0) return;
    QCOMPARE(model.index(0, RequestModel::external_id).data().toString(),
             rows > 1000 ? QStringLiteral("…") : QStringLiteral("q0"));
    QTRY_COMPARE(model.index(0, RequestModel::external_id).data().toString(), QStringLiteral("q0"));
    QTRY_COMPARE(model.index(rows - 1, RequestModel::external_id).data().toString(),
                 QStringLiteral("q%1").arg(rows - 1));
    // Any evicted row comes back by itself, and is the right one.
    for (const int row : {rows / 2, rows / 3, 0})
      QTRY_COMPARE(model.index(row, RequestModel::external_id).data().toString(), QStringLiteral("q%1").arg(row));
  }

  void sorts_and_filters_in_the_case() {
    FakeCase source(1000);
    source.open({}, false);
    RequestModel model(nullptr, 100, 16);
    const QAbstractItemModelTester tester(&model, fatal);
    model.set_source(&source);
    model.sort(RequestModel::mean_margin, Qt::DescendingOrder);
    // The tester itself fetches more pages whenever it walks the model, so how many are there depends on its speed.
    QTRY_VERIFY(model.rowCount() >= 100);
    QTRY_VERIFY(!model.loading());
    double before = std::numeric_limits<double>::infinity();
    for (int row = 0; row < model.rowCount(); ++row) {
      const double now = model.index(row, RequestModel::mean_margin).data(TableModel::sort_role).toDouble();
      QVERIFY(now <= before);
      before = now;
    }
    RequestQuery query;
    query.flagged_only = true;
    query.external_id_contains = "q1";
    model.set_query(query);
    QTRY_VERIFY(model.total() && !model.loading());
    const auto expected = source.selected(query);
    QVERIFY(!expected.empty());
    QCOMPARE(*model.total(), std::int64_t(expected.size()));
    QCOMPARE(model.rowCount(), int(expected.size()));
  }

  void a_superseded_page_is_dropped() {
    FakeCase source(1000);
    source.open({}, false);
    source.delay_ms = 20;
    RequestModel model;
    model.set_source(&source);
    RequestQuery query;
    query.provider_ids = {2};
    model.set_query(query);  // the first load is still under way
    QTRY_VERIFY(model.rowCount() > 0);
    QTest::qWait(60);
    for (int row = 0; row < model.rowCount(); ++row) QCOMPARE(model.at(row)->provider_id, std::int64_t(2));
  }

  void survives_its_end_during_a_load() {
    FakeCase source(1000);
    source.open({}, false);
    source.delay_ms = 5;
    {
      RequestModel model;
      model.set_source(&source);
      QVERIFY(model.loading());
    }
    QTest::qWait(30);  // the reply must find nobody
  }

  void says_when_the_case_cannot_be_read() {
    FakeCase source(10);
    source.open({}, false);
    source.fail_pages = true;
    RequestModel model;
    QSignalSpy failed(&model, &RequestModel::failed);
    model.set_source(&source);
    QTRY_COMPARE(failed.count(), 1);
    QVERIFY(!model.canFetchMore({}));
    QTest::qWait(30);
    QCOMPARE(source.pages_asked, 1);
  }

  void providers() {
    FakeCase source(30);
    ProviderModel model;
    const QAbstractItemModelTester tester(&model, fatal);
    model.set_overview(source.overview());
    QCOMPARE(model.rowCount(), 4);
    QCOMPARE(model.index(3, ProviderModel::verdict).data().toString(), QStringLiteral("calibration"));
    QCOMPARE(model.index(model.row_of(3), ProviderModel::verdict).data().toString(), QStringLiteral("fail"));
    QVERIFY(!model.index(0, ProviderModel::verdict).data(Qt::DecorationRole).isNull());
    SortProxy sorted;
    sorted.setSourceModel(&model);
    sorted.sort(ProviderModel::verdict, Qt::AscendingOrder);
    QCOMPARE(sorted.index(0, ProviderModel::name).data().toString(), QStringLiteral("provider-3"));
    // Unknown numbers come last in both directions.
    for (const auto order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
      sorted.sort(ProviderModel::score, order);
      QCOMPARE(sorted.index(3, ProviderModel::name).data().toString(), QStringLiteral("trusted"));
    }
    model.set_overview(nullptr);
    QCOMPARE(model.rowCount(), 0);
  }

  void jobs() {
    FakeJobs service;
    JobModel model;
    const QAbstractItemModelTester tester(&model, fatal);
    model.set_service(&service);
    JobInfo job;
    job.id = 1;
    job.title = QStringLiteral("Recompute");
    job.unit = QStringLiteral("requests");
    job.state = JobState::running;
    job.total = 200;
    service.add(job);
    job.id = 2;
    job.state = JobState::failed;
    service.add(job);
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.row_of(2), 0);
    service.advance(1, 50);
    QCOMPARE(model.index(1, JobModel::progress).data(JobModel::share_role).toDouble(), 0.25);
    QCOMPARE(model.index(1, JobModel::progress).data().toString(), QStringLiteral("50 of 200 requests"));
    service.clear_finished();
    QCOMPARE(model.rowCount(), 1);
  }

  void candidates() {
    FakeCase source(1);
    CandidateModel model;
    const QAbstractItemModelTester tester(&model, fatal);
    std::shared_ptr<const RequestDetail> detail = source.detail(1);
    model.set_position(detail, 4);
    QCOMPARE(model.rowCount(), 4);
    QCOMPARE(model.index(0, CandidateModel::mark).data().toString(), QStringLiteral("reference"));
    QCOMPARE(model.index(1, CandidateModel::mark).data().toString(), QStringLiteral("provider"));
    QCOMPARE(model.index(1, CandidateModel::token).data().toString(), QStringLiteral("#4"));
    model.set_position(detail, 5);
    QCOMPARE(model.index(0, CandidateModel::mark).data().toString(), QStringLiteral("both"));
    for (const int outside : {-1, 40, 1'000'000}) {
      model.set_position(detail, outside);
      QCOMPARE(model.rowCount(), 0);
    }
  }

  void explanations() {
    ExplanationModel model;
    const QAbstractItemModelTester tester(&model, fatal);
    model.set_diagnosis(std::make_shared<const Diagnosis>(FakeAnalyses::diagnosis(1)));
    QCOMPARE(model.rowCount(), 4);
    const auto text = [&](int row, int column) { return model.index(row, column).data().toString(); };
    QCOMPARE(text(0, ExplanationModel::standing), QStringLiteral("named first"));
    QCOMPARE(text(1, ExplanationModel::standing), QStringLiteral("not separable from it"));
    QCOMPARE(text(2, ExplanationModel::standing), QStringLiteral("explains less"));
    // The one named first has fewer parameters and need not be the one with the highest likelihood.
    QCOMPARE(text(0, ExplanationModel::behind), QStringLiteral("0.4"));
    QCOMPARE(text(1, ExplanationModel::behind), QStringLiteral("0.0"));
    QCOMPARE(text(2, ExplanationModel::parameters), dash());
    QVERIFY(text(3, ExplanationModel::parameters).contains(QLatin1String("the seed of the next request")));
    QVERIFY(text(0, ExplanationModel::parameters).contains(QLatin1String("95 %")));
    QVERIFY(text(1, ExplanationModel::parameters).contains(QLatin1String("growth per 100 tokens")));
    SortProxy sorted;
    sorted.setSourceModel(&model);
    sorted.sort(ExplanationModel::behind, Qt::DescendingOrder);
    QCOMPARE(sorted.index(0, ExplanationModel::explanation).data().toString(), QStringLiteral("Other seeds"));
    for (int kind = 0; kind <= static_cast<int>(ExplanationKind::other_model); ++kind)
      for (int other = 0; other < kind; ++other)
        QVERIFY(explanation_title(ExplanationKind(kind)) != explanation_title(ExplanationKind(other)));
    model.set_diagnosis(nullptr);
    QCOMPARE(model.rowCount(), 0);
    QVERIFY(!model.at(0));
  }

  void promises_and_environments() {
    const auto study = std::make_shared<const CalibrationStudy>(FakeAnalyses::study(1));
    PromiseModel promises;
    const QAbstractItemModelTester tester(&promises, fatal);
    promises.set_study(study);
    QCOMPARE(promises.rowCount(), 3);
    // 96 requests: ln 0.05 / ln 0.95 = 58.4 are enough for 5 %, ln 0.05 / ln 0.99 = 298.1 for 1 % they are not.
    QCOMPARE(promises.index(1, PromiseModel::needed).data().toString(), QStringLiteral("59"));
    QCOMPARE(promises.index(2, PromiseModel::needed).data().toString(), QStringLiteral("299"));
    QVERIFY(promises.index(1, PromiseModel::supported).data().toString().startsWith(QLatin1String("yes")));
    QCOMPARE(promises.index(2, PromiseModel::supported).data().toString(), QStringLiteral("no: 203 more are needed"));
    QCOMPARE(promises.index(2, PromiseModel::limit).data().toString(), dash());
    EnvironmentModel environments;
    const QAbstractItemModelTester watch(&environments, fatal);
    environments.set_study(study);
    QCOMPARE(environments.rowCount(), 2);
    QCOMPARE(environments.index(0, EnvironmentModel::drift).data().toString(), QStringLiteral("in use"));
    QCOMPARE(environments.index(1, EnvironmentModel::drift).data().toString(), QStringLiteral("0.020"));
    SortProxy sorted;
    sorted.setSourceModel(&environments);
    sorted.sort(EnvironmentModel::drift, Qt::AscendingOrder);
    QCOMPARE(sorted.index(0, EnvironmentModel::name).data().toString(), QStringLiteral("another GPU"));
    promises.set_study(nullptr);
    environments.set_study(nullptr);
    QCOMPARE(promises.rowCount() + environments.rowCount(), 0);
  }

  void previews() {
    FakeCase source(30);
    DecisionOptions levels;
    levels.alpha = 0.005;
    PreviewModel model;
    const QAbstractItemModelTester tester(&model, fatal);
    model.set_preview(std::make_shared<const DecisionPreview>(FakeAnalyses::preview(levels)), source.overview());
    QCOMPARE(model.rowCount(), 3);
    const int row = model.row_of(2);
    QCOMPARE(model.index(row, PreviewModel::decided).data().toString(), QStringLiteral("undetermined"));
    QCOMPARE(model.index(row, PreviewModel::would_be).data().toString(), QStringLiteral("fail"));
    QCOMPARE(model.changed(), 1);
    QVERIFY(model.index(row, PreviewModel::would_be).data(Qt::FontRole).value<QFont>().bold());
    QVERIFY(!model.index(0, PreviewModel::would_be).data(Qt::FontRole).isValid());
    SortProxy sorted;
    sorted.setSourceModel(&model);
    sorted.sort(PreviewModel::p_value, Qt::AscendingOrder);
    QCOMPARE(sorted.index(0, PreviewModel::name).data().toString(), QStringLiteral("provider-3"));
    model.set_preview(std::make_shared<const DecisionPreview>(FakeAnalyses::preview(levels)), nullptr);
    QCOMPARE(model.index(0, PreviewModel::decided).data().toString(), QStringLiteral("not decided"));
    QCOMPARE(model.row_of(99), -1);
    model.set_preview(nullptr, nullptr);
    QCOMPARE(model.rowCount(), 0);
  }

  void signed_verdicts() {
    SignOffModel model;
    const QAbstractItemModelTester tester(&model, fatal);
    SignOff first;
    first.finding_id = 4;
    first.provider = "provider-3";
    first.author = "A. Auditor";
    first.at = "2026-12-07T10:00:00Z";
    first.statement = "provider-3: fail";
    first.reason = "two\nlines";
    first.current = true;
    SignOff second = first;
    second.current = false;
    model.set_sign_offs({first, second});
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.index(0, SignOffModel::state).data().toString(), QStringLiteral("stands"));
    QCOMPARE(model.index(1, SignOffModel::state).data().toString(), QStringLiteral("decision changed since"));
    QCOMPARE(model.index(0, SignOffModel::reason).data().toString(), QStringLiteral("two lines"));
    QVERIFY(model.index(0, SignOffModel::at).data(Qt::ToolTipRole).toString().contains(QLatin1String("fail")));
    model.set_sign_offs({});
    QVERIFY(!model.row(0));
  }

  void samplers() {
    FakeCase source(30);
    SamplerModel model;
    const QAbstractItemModelTester tester(&model, fatal);
    QCOMPARE(model.rowCount(), int(sampler_profiles().size()));
    for (int row = 0; row < model.rowCount(); ++row) {
      QVERIFY(!model.index(row, SamplerModel::title).data().toString().isEmpty());
      QVERIFY(!model.index(row, SamplerModel::verification).data(Qt::DecorationRole).isNull());
      QCOMPARE(model.index(row, SamplerModel::missing).data().toString() == dash(), reproducible(*model.at(row)));
    }
    QVERIFY(!model.at(model.rowCount()));
    model.set_overview(source.overview());
    SamplerFilter filter;
    const QAbstractItemModelTester watch(&filter, fatal);
    filter.setSourceModel(&model);
    filter.sort(SamplerModel::in_case, Qt::AscendingOrder);
    QCOMPARE(filter.index(0, SamplerModel::profile).data().toString(), QStringLiteral("vllm-cpu-splitmix64"));
    QCOMPARE(filter.index(0, SamplerModel::in_case).data().toString(), QStringLiteral("4 providers"));
    filter.set_filter(QStringLiteral("murmur SGLang"), false);  // both words, in any order
    QCOMPARE(filter.rowCount(), 2);
    filter.set_filter(QStringLiteral("tensorrt"), false);
    QCOMPARE(filter.rowCount(), 1);
    filter.set_filter(QStringLiteral("tensorrt"), true);
    QCOMPARE(filter.rowCount(), 0);
    filter.set_filter(QStringLiteral("provider-2"), true);
    QCOMPARE(filter.rowCount(), 1);
    model.set_overview(nullptr);
    QCOMPARE(filter.rowCount(), 0);
  }

  void problems() {
    ProblemModel model;
    const QAbstractItemModelTester tester(&model, fatal);
    for (int i = 0; i < 1005; ++i)
      model.add({Problem::Severity::error, QStringLiteral("file"), QStringLiteral("problem %1").arg(i), {}});
    QCOMPARE(model.rowCount(), 1000);
    model.add({Problem::Severity::error, QStringLiteral("file"), QStringLiteral("problem 1004"), {}});
    QCOMPARE(model.rowCount(), 1000);
    QCOMPARE(model.index(0, 0).data().toString(), QStringLiteral("problem 1004"));
    model.clear();
    QCOMPARE(model.errors(), 0);
  }
};

QTEST_MAIN(TestModels)
#include "test_models.moc"
