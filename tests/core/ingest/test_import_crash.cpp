#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <QElapsedTimer>
#include <QtTest>
#include <csignal>
#include <random>
#include <thread>

#include "../casefile/case_fixture.h"
#include "core/casefile/case_file.h"
#include "ingest_fixture.h"

using namespace difr;
using testing::Folder;
using testing::good_record;

namespace {

/// Runs `work` in a child process; the parent may kill it. Returns its peak memory in MiB, or -1 when it did not end
/// well.
template <class Work>
long in_child(Work work, int kill_after_us = -1) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      work();
    } catch (const std::exception& error) {
      fprintf(stderr, "child: %s\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  if (kill_after_us >= 0) {
    usleep(static_cast<useconds_t>(kill_after_us));
    kill(child, SIGKILL);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? usage.ru_maxrss / 1024 : -1;
}

/// Imports the log and "recomputes" every request with evidence that depends on nothing but its id.
void import_and_recompute(const std::filesystem::path& path, const std::filesystem::path& log) {
  auto file = CaseFile::open(path, OpenMode::create_or_open);
  ImportOptions options;
  options.batch = 16;
  import_log(file, log, options);
  const auto run = file.begin_run(testing::environment());
  std::vector<ScoredRequest> batch;
  for (const auto id : file.pending_requests(run, {})) {
    std::mt19937 random(static_cast<unsigned>(id));
    batch.push_back({id, testing::make_evidence(random, 3, 64, 8), "profile", testing::make_scores(random, 3)});
    if (batch.size() == 8) {
      file.store_batch(run, batch);
      batch.clear();
    }
  }
  file.store_batch(run, batch);
  file.set_run_state(run, RunState::done);
}

}  // namespace

class TestImportCrash : public QObject {
  Q_OBJECT
  Folder folder_;

 private slots:
  void kill_minus_nine_at_fifty_moments_loses_and_doubles_nothing() {
    constexpr int records = 800;
    std::string text = "{\"config\": {\"provider\": \"p\"}, \"samples\": [";
    for (int i = 0; i < records; ++i) text += good_record(i) + (i % 50 == 9 ? ", 17, " : ", ");
    text += good_record(records) + "]}";
    const auto log = testing::write_file(folder_.path("log.json"), text);
    QElapsedTimer clock;
    clock.start();
    import_and_recompute(folder_.path("whole.difr"), log);
    const auto whole_us = static_cast<int>(clock.nsecsElapsed() / 1000);
    const auto whole = CaseFile::open(folder_.path("whole.difr"), OpenMode::read_only);
    const auto issues = whole.issues(1);
    QCOMPARE(issues.size(), std::size_t{17});  // sixteen stray numbers, and a remark on the ends of the outputs
    std::mt19937 random(9);
    int inside_import = 0, inside_run = 0;
    for (int round = 0; round < 50; ++round) {
      const auto path = folder_.path("round" + std::to_string(round) + ".difr");
      for (int kills = 0; kills < 1 + round % 3; ++kills)
        in_child([&] { import_and_recompute(path, log); },
                 static_cast<int>(random() % static_cast<unsigned>(whole_us)));
      std::int64_t stored = 0;
      {
        auto file = CaseFile::open(path, OpenMode::create_or_open);
        QCOMPARE(file.verify(), std::vector<std::string>{});
        stored = file.request_count({});
        QVERIFY(stored % 16 == 0 || stored == records + 1);  // whole batches only
        const auto run = file.latest_run();
        inside_import += stored > 0 && stored < records;
        if (run) {
          inside_run += run->requests_done > 0 && run->requests_done < records;
          QVERIFY(run->requests_done % 8 == 0 || run->requests_done == records + 1);
        }
      }
      import_and_recompute(path, log);
      auto file = CaseFile::open(path, OpenMode::read_only);
      QCOMPARE(file.verify(), std::vector<std::string>{});
      QCOMPARE(file.sources().size(), std::size_t{1});
      QCOMPARE(file.providers().size(), std::size_t{1});
      QCOMPARE(file.runs().size(), std::size_t{1});
      QCOMPARE(file.issues(1).size(), issues.size());
      QCOMPARE(file.request_count({}), std::int64_t{records + 1});
      std::int64_t next = 0;
      bool same = true;
      file.for_each_claim(0, [&](Claim&& claim) {
        const auto original = whole.claim(claim.id);
        same = same && claim.id == ++next && original && original->external_id == claim.external_id &&
               original->output == claim.output &&
               file.evidence(1, claim.id)->top_logits == whole.evidence(1, claim.id)->top_logits &&
               file.scores(1, claim.id)->margin == whole.scores(1, claim.id)->margin;
        return same;
      });
      QVERIFY2(same, qPrintable(QString("request %1").arg(next)));
      QCOMPARE(next, std::int64_t{records + 1});
      std::filesystem::remove(path);
    }
    qInfo("of 50 rounds %d were killed inside the import and %d inside the recomputation", inside_import, inside_run);
    QVERIFY(inside_import + inside_run >= 5);
  }

  void a_record_of_one_gigabyte_is_refused_in_little_memory() {
    const auto log = folder_.path("gigabyte.jsonl");
    const int fd = ::open(log.c_str(), O_CREAT | O_WRONLY, 0600);
    QVERIFY(fd >= 0);
    constexpr off_t gigabyte = off_t{1} << 30;
    const std::string head = "{\"id\": \"", tail = "\"}\n" + good_record(1) + "\n";
    QCOMPARE(pwrite(fd, head.data(), head.size(), 0), static_cast<ssize_t>(head.size()));
    QCOMPARE(pwrite(fd, tail.data(), tail.size(), gigabyte), static_cast<ssize_t>(tail.size()));
    ::close(fd);
    const auto path = folder_.path("gigabyte.difr");
    QElapsedTimer clock;
    clock.start();
    const auto mib = in_child([&] {
      auto file = CaseFile::open(path, OpenMode::create_or_open);
      import_log(file, log);
    });
    qInfo("1 GiB in one record: %ld MiB at most, %.1f s", mib, static_cast<double>(clock.elapsed()) / 1000);
    QVERIFY(mib > 0 && mib <= 200);
    auto file = CaseFile::open(path, OpenMode::read_only);
    QCOMPARE(file.request_count({}), 1);
    QCOMPARE(file.issues(1).size(), std::size_t{1});
    QCOMPARE(file.issues(1)[0].kind, std::string("record-too-long"));
  }

  void a_long_line_of_many_records_from_a_pipe_needs_little_memory() {
    const auto fifo = folder_.path("long.fifo");
    QCOMPARE(mkfifo(fifo.c_str(), 0600), 0);
    constexpr int records = 20'000;
    std::jthread writer([&] {
      QFile out(QString::fromStdString(fifo.string()));
      if (!out.open(QIODevice::WriteOnly)) return;
      out.write("{\"config\": {\"provider\": \"long\"}, \"samples\": [");
      std::string ids;
      for (int i = 0; i < 2000; ++i) ids += std::to_string(i * 37 % 50'000) + ", ";
      for (int i = 0; i < records; ++i) {
        const auto n = std::to_string(i);
        const auto record = "{\"id\": \"r" + n + "\", \"seed\": " + n +
                            ", \"prompt_token_ids\": [1], \"output_token_ids\": [" + ids + n + "]}" +
                            (i + 1 < records ? ", " : "]}");
        out.write(record.data(), static_cast<qint64>(record.size()));
      }
    });
    const auto path = folder_.path("long.difr");
    QElapsedTimer clock;
    clock.start();
    const auto mib = in_child([&] {
      auto file = CaseFile::open(path, OpenMode::create_or_open);
      import_log(file, fifo);
    });
    auto file = CaseFile::open(path, OpenMode::read_only);
    const auto size = static_cast<double>(file.sources().at(0).size) / 1e6;
    qInfo("%.0f MB in one line: %ld MiB at most, %.0f MB/s", size, mib,
          size * 1000 / static_cast<double>(clock.elapsed()));
    QVERIFY(size > 200);
    QVERIFY(mib > 0 && mib <= 200);
    QCOMPARE(file.request_count({}), std::int64_t{records});
  }
};

QTEST_APPLESS_MAIN(TestImportCrash)
#include "test_import_crash.moc"
