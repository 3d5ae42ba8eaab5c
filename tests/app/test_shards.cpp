// Recomputation in parts, and on a server, as a user runs them.
#include <signal.h>

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/casefile/case_file.h"
#include "gpu/test_remote_server.h"
#include "support/run_program.h"

using difr::test::run_program;
using nlohmann::json;

class TestShards : public QObject {
  Q_OBJECT
  QTemporaryDir folder_;
  const QString model_ = DIFR_DEMO_DATA "/model";

  QString imported(const QString& name, const QStringList& logs, const QStringList& more = {}) {
    const auto path = folder_.filePath(name);
    const auto result = run_program("difr-audit", QStringList{"import", "--quiet", "--case", path} + logs + more);
    if (result.code != 0) qFatal("import: %s", result.err.constData());
    return path;
  }

  static int code_of(const difr::test::ProgramResult& result) {
    if (result.code != 0) qWarning("%s", result.err.constData());
    return result.code;
  }

 private slots:
  void parts_agree_with_one_run() {
    const QStringList logs{DIFR_DEMO_DATA "/logs/honest.json"};
    const auto alone = imported("alone.difr", logs), whole = imported("whole.difr", logs);
    QCOMPARE(code_of(run_program("difr-audit", {"recompute", "-q", "--case", alone, "--model", model_})), 0);
    QStringList parts;
    for (int i = 1; i <= 3; ++i) {
      parts.prepend(folder_.filePath(QString("part-%1.difr").arg(i)));
      const QStringList arguments{"recompute", "-q", "--case", whole, "--model", model_, "--shard", QString("%1/3").arg(i), "--out", parts.front()};
      if (i == 2) {
        // This worker is killed on the way; the next one goes on where it stopped.
        QProcess worker;
        auto as_worker = arguments;
        as_worker[0] = "worker";
        worker.start(DIFR_BIN_DIR "/difr-audit", as_worker);
        QVERIFY(worker.waitForStarted());
        QByteArray out;
        while (worker.state() == QProcess::Running && out.count("\"progress\"") < 2 && worker.waitForReadyRead(20'000))
          out += worker.readAllStandardOutput();
        ::kill(static_cast<pid_t>(worker.processId()), SIGKILL);
        worker.waitForFinished();
      }
      QCOMPARE(code_of(run_program("difr-audit", arguments)), 0);
    }
    const auto merged = run_program("difr-audit", QStringList{"merge", "-q", "--json", "--case", whole} + parts);
    QCOMPARE(code_of(merged), 0);
    const auto out = json::parse(merged.out.toStdString());
    QCOMPARE(out["parts"].size(), std::size_t(3));
    QCOMPARE(out["parts"][0]["shard"].get<std::string>(), std::string("3/3"));
    int added = 0;
    for (const auto& part : out["parts"]) added += part["runs"][0]["added"].get<int>();
    QCOMPARE(added, 96);
    QCOMPARE(out["runs"].size(), std::size_t(1));
    QCOMPARE(code_of(run_program("difr-audit", {"verify-case", "-q", "--case", whole})), 0);

    const auto a = difr::CaseFile::open(alone.toStdString(), difr::OpenMode::read_only);
    const auto b = difr::CaseFile::open(whole.toStdString(), difr::OpenMode::read_only);
    double worst = 0;
    std::size_t tokens = 0;
    std::int64_t full_run = 0;
    for (const auto& run : b.runs())
      if (b.pending_requests(run.id, {}).empty()) full_run = run.id;
    QVERIFY(full_run > 0);
    a.for_each_claim(0, [&](difr::Claim&& claim) {
      const auto x = a.scores(1, claim.id), y = b.scores(full_run, claim.id);
      [&] {
        QVERIFY(x && y);
        QCOMPARE(x->size(), y->size());
      }();
      for (std::size_t t = 0; x && y && t < x->size(); ++t, ++tokens) worst = std::max(worst, std::abs(double(x->log_prob[t]) - y->log_prob[t]));
      return true;
    });
    QVERIFY(tokens > 10'000);
    // Other neighbours in the batch change the order of fp32 sums: some hundred ulps of logits near 10.
    QVERIFY2(!(worst > 1e-3), qPrintable(QString::number(worst)));
  }

  void usage_errors_name_the_option() {
    const auto path = imported("usage.difr", {DIFR_DEMO_DATA "/logs/greedy.json"});
    const auto fails = [&](const QStringList& more, int code, const char* says) {
      const auto result = run_program("difr-audit", QStringList{"recompute", "-q", "--case", path, "--model", model_} + more);
      QVERIFY2(result.code == code && result.err.contains(says), (QByteArray::number(result.code) + ": " + result.err).constData());
    };
    fails({"--shard", "1/2"}, 2, "--out");
    fails({"--out", folder_.filePath("x.difr")}, 2, "--shard");
    fails({"--shard", "3/2", "--out", folder_.filePath("x.difr")}, 2, "--shard");
    fails({"--shard", "1/2", "--out", path}, 2, "--out");
    fails({"--top-k", "5"}, 2, "--url");
    const auto merged = run_program("difr-audit", {"merge", "--case", path, folder_.filePath("nowhere.difr")});
    QVERIFY2(merged.code == 3 && merged.err.contains("nowhere.difr"), merged.err.constData());
  }

  void a_server_is_asked_and_its_key_kept_secret() {
    FakeServer server;
    QFile log(folder_.filePath("made-up.json"));
    QVERIFY(log.open(QIODevice::WriteOnly));
    json samples = json::array();
    for (int i = 0; i < 6; ++i) {
      std::vector<std::int32_t> prompt, output;
      for (int t = 0; t < 5; ++t) prompt.push_back((7 * t + 13 * i) % MadeUpModel::kVocab);
      // Greedy tokens of the very model: exact matches all the way.
      auto all = prompt;
      for (int t = 0; t < 9; ++t) {
        const auto row = MadeUpModel::logits(all);
        output.push_back(static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin()));
        all.push_back(output.back());
      }
      samples.push_back({{"prompt_token_ids", prompt}, {"output_token_ids", output}});
    }
    log.write(QByteArray::fromStdString(json{{"config", {{"provider", "made-up"}, {"temperature", 0.0}}}, {"samples", samples}}.dump()));
    log.close();
    const auto path = imported("remote.difr", {log.fileName()});
    qputenv("DIFR_TEST_KEY", "sk-very-secret-key");
    const QStringList base{"recompute", "--json", "--case", path, "--url", QString::fromStdString(server.url())};
    const auto without = run_program("difr-audit", base);
    QVERIFY2(without.code == 2 && without.err.contains("--vocab"), without.err.constData());
    const auto result = run_program("difr-audit", base + QStringList{"--vocab", "60", "--top-k", "8", "--concurrency", "3", "--key-env", "DIFR_TEST_KEY"});
    QCOMPARE(code_of(result), 0);
    QCOMPARE(json::parse(result.out.toStdString())["pending"].get<int>(), 0);
    QVERIFY(server.last_request_head().find("Authorization: Bearer sk-very-secret-key") != std::string::npos);
    QVERIFY(server.most_at_once() <= 3);
    QVERIFY(!result.err.contains("very-secret") && !result.out.contains("very-secret"));
    for (const auto& entry : QDir(folder_.path()).entryInfoList({"remote.difr*"})) {
      QFile file(entry.filePath());
      QVERIFY(file.open(QIODevice::ReadOnly));
      QVERIFY(!file.readAll().contains("very-secret"));
    }
    const auto scored = json::parse(run_program("difr-audit", {"score", "--json", "--case", path}).out.toStdString());
    QCOMPARE(scored["providers"][0]["tokens"].get<int>(), 54);
    QCOMPARE(scored["providers"][0]["exact_match"].get<double>(), 1.0);

    const auto csv = run_program("difr-audit", {"export", "--case", path, "--kind", "tokens-csv"});
    QCOMPARE(code_of(csv), 0);
    QCOMPARE(csv.out.count('\n'), 55);
  }

  void exports_what_was_asked() {
    const auto path = folder_.filePath("alone.difr");
    if (!QFile::exists(path)) QSKIP("needs the case of parts_agree_with_one_run");
    const auto csv = run_program("difr-audit", {"export", "--case", path});
    QCOMPARE(code_of(csv), 0);
    QCOMPARE(csv.out.count('\n'), 97);
    QVERIFY(csv.out.startsWith("provider,id,"));
    const auto file = folder_.filePath("tokens.jsonl");
    const auto result = run_program("difr-audit", {"export", "--case", path, "--kind", "tokens-jsonl", "--provider", "honest", "--out", file, "--json"});
    QCOMPARE(code_of(result), 0);
    QCOMPARE(json::parse(result.out.toStdString())["requests"].get<int>(), 96);
    QFile written(file);
    QVERIFY(written.open(QIODevice::ReadOnly));
    int lines = 0;
    while (!written.atEnd()) {
      const auto row = json::parse(written.readLine().toStdString());
      QCOMPARE(row["token_ids"].size(), row["tokens"].get<std::size_t>());
      ++lines;
    }
    QCOMPARE(lines, 96);
    const auto unknown = run_program("difr-audit", {"export", "--case", path, "--provider", "nobody"});
    QVERIFY2(unknown.code == 2 && unknown.err.contains("nobody") && unknown.err.contains("honest"), unknown.err.constData());
    const auto nowhere = run_program("difr-audit", {"export", "--case", path, "--out", "/nowhere/at/all.csv"});
    QVERIFY2(nowhere.code == 4 && nowhere.err.contains("/nowhere/at/all.csv"), nowhere.err.constData());
    QVERIFY(!QFile::exists(file + ".part"));
  }
};

QTEST_GUILESS_MAIN(TestShards)
#include "test_shards.moc"
