// The capture ledger: chaining, interruption at every byte, tampering, concurrent use.

#include <QTemporaryDir>
#include <QtTest>
#include <fstream>
#include <iterator>
#include <random>

#include "core/ledger/capture_ledger.h"
#include "core/util/error.h"

using namespace difr;

namespace {

std::string contents(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// A ledger of a header and three records; returns its bytes.
std::string small_ledger(const std::string& path) {
  LedgerWriter writer = LedgerWriter::open(path, "demo");
  writer.append(R"({"request":"a","seed":1})");
  writer.append("{\"two\":\n [1, 2]}");
  writer.append("{\"text\":\"\\u00e4 \\\" }\",\"n\":9}");
  writer.sync();
  return contents(path);
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

class TestCaptureLedger : public QObject {
  Q_OBJECT

 private slots:
  void recordsAreChainedAndReadBack() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("l.jsonl").toStdString();
    const std::string bytes = small_ledger(path);
    QCOMPARE(std::count(bytes.begin(), bytes.end(), '\n'), std::ptrdiff_t{4});
    std::vector<std::string> bodies, lines;
    const LedgerScan scan = scan_ledger(path, [&](const LedgerRecord& record) {
      bodies.emplace_back(record.body);
      lines.emplace_back(record.line);
      return true;
    });
    QVERIFY(!scan.fault);
    QCOMPARE(scan.records, std::uint64_t{4});
    QCOMPARE(scan.sound_bytes, bytes.size());
    QCOMPARE(bodies[1], std::string(R"({"request":"a","seed":1})"));
    QCOMPARE(bodies[2], std::string(R"({"two":  [1, 2]})"));
    QVERIFY(bodies[0].find("\"ledger\":\"demo\"") != std::string::npos);
    // The Merkle tree is over the lines as they stand, so any tool can recompute it.
    MerkleTree tree;
    for (const auto& line : lines) tree.append(line);
    QCOMPARE(scan.tree.root(), tree.root());
    QVERIFY(verify_inclusion(merkle_leaf_hash(lines[2]), 2, 4, scan.tree.inclusion_proof(2, 4), tree.root()));

    LedgerWriter again = LedgerWriter::open(path, "demo");
    QCOMPARE(again.append("{}"), std::uint64_t{4});
    QVERIFY(contents(path).starts_with(bytes));
    QVERIFY(verify_consistency(4, tree.root(), 5, again.tree().root(), again.tree().consistency_proof(4, 5)));
  }

  void anInterruptedWriteLosesTheLastRecordOnly() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("l.jsonl").toStdString();
    const std::string bytes = small_ledger(path);
    std::uint64_t whole = 0;
    for (std::size_t length = 0; length <= bytes.size(); ++length) {
      if (length > 0 && bytes[length - 1] == '\n') ++whole;
      write(path, bytes.substr(0, length));
      const LedgerScan scan = scan_ledger(path);
      QVERIFY(!scan.fault);
      QCOMPARE(scan.records, whole);
      QCOMPARE(scan.sound_bytes + scan.torn_bytes, length);
      if (length % 7 != 0 && length + 3 < bytes.size()) continue;
      LedgerWriter writer = LedgerWriter::open(path, "demo");
      QCOMPARE(writer.cut_bytes(), scan.torn_bytes);
      const std::uint64_t next = std::max<std::uint64_t>(whole, 1);
      QCOMPARE(writer.append(R"({"after":"crash"})"), next);
      const LedgerScan healed = scan_ledger(path);
      QVERIFY(!healed.fault && healed.torn_bytes == 0);
      QCOMPARE(healed.records, next + 1);
    }
    // Blocks that a file system left zeroed are an unfinished line, too.
    write(path, bytes + std::string(4096, '\0'));
    QCOMPARE(LedgerWriter::open(path, "demo").cut_bytes(), std::uint64_t{4096});
    QCOMPARE(contents(path), bytes);
  }

  void everyChangeIsFound() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("l.jsonl").toStdString();
    const std::string bytes = small_ledger(path);
    for (std::size_t at = 0; at + 1 < bytes.size(); ++at) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 1);
      write(path, changed);
      const LedgerScan scan = scan_ledger(path);
      QVERIFY2(scan.fault || scan.torn_bytes != 0, std::to_string(at).c_str());
      QVERIFY(scan.records < 4);
    }
    // Lines left out, swapped, doubled.
    std::vector<std::string> lines;
    for (std::size_t begin = 0, end = 0; (end = bytes.find('\n', begin)) != std::string::npos; begin = end + 1)
      lines.push_back(bytes.substr(begin, end - begin + 1));
    write(path, lines[0] + lines[2] + lines[3]);
    const LedgerScan missing = scan_ledger(path);
    QCOMPARE(missing.records, std::uint64_t{1});
    QVERIFY(missing.fault && missing.fault->offset == lines[0].size());
    QCOMPARE(missing.fault->message, std::string("is not the line of record 1"));
    write(path, lines[0] + lines[2] + lines[1] + lines[3]);
    QVERIFY(scan_ledger(path).fault);
    write(path, lines[0] + lines[1] + lines[1]);
    QVERIFY(scan_ledger(path).fault);
    // A damaged ledger is neither continued nor cut.
    const std::string damaged = lines[0] + lines[2] + "torn";
    write(path, damaged);
    QVERIFY(error_of([&] { (void)LedgerWriter::open(path, "demo"); }).find("record 1 at byte") != std::string::npos);
    QCOMPARE(contents(path), damaged);
  }

  void otherFilesAndOtherWritersAreRefused() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("l.jsonl").toStdString();
    write(path, "precious notes without newline");
    QVERIFY(error_of([&] { (void)LedgerWriter::open(path, "demo"); }).find("is not a ledger") != std::string::npos);
    QCOMPARE(contents(path), std::string("precious notes without newline"));
    write(path, "");
    LedgerWriter writer = LedgerWriter::open(path, "demo");
    QVERIFY(error_of([&] { (void)LedgerWriter::open(path, "demo"); }).find("another process") != std::string::npos);
    {
      LedgerWriter moved = std::move(writer);
      QCOMPARE(moved.append("{}"), std::uint64_t{1});
    }
    QVERIFY(error_of([&] { (void)LedgerWriter::open(path, "other"); }).find("is the ledger \"demo\"") !=
            std::string::npos);
    LedgerWriter any = LedgerWriter::open(path, "");
    QVERIFY_THROWS_EXCEPTION(Error, any.append("[1]"));
    QVERIFY_THROWS_EXCEPTION(Error, any.append("{} {}"));
    QVERIFY_THROWS_EXCEPTION(Error, any.append("{\"a\":\"\n\"}x"));
    QCOMPARE(scan_ledger(path).records, std::uint64_t{2});
    QVERIFY(!error_of([] { (void)scan_ledger("/nonexistent/ledger"); }).empty());
  }

  void damagedFilesNeverCrash() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("l.jsonl").toStdString();
    const std::string bytes = small_ledger(path);
    std::mt19937 random(20261201);
    int faults = 0;
    for (int round = 0; round < 800; ++round) {
      std::string damaged = bytes;
      for (std::uint32_t edits = 1 + random() % 5; edits > 0; --edits) {
        const std::size_t at = random() % damaged.size();
        if (random() % 3 == 0)
          damaged.erase(at, random() % 40);
        else if (random() % 2 == 0)
          damaged.insert(at, 1, static_cast<char>(random()));
        else
          damaged[at] = static_cast<char>(random());
        if (damaged.empty()) damaged = "x";
      }
      write(path, damaged);
      const LedgerScan scan = scan_ledger(path);
      QVERIFY(scan.sound_bytes <= bytes.size() &&
              damaged.substr(0, scan.sound_bytes) == bytes.substr(0, scan.sound_bytes));
      faults += scan.fault ? 1 : 0;
    }
    QVERIFY(faults > 500);
  }
};

QTEST_APPLESS_MAIN(TestCaptureLedger)
#include "test_capture_ledger.moc"
