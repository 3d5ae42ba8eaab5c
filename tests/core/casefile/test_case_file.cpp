#include <sqlite3.h>

#include <QtTest>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "case_fixture.h"
#include "core/casefile/schema.h"
#include "core/util/error.h"

using namespace difr;

namespace {

void raw_sql(const std::filesystem::path& path, const char* sql) {
  sqlite3* db = nullptr;
  QCOMPARE(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  char* message = nullptr;
  const int code = sqlite3_exec(db, sql, nullptr, nullptr, &message);
  if (code != SQLITE_OK) qWarning("%s: %s", sql, message);
  sqlite3_free(message);
  sqlite3_close(db);
  QCOMPARE(code, SQLITE_OK);
}

bool mentions(const std::vector<std::string>& faults, std::string_view what) {
  return std::any_of(faults.begin(), faults.end(), [&](const auto& f) { return f.find(what) != std::string::npos; });
}

}  // namespace

class TestCaseFile : public QObject {
  Q_OBJECT
  QTemporaryDir dir_;
  std::filesystem::path fresh(const char* name) { return std::filesystem::path(dir_.path().toStdString()) / name; }
  std::filesystem::path filled(const char* name) {
    auto file = CaseFile::open(fresh(name), OpenMode::create_or_open);
    testing::fill(file);
    return fresh(name);
  }

 private slots:
  void claims_round_trip_and_are_stored_once() {
    auto file = CaseFile::open(fresh("claims.difr"), OpenMode::create_or_open);
    SourceRow source;
    source.sha256 = "x";
    const auto source_id = file.add_source(source);
    ProviderConfig config;
    config.name = "p";
    config.raw_json = R"({"provider":"p"})";
    config.sampling.temperature = 0.7;
    const auto provider = file.add_provider(source_id, ProviderRole::subject, config);
    QCOMPARE(file.add_provider(source_id, ProviderRole::subject, config), provider);
    std::mt19937 random(1);
    std::vector<Claim> claims;
    for (int i = 0; i < 150; ++i) claims.push_back(testing::make_claim(random, provider, i, 1 + i % 90));
    claims[3].seed.reset();
    claims[3].seed_origin = SeedOrigin::none;
    claims[4].sampling.temperature = 0.1;
    claims[4].sampling.logit_bias = {{3, -100}, {9, 0.1}};
    claims[5].sampling = config.sampling;
    claims[6].external_id = "with \"quotes\" and \u00e9";
    claims[7].seed = std::numeric_limits<std::int64_t>::min();
    claims[8].choice = 3;
    QCOMPARE(file.add_claims(claims), 150);
    QCOMPARE(file.add_claims(claims), 0);
    std::size_t i = 0;
    file.for_each_claim(provider, [&](Claim&& c) {
      const auto& want = claims[i++];
      const bool same = c.external_id == want.external_id && c.prompt == want.prompt && c.output == want.output &&
                        c.seed == want.seed && c.seed_origin == want.seed_origin && c.sampling == want.sampling &&
                        c.finish_reason == want.finish_reason && c.record == want.record && c.choice == want.choice;
      if (!same) qWarning("claim %zu differs", i - 1);
      return same;
    });
    QCOMPARE(i, claims.size());
    QCOMPARE(file.providers().at(0).requests, 150);
    QCOMPARE(file.provider(provider)->config.sampling.temperature, 0.7);
    QVERIFY(!file.claim(9999));
  }

  void runs_resume_and_keep_what_is_stored() {
    const auto path = filled("runs.difr");
    auto file = CaseFile::open(path, OpenMode::read_write);
    const auto run = file.begin_run(testing::environment());
    QCOMPARE(file.runs().size(), std::size_t{1});
    QVERIFY(file.pending_requests(run, {}).empty());
    const auto other = file.begin_run(testing::environment("bf16"));
    QVERIFY(other != run);
    const auto providers = file.providers();
    const std::int64_t second[] = {providers.at(1).id};
    const auto pending = file.pending_requests(other, second);
    QCOMPARE(pending.size(), std::size_t{7});
    std::mt19937 random(3);
    const auto first = testing::make_evidence(random, 12), again = testing::make_evidence(random, 12);
    file.store_batch(other, std::vector<ScoredRequest>{{pending[0], first, "", {}}});
    file.store_batch(other, std::vector<ScoredRequest>{{pending[0], again, "", {}}});
    QCOMPARE(file.evidence(other, pending[0])->top_logits, first.top_logits);
    QVERIFY(!file.scores(other, pending[0]));
    QVERIFY(file.scores(run, pending[0], "profile"));
    QVERIFY(!file.scores(run, pending[0], "unheard-of"));
    QCOMPARE(file.latest_run()->id, other);
    QCOMPARE(file.latest_run()->requests_done, 1);
    QCOMPARE(file.latest_run()->requests_total, 14);
    QCOMPARE(file.verify(), std::vector<std::string>{});
  }

  void a_failed_batch_leaves_nothing() {
    auto file = CaseFile::open(filled("atomic.difr"), OpenMode::read_write);
    const auto run = file.begin_run(testing::environment("bf16"));
    const auto pending = file.pending_requests(run, {});
    std::mt19937 random(3);
    const std::vector<ScoredRequest> batch = {{pending[0], testing::make_evidence(random, 12), "", {}},
                                              {999'999, testing::make_evidence(random, 12), "", {}}};
    QVERIFY_THROWS_EXCEPTION(Error, file.store_batch(run, batch));
    QCOMPARE(file.pending_requests(run, {}).size(), pending.size());
  }

  void paging_visits_every_row_once_in_order() {
    auto file = CaseFile::open(fresh("paging.difr"), OpenMode::create_or_open);
    testing::fill(file, 3, 40);
    // Ties, infinities and missing values in every sorted column.
    raw_sql(file.path(), "UPDATE requests SET mean_margin = NULL, p_value = 0.5 WHERE id % 3 = 0");
    raw_sql(file.path(), "UPDATE requests SET mean_margin = 0.25, max_margin = 9e999 WHERE id % 5 = 0");
    raw_sql(file.path(), "UPDATE requests SET flagged = 1 WHERE id % 4 = 0");
    using S = RequestSort;
    const auto key = [](const RequestSummary& r, S sort) -> double {
      switch (sort) {
        case S::exact_match:
          return r.exact_match;
        case S::mean_margin:
          return r.mean_margin;
        case S::max_margin:
          return r.max_margin;
        case S::cross_entropy:
          return r.cross_entropy;
        case S::p_value:
          return r.p_value;
        case S::output_tokens:
          return r.output_tokens;
        default:
          return static_cast<double>(r.id);
      }
    };
    for (const auto sort : {S::id, S::provider, S::external_id, S::output_tokens, S::exact_match, S::mean_margin,
                            S::max_margin, S::cross_entropy, S::p_value})
      for (const bool descending : {false, true})
        for (const bool filtered : {false, true}) {
          RequestQuery query;
          query.sort = sort;
          query.descending = descending;
          query.limit = 7;
          query.flagged_only = filtered;
          if (filtered) query.provider_ids = {1, 3};
          std::vector<RequestSummary> all;
          for (auto page = file.request_page(query); !page.empty(); page = file.request_page(query)) {
            QVERIFY(page.size() <= 7);
            all.insert(all.end(), page.begin(), page.end());
            query.after = all.back();
          }
          QCOMPARE(static_cast<std::int64_t>(all.size()), file.request_count(query));
          std::set<std::int64_t> ids;
          for (const auto& row : all) ids.insert(row.id);
          QCOMPARE(ids.size(), all.size());
          if (!filtered) QCOMPARE(all.size(), std::size_t{120});
          for (std::size_t i = 1; i < all.size(); ++i) {
            const auto &a = all[i - 1], &b = all[i];
            if (sort == S::provider || sort == S::external_id) {
              const auto &x = sort == S::provider ? a.provider : a.external_id,
                         &y = sort == S::provider ? b.provider : b.external_id;
              QVERIFY(x == y ? a.id < b.id : descending ? x > y : x < y);
              continue;
            }
            const double x = key(a, sort), y = key(b, sort);
            if (std::isnan(x))
              QVERIFY(std::isnan(y) && a.id < b.id);  // values that are missing come last
            else if (!std::isnan(y))
              QVERIFY(x == y ? a.id < b.id : descending ? x > y : x < y);
          }
        }
    RequestQuery text;
    text.external_id_contains = "Q1";
    QCOMPARE(file.request_count(text), 3 * 11);
    text.external_id_contains = "%";
    QCOMPARE(file.request_count(text), 0);
  }

  void decisions_show_on_the_requests_page() {
    auto file = CaseFile::open(filled("decide.difr"), OpenMode::read_write);
    const auto run = file.latest_run()->id;
    Calibration c;
    c.name = "trusted";
    c.providers = {"a", "b\"c"};
    c.offsets = {0, 2};
    c.margin = {0.f, 0.1f};
    c.gap = {0.f, -0.1f};
    c.runner_up = {1.f, 2.f};
    c.clip = 0.3;
    const auto calibration = file.store_calibration(run, c);
    QCOMPARE(file.calibrations().at(0).providers, c.providers);
    ProviderDecision d;
    d.provider_id = file.providers().at(0).id;
    d.sampler = "profile";
    d.clip = 0.3;
    d.score = 0.2;
    d.verdict = Outcome::fail;
    d.reason = "because";
    std::vector<RequestDecision> requests;
    file.for_each_claim(d.provider_id, [&](Claim&& claim) {
      RequestDecision r;
      r.request_id = claim.id;
      r.provider_id = d.provider_id;
      r.p_value = 0.01 * static_cast<double>(claim.id);
      r.flagged = claim.id == 2;
      requests.push_back(r);
      return true;
    });
    file.store_decisions(run, calibration, std::vector{d}, requests);
    d.verdict = Outcome::pass;
    d.threshold = 0.4;
    file.store_decisions(run, calibration, std::vector{d}, requests);
    QCOMPARE(file.decisions().size(), std::size_t{1});
    QCOMPARE(file.decisions()[0].verdict, Outcome::pass);
    QCOMPARE(file.decisions()[0].threshold, std::optional(0.4));
    QVERIFY(!file.decisions()[0].p_value);
    QCOMPARE(file.request_decisions(d.provider_id).size(), std::size_t{7});
    const auto row = file.request_summary(2);
    QVERIFY(row->flagged);
    QCOMPARE(row->p_value, 0.02);
    const auto scores = *file.scores(run, 2);
    double clipped = 0;
    for (const float margin : scores.margin) clipped += std::min<double>(margin, 0.3);
    QVERIFY(std::abs(row->mean_margin - clipped / 12) <= 1e-12);
    QCOMPARE(file.verify(), std::vector<std::string>{});
    raw_sql(file.path(), "UPDATE provider_decisions SET verdict = 0 WHERE id = 1");
    QVERIFY(mentions(file.verify(), "provider_decisions row 1"));
  }

  void every_tampering_is_found_data() {
    QTest::addColumn<QByteArray>("sql");
    QTest::addColumn<QByteArray>("said");
    const auto row = [](const char* name, const char* sql, const char* said) {
      QTest::newRow(name) << QByteArray(sql) << QByteArray(said);
    };
    row("trail edit", "UPDATE trail SET detail = 'x' WHERE id = 2", "trail row 2");
    row("trail deletion", "DELETE FROM trail WHERE id = 2", "rows 2 to 2 are missing");
    row("trail end cut", "DELETE FROM trail WHERE id = (SELECT max(id) FROM trail)", "removed or added");
    row("trail order",
        "UPDATE trail SET id = -1 WHERE id = 2; UPDATE trail SET id = 2 WHERE id = 3; UPDATE trail SET id = 3 WHERE id "
        "= -1",
        "trail row 2");
    row("trail insertion",
        "INSERT INTO trail SELECT id + 1, at, actor, action, detail, hash, hash FROM trail WHERE id = (SELECT max(id) "
        "FROM trail)",
        "was edited");
    row("seed", "UPDATE requests SET seed = 5 WHERE id = 3", "requests row 3");
    row("token ids",
        "UPDATE request_tokens SET output = (SELECT output FROM request_tokens WHERE request_id = 2) WHERE request_id "
        "= 1",
        "requests row 1");
    row("request deletion", "DELETE FROM request_tokens WHERE request_id = 4", "requests row 4");
    row("whole request gone",
        "DELETE FROM evidence WHERE request_id = 4; DELETE FROM scores WHERE request_id = 4; DELETE FROM "
        "request_tokens WHERE "
        "request_id = 4; DELETE FROM requests WHERE id = 4",
        "trail row");
    row("evidence byte",
        "UPDATE evidence SET data = CAST(substr(data, 1, 40) || x'00' || substr(data, 42) AS BLOB) WHERE id = 1",
        "evidence row 1");
    row("evidence swap", "UPDATE evidence SET data = (SELECT data FROM evidence WHERE id = 2) WHERE id = 1",
        "evidence row 1");
    row("evidence deletion", "DELETE FROM evidence WHERE id = 2", "runs row 1");
    row("score summary", "UPDATE scores SET mean_margin = 0 WHERE id = 3", "scores row 3");
    row("score blob", "UPDATE scores SET data = x'00' WHERE id = 3", "scores row 3");
    row("source hash", "UPDATE sources SET sha256 = 'b'", "sources row 1");
    row("declaration", "UPDATE providers SET raw_json = 'x', sampler = 'other' WHERE id = 1", "sources row 1");
    row("foreign key", "PRAGMA foreign_keys=OFF; DELETE FROM providers WHERE id = 2", "refers to a row of providers");
  }

  void every_tampering_is_found() {
    QFETCH(QByteArray, sql);
    QFETCH(QByteArray, said);
    const auto path = filled(QTest::currentDataTag());
    QCOMPARE(CaseFile::open(path, OpenMode::read_only).verify(), std::vector<std::string>{});
    raw_sql(path, sql.constData());
    const auto faults = CaseFile::open(path, OpenMode::read_only).verify();
    for (const auto& fault : faults) qInfo("%s", fault.c_str());
    QVERIFY(mentions(faults, said.toStdString()));
  }

  void a_changed_source_file_is_found() {
    const auto log = fresh("source.json");
    QFile out(QString::fromStdString(log.string()));
    QVERIFY(out.open(QIODevice::WriteOnly));
    out.write("{}");
    out.close();
    auto file = CaseFile::open(fresh("changed.difr"), OpenMode::create_or_open);
    SourceRow source;
    source.path = log.string();
    source.sha256 = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";  // sha256sum of {}
    file.finish_source(file.add_source(source), 0, 0);
    QCOMPARE(file.verify(), std::vector<std::string>{});
    QVERIFY(out.open(QIODevice::Append));
    out.write(" ");
    out.close();
    QVERIFY(mentions(file.verify(), "was changed since it was imported"));
  }

  void older_files_are_migrated_and_newer_ones_refused() {
    const auto path = fresh("old.difr");
    {
      sql::Database db(path.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path.string());
      migrate(db, 1);
      QCOMPARE(schema_version(db), 1);
      db.exec("INSERT INTO settings VALUES('key', 'kept')");
    }
    QVERIFY_THROWS_EXCEPTION(Error, CaseFile::open(path, OpenMode::read_only));
    {
      auto file = CaseFile::open(path, OpenMode::read_write);
      QCOMPARE(file.setting("key"), std::optional<std::string>("kept"));
      QVERIFY(file.add_finding({0, {}, {}, -1, "note", "works after migration", "me", ""}) > 0);
      QCOMPARE(file.findings().size(), std::size_t{1});
      QCOMPARE(file.trail().at(0).action, std::string("migrate case"));
    }
    raw_sql(path, "PRAGMA user_version = 99");
    try {
      CaseFile::open(path, OpenMode::read_write);
      QFAIL("a newer file was opened");
    } catch (const Error& error) {
      QVERIFY(std::string(error.what()).find("newer workbench") != std::string::npos);
      QVERIFY(!error.remedy().empty());
    }
  }

  void foreign_and_missing_files_are_refused() {
    const auto foreign = fresh("foreign.sqlite");
    raw_sql(foreign, "CREATE TABLE t(x)");
    QVERIFY_THROWS_EXCEPTION(Error, CaseFile::open(foreign, OpenMode::create_or_open));
    const auto text = fresh("text.difr");
    QFile out(QString::fromStdString(text.string()));
    QVERIFY(out.open(QIODevice::WriteOnly));
    out.write(QByteArray(4000, 'x'));
    out.close();
    QVERIFY_THROWS_EXCEPTION(Error, CaseFile::open(text, OpenMode::create_or_open));
    QVERIFY_THROWS_EXCEPTION(Error, CaseFile::open(fresh("missing"), OpenMode::read_write));
    QVERIFY_THROWS_EXCEPTION(Error, CaseFile::open(fresh("."), OpenMode::create_or_open));
  }

  void reading_goes_on_while_another_connection_writes() {
    const auto path = filled("shared 100%?#.difr");
    auto writer = CaseFile::open(path, OpenMode::read_write);
    auto reader = CaseFile::open(path, OpenMode::read_only);
    sql::Database blocking(
        path.string().find('?') == std::string::npos
            ? path.string()
            : "file:" + QUrl::toPercentEncoding(QString::fromStdString(path.string()), "/").toStdString(),
        SQLITE_OPEN_READWRITE, "blocker");
    blocking.exec("BEGIN IMMEDIATE");
    blocking.exec("INSERT INTO settings VALUES('ui.half', 'done')");
    QCOMPARE(reader.request_page({}).size(), std::size_t{14});
    QVERIFY(!reader.setting("ui.half"));
    const auto before = reader.data_version();
    blocking.exec("COMMIT");
    QCOMPARE(reader.setting("ui.half"), std::optional<std::string>("done"));
    QVERIFY(reader.data_version() != before);
    QVERIFY_THROWS_EXCEPTION(Error, reader.set_setting("a", "b"));
    writer.set_setting("a", "b");
    QCOMPARE(reader.setting("a"), std::optional<std::string>("b"));
  }
};

QTEST_APPLESS_MAIN(TestCaseFile)
#include "test_case_file.moc"
