// Kill -9 of the worker at random moments: what was reported as done is there, nothing twice, and the next worker goes on.
#include <signal.h>

#include <QElapsedTimer>
#include <QProcess>
#include <QRandomGenerator>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/casefile/case_file.h"
#include "support/run_program.h"

using nlohmann::json;

class TestKill : public QObject {
  Q_OBJECT

 private slots:
  void worker_loses_no_finished_batch() {
    QTemporaryDir folder;
    const QString path = folder.filePath("kill.difr");
    const QString logs = DIFR_DEMO_DATA "/logs/";
    QCOMPARE(difr::test::run_program("difr-audit", {"import", "--quiet", "--case", path, logs + "honest.json", logs + "int4.json",
                                                    "--calibration", logs + "honest-calibration.json"})
                 .code,
             0);
    QRandomGenerator random(20261201);
    std::int64_t floor = 0;
    int killed = 0;
    for (int round = 0; round < 50; ++round) {
      QProcess worker;
      worker.start(DIFR_BIN_DIR "/difr-audit", {"worker", "--case", path, "--model", DIFR_DEMO_DATA "/model", "--threads", "1"});
      QVERIFY(worker.waitForStarted());
      // From before the model is loaded to well into the work.
      const int delay = 20 + static_cast<int>(random.bounded(400));
      if (!worker.waitForFinished(delay)) {
        ::kill(static_cast<pid_t>(worker.processId()), SIGKILL);
        worker.waitForFinished();
        ++killed;
      }
      std::int64_t reported = 0;
      for (const auto& line : worker.readAllStandardOutput().split('\n')) {
        const auto event = json::parse(line.toStdString(), nullptr, false);  // the last line may be torn
        if (event.is_object() && event.value("event", "") == "progress") reported = event["requests_done"];
      }
      auto file = difr::CaseFile::open(path.toStdString(), difr::OpenMode::read_write);
      const auto runs = file.runs();
      QVERIFY(runs.size() <= 1);
      const std::int64_t done = runs.empty() ? 0 : runs.front().requests_done;
      QVERIFY2(done >= floor + reported, qPrintable(QString("round %1: %2 stored, %3 + %4 reported").arg(round).arg(done).arg(floor).arg(reported)));
      floor = done;
    }
    QVERIFY(killed >= 1);
    QCOMPARE(difr::test::run_program("difr-audit", {"recompute", "--quiet", "--case", path, "--model", DIFR_DEMO_DATA "/model"}).code, 0);
    auto file = difr::CaseFile::open(path.toStdString(), difr::OpenMode::read_only);
    QCOMPARE(file.runs().size(), std::size_t(1));
    QCOMPARE(file.runs().front().requests_done, std::int64_t(3 * 96));
    QVERIFY(file.pending_requests(file.runs().front().id, {}).empty());
    QVERIFY(file.verify().empty());
  }

  void cancel_is_clean_and_resumable() {
    QTemporaryDir folder;
    const QString path = folder.filePath("cancel.difr");
    QCOMPARE(difr::test::run_program("difr-audit", {"import", "--quiet", "--case", path, DIFR_DEMO_DATA "/logs/honest.json"}).code, 0);
    QProcess worker;
    worker.start(DIFR_BIN_DIR "/difr-audit", {"worker", "--case", path, "--model", DIFR_DEMO_DATA "/model", "--threads", "1"});
    QVERIFY(worker.waitForStarted());
    while (worker.state() == QProcess::Running && !worker.peek(1 << 20).contains("\"start\"")) worker.waitForReadyRead(5000);
    worker.terminate();
    QVERIFY(worker.waitForFinished(20'000));
    QCOMPARE(worker.exitStatus(), QProcess::NormalExit);
    QCOMPARE(worker.exitCode(), 0);
    const auto out = worker.readAllStandardOutput();
    QVERIFY2(out.contains("\"cancelled\"") || out.contains("\"done\""), out.constData());
  }
};

QTEST_APPLESS_MAIN(TestKill)
#include "test_kill.moc"
