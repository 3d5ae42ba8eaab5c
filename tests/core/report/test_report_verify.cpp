#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <fstream>
#include <iterator>

#include <sqlite3.h>

#include "core/report/bundle.h"
#include "core/report/signature.h"
#include "core/util/error.h"
#include "sample_case.h"

using namespace difr;
using namespace difr::test;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

void replace_in(const fs::path& path, const std::string& from, const std::string& to) {
  std::string text = read(path);
  const std::size_t at = text.find(from);
  QVERIFY2(at != std::string::npos, from.c_str());
  write(path, text.replace(at, from.size(), to));
}

/// Makes the manifest fit a changed file again, as a forger would.
void reseal(const fs::path& manifest, const std::string& old_sha, const std::string& new_sha) {
  std::string text = read(manifest);
  for (std::size_t at = text.find(old_sha); at != std::string::npos; at = text.find(old_sha, at))
    text.replace(at, old_sha.size(), new_sha);
  write(manifest, text);
}

bool has(const ReportVerification& v, CheckState state, std::string_view where, std::string_view message = {}) {
  return std::any_of(v.checks.begin(), v.checks.end(), [&](const ReportCheck& c) {
    return c.state == state && c.where.find(where) != std::string::npos && c.message.find(message) != std::string::npos;
  });
}

std::string listing(const ReportVerification& v) {
  std::string out;
  for (const auto& c : v.checks) {
    if (c.state == CheckState::failed) out += c.where + ": " + c.message + "\n";
  }
  return out;
}

void execute(const fs::path& database, const char* sql) {
  sqlite3* db = nullptr;
  QCOMPARE(sqlite3_open(database.c_str(), &db), SQLITE_OK);
  char* error = nullptr;
  const int rc = sqlite3_exec(db, sql, nullptr, nullptr, &error);
  QVERIFY2(rc == SQLITE_OK, error ? error : "");
  sqlite3_close(db);
}

}  // namespace

class TestReportVerify : public QObject {
  Q_OBJECT

  QTemporaryDir root_;
  int runs_ = 0;
  SampleCase sample_;
  fs::path base_;

  ReportVerification verify(VerifyOptions options = {}) const {
    const CaseFile file = CaseFile::open(sample_.case_path, OpenMode::read_only);
    options.file = &file;
    return verify_report(base_, options);
  }
  fs::path part(const char* suffix) const {
    fs::path out = base_;
    out += suffix;
    return out;
  }
  void write_bundle(const fs::path& key = {}) const {
    const CaseFile file = CaseFile::open(sample_.case_path, OpenMode::read_only);
    write_report(build_report_model(file, sample_options()), base_, {}, key);
  }

 private slots:
  void init() {
    const fs::path folder = fs::path(root_.path().toStdString()) / std::to_string(runs_++);
    fs::create_directories(folder);
    sample_ = make_sample_case(folder);
    base_ = folder / "report";
  }

  void modelHoldsWhatTheCaseHolds() {
    const CaseFile file = CaseFile::open(sample_.case_path, OpenMode::read_only);
    const ReportModel m = build_report_model(file, sample_options());
    QCOMPARE(m.providers.size(), std::size_t(2));
    const auto& good = m.providers[0];
    const auto& bad = m.providers[1];
    QCOMPARE(bad.decision.name, std::string("far-off"));
    QVERIFY(good.decision.verdict != Outcome::fail);
    QVERIFY(bad.decision.verdict == Outcome::fail);
    QCOMPARE(bad.request_scores.size(), sample_requests);
    QCOMPARE(m.calibrations.at(0).request_scores.at(bad.decision.statistic).size(), sample_requests);
    QVERIFY(bad.flagged > 0 && bad.requests.size() == std::min<std::size_t>(4, bad.flagged));
    QVERIFY(bad.requests[0].summary.flagged);
    QCOMPARE(bad.requests[0].tokens.size(), sample_tokens);
    QCOMPARE(bad.requests[0].tokens[5].text, std::string(" w5"));
    // SHA-256 of int32 1, 2, id little-endian, by another route.
    const auto id = static_cast<char>((std::stoi(bad.requests[0].summary.external_id.substr(9))) % 16);
    QCOMPARE(bad.requests[0].prompt_sha256, sha256_hex(std::string("\1\0\0\0\2\0\0\0", 8) + id + std::string(3, '\0')));
    QVERIFY(bad.requests[0].prompt_text.empty());  // withheld by default
    QCOMPARE(m.issues_total, std::size_t(1));
    QCOMPARE(m.sources.at(0).row.rejected, std::int64_t(1));
    QVERIFY(m.trail_rows > 0 && m.trail_head.size() == 64);
    // The standard error by leave-one-out (jackknife) agrees with the linearised one to second order.
    double sum = 0;
    const auto& s = bad.request_scores;
    for (const double v : s) sum += v;
    const double n = static_cast<double>(s.size());
    double squares = 0;
    for (const double v : s) squares += std::pow((sum - v) / (n - 1) - sum / n, 2);
    const double jackknife = std::sqrt(squares * (n - 1) / n);
    QVERIFY(!(std::fabs(bad.margin_standard_error - jackknife) > 0.05 * jackknife));
  }

  void untouchedBundleIsConfirmed() {
    write_bundle();
    const ReportVerification v = verify();
    QVERIFY2(v.ok(), listing(v).c_str());
    for (const char* where : {"report.html", "report.pdf", "report.csv", "report.json", "provider.json", "numbers",
                              "decisions", "audit trail"}) {
      QVERIFY2(has(v, CheckState::ok, where), where);
    }
    QVERIFY(has(v, CheckState::ok, "report.pdf", "byte for byte"));
    QVERIFY(has(v, CheckState::unchecked, "report.manifest.sig"));
    QVERIFY(has(v, CheckState::unchecked, "weights"));
    QVERIFY(verify_report(part(".html")).ok());  // any file of the bundle leads to it
  }

  void sameCaseSameBytes() {
    write_bundle();
    std::vector<std::string> first;
    for (const char* s : {".html", ".pdf", ".json", ".csv", ".manifest.json"}) first.push_back(read(part(s)));
    QTest::qWait(1100);
    write_bundle();
    std::size_t i = 0;
    for (const char* s : {".html", ".pdf", ".json", ".csv", ".manifest.json"}) QVERIFY2(read(part(s)) == first[i++], s);
  }

  void laterTrailEntriesDoNotInvalidate() {
    write_bundle();
    CaseFile::open(sample_.case_path, OpenMode::read_write).append_trail("auditor", "report", "handed over");
    const ReportVerification v = verify();
    QVERIFY2(v.ok(), listing(v).c_str());
    QVERIFY(has(v, CheckState::ok, "audit trail", "1 added since"));
  }

  void everyFlippedByteOfAFileIsCaught() {
    write_bundle();
    Random random(5);
    for (const char* suffix : {".html", ".pdf", ".json", ".csv"}) {
      const std::string original = read(part(suffix));
      for (int i = 0; i < 5; ++i) {
        std::string changed = original;
        changed[static_cast<std::size_t>(random.next() * static_cast<double>(changed.size()))] ^= 1;
        write(part(suffix), changed);
        const ReportVerification v = verify_report(base_);
        QVERIFY2(!v.ok() && has(v, CheckState::failed, part(suffix).filename().string()), suffix);
      }
      write(part(suffix), original);
    }
    QVERIFY(verify_report(base_).ok());
  }

  void resealedNumberIsLocatedByTheCase() {
    write_bundle();
    const std::string before = sha256_hex(read(part(".json")));
    replace_in(part(".json"), "\"verdict\": \"fail\"", "\"verdict\": \"pass\"");
    reseal(part(".manifest.json"), before, sha256_hex(read(part(".json"))));
    QVERIFY(verify_report(base_).ok());  // consistent in itself: only the case can tell
    const ReportVerification v = verify();
    QVERIFY(!v.ok());
    QVERIFY2(has(v, CheckState::failed, "/providers/1/verdict", "the report says \"pass\", the case gives \"fail\""),
             listing(v).c_str());
  }

  void resealedPageIsLocatedByTheCase() {
    write_bundle();
    const std::string before = sha256_hex(read(part(".html")));
    replace_in(part(".html"), "far-off — fail", "far-off — pass");
    reseal(part(".manifest.json"), before, sha256_hex(read(part(".html"))));
    QVERIFY(verify_report(base_).ok());
    const ReportVerification v = verify();
    QVERIFY(has(v, CheckState::failed, "report.html", "first in line"));
    const std::string text = read(part(".html"));
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("far-off — pass")), '\n');
    QVERIFY(has(v, CheckState::failed, "report.html", "line " + std::to_string(line)));
  }

  void changedSourceIsNamed() {
    write_bundle();
    write(sample_.log_path, "{\"a log\": false}\n");
    const ReportVerification v = verify();
    QVERIFY(has(v, CheckState::failed, "provider.json", "not the file that was imported"));
    fs::create_directories(sample_.folder / "elsewhere");
    fs::rename(sample_.log_path, sample_.folder / "elsewhere" / "provider.json");
    QVERIFY(has(verify(), CheckState::unchecked, "provider.json"));
    VerifyOptions options;
    options.source_folders = {sample_.folder / "elsewhere"};
    QVERIFY(has(verify(options), CheckState::failed, "elsewhere"));
  }

  void changedCaseIsCaught_data() {
    QTest::addColumn<QString>("sql");
    QTest::addColumn<QString>("where");
    QTest::newRow("decision") << "UPDATE provider_decisions SET score = score * 0.5 WHERE verdict = 1"
                              << "decision of far-off";
    QTest::newRow("verdict") << "UPDATE provider_decisions SET verdict = 0 WHERE verdict = 1"
                             << "/providers/1/verdict";
    QTest::newRow("trail") << "UPDATE trail SET detail = 'x' WHERE id = 1"
                           << "case.difr";
    QTest::newRow("source") << "UPDATE sources SET sha256 = replace(sha256, substr(sha256, 1, 8), '00000000')"
                            << "/sources/0/sha256";
  }
  void changedCaseIsCaught() {
    QFETCH(QString, sql);
    QFETCH(QString, where);
    write_bundle();
    execute(sample_.case_path, qPrintable(sql));
    const ReportVerification v = verify();
    QVERIFY(!v.ok());
    QVERIFY2(has(v, CheckState::failed, where.toStdString()), listing(v).c_str());
  }

  void signatureProvesTheSigner() {
    const fs::path key = sample_.folder / "key.pem", other = sample_.folder / "other.pem",
                   rsa = sample_.folder / "rsa.pem";
    for (const auto& path : {key, other})
      QCOMPARE(QProcess::execute("openssl",
                                 {"genpkey", "-algorithm", "ed25519", "-out", QString::fromStdString(path.string())}),
               0);
    QCOMPARE(QProcess::execute(
                 "openssl", {"genpkey", "-quiet", "-algorithm", "rsa", "-out", QString::fromStdString(rsa.string())}),
             0);
    write_bundle(key);
    VerifyOptions options;
    options.public_key = key;
    QVERIFY(has(verify(options), CheckState::ok, "report.manifest.sig"));
    QVERIFY(verify(options).ok());
    QVERIFY(has(verify(), CheckState::unchecked, "report.manifest.sig", "nothing proves whose key"));
    options.public_key = other;
    QVERIFY(has(verify(options), CheckState::failed, "report.manifest.sig"));
    // A forger who reseals the manifest cannot sign it.
    const std::string before = sha256_hex(read(part(".csv")));
    replace_in(part(".csv"), "far-off,fail", "far-off,pass");
    reseal(part(".manifest.json"), before, sha256_hex(read(part(".csv"))));
    options.public_key = key;
    QVERIFY(has(verify_report(base_, options), CheckState::failed, "report.manifest.sig"));
    QVERIFY(has(verify_report(base_), CheckState::failed, "report.manifest.sig"));
    // Unsigned although a signer is expected.
    write_bundle();
    QVERIFY(!verify_report(base_, options).ok());
    QVERIFY_EXCEPTION_THROWN(write_bundle(rsa), Error);
    QVERIFY_EXCEPTION_THROWN(write_bundle(sample_.folder / "none.pem"), Error);
  }

  void ed25519KnownAnswer() {  // RFC 8032, section 7.1, test 2
    const std::string pub = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
    const std::string sig =
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302a"
        "eeb00d291612bb0c00";
    QVERIFY(report::ed25519_verify("\x72", sig, pub));
    QVERIFY(!report::ed25519_verify("\x73", sig, pub));
    QVERIFY(!report::ed25519_verify("\x72", sig.substr(2), pub));
    QVERIFY(!report::ed25519_verify("\x72", "zz" + sig.substr(2), pub));
  }

  void brokenManifestsNeverCrash() {
    const fs::path key = sample_.folder / "key.pem";
    QCOMPARE(QProcess::execute("openssl",
                               {"genpkey", "-algorithm", "ed25519", "-out", QString::fromStdString(key.string())}),
             0);
    write_bundle(key);  // signed, so that even a changed blank counts
    const std::string manifest = read(part(".manifest.json")), json = read(part(".json"));
    Random random(17);
    int refused = 0, checked = 0;
    for (int i = 0; i < 60; ++i) {
      std::string m = manifest, j = json;
      std::string& victim = i % 2 ? m : j;
      for (int k = 0; k < 1 + i % 4; ++k) {
        const auto at = static_cast<std::size_t>(random.next() * static_cast<double>(victim.size()));
        switch (static_cast<int>(random.next() * 3)) {
          case 0:
            victim[at] = static_cast<char>(random.next() * 256);
            break;
          case 1:
            victim.erase(at, static_cast<std::size_t>(random.next() * 60));
            break;
          default:
            victim.insert(at, random.next() < 0.5 ? "\"" : "-1e999");
            break;
        }
      }
      write(part(".manifest.json"), m);
      write(part(".json"), j);
      try {
        QVERIFY2(!verify().ok(), "a changed bundle was confirmed");
        ++checked;
      } catch (const Error&) {
        ++refused;
      }
    }
    QVERIFY(checked > 10 && refused > 5);
    fs::remove(part(".manifest.json"));
    QVERIFY_EXCEPTION_THROWN(static_cast<void>(verify_report(base_)), Error);
  }

  void emptyCaseIsAnError() {
    const fs::path empty = sample_.folder / "empty.difr";
    const CaseFile file = CaseFile::open(empty, OpenMode::create_or_open);
    QVERIFY_EXCEPTION_THROWN(static_cast<void>(build_report_model(file, sample_options())), Error);
    const CaseFile full = CaseFile::open(sample_.case_path, OpenMode::read_only);
    ReportOptions options = sample_options();
    options.created_at = "yesterday";
    QVERIFY_EXCEPTION_THROWN(static_cast<void>(build_report_model(full, options)), Error);
    options = sample_options();
    options.logo_png = sample_.log_path;
    QVERIFY_EXCEPTION_THROWN(static_cast<void>(build_report_model(full, options)), Error);
  }
};

QTEST_GUILESS_MAIN(TestReportVerify)
#include "test_report_verify.moc"
