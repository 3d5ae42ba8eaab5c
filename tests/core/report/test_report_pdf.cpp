#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <iterator>

#include "core/report/report_model.h"
#include "core/util/error.h"
#include "sample_model.h"

using namespace difr;
using namespace difr::test;

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

QString run(const QString& program, const QStringList& arguments) {
  QProcess process;
  process.start(program, arguments);
  if (!process.waitForStarted() || !process.waitForFinished(60000) || process.exitCode() != 0)
    return "<failed: " + program + ">";
  return QString::fromUtf8(process.readAllStandardOutput());
}

int count_of(const QString& text, const QString& part) {
  return static_cast<int>(text.count(part));
}

}  // namespace

class TestReportPdf : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::filesystem::path path(const char* name) const {
    return std::filesystem::path(folder_.path().toStdString()) / name;
  }
  QString text_of(const ReportModel& model) const {
    write_pdf(model, path("text.pdf"));
    return run("pdftotext", {"-layout", QString::fromStdString(path("text.pdf").string()), "-"});
  }

 private slots:
  void holdsSectionsAndNumbers() {
    const QString text = text_of(sample_model());
    QVERIFY(read(path("text.pdf")).starts_with("%PDF-1."));
    for (const char* part : {"Summary",
                             "Verdicts",
                             "Providers in detail",
                             "Calibration",
                             "Sources and coverage",
                             "Reference",
                             "Method",
                             "What this does not show",
                             "Appendix: manifest",
                             "11,483",
                             "97.31 %",
                             "0.0623",
                             "0.00321",
                             "fp8-kv-cache",
                             "ids-out-of-range",
                             "Not a cause, and not intent.",
                             "vllm-cpu-splitmix64",
                             "report_json_sha256",
                             "spake",
                             "Page 2 of"}) {
      QVERIFY2(text.contains(part), part);
    }
    // The margin of int4 stands in its table row: same line as the name.
    bool found = false;
    for (const QString& line : text.split('\n'))
      found |= line.contains("int4") && line.contains("0.0623") && line.contains("fail");
    QVERIFY(found);
  }

  void fontsAreEmbeddedAndChartsAreVectors() {
    write_pdf(sample_model(), path("a.pdf"));
    const QString file = QString::fromStdString(path("a.pdf").string());
    const QStringList fonts = run("pdffonts", {file}).split('\n', Qt::SkipEmptyParts);
    QVERIFY(fonts.size() > 3);
    for (int i = 2; i < fonts.size(); ++i) QVERIFY2(fonts[i].contains(" yes yes "), qPrintable(fonts[i]));
    QCOMPARE(run("pdfimages", {"-list", file}).split('\n', Qt::SkipEmptyParts).size(), 2);  // header lines only
  }

  void contentsPointToTheRightPages() {
    write_pdf(sample_model(), path("a.pdf"));
    const QString file = QString::fromStdString(path("a.pdf").string());
    const QString contents = run("pdftotext", {"-layout", "-l", "1", file, "-"});
    int checked = 0;
    for (const char* section : {"Verdicts", "Calibration", "Method", "What this does not show", "Appendix: manifest"}) {
      for (const QString& line : contents.split('\n')) {
        if (!line.trimmed().startsWith(section)) continue;
        const QString number = line.trimmed().split(' ', Qt::SkipEmptyParts).last();
        const QString page = run("pdftotext", {"-layout", "-f", number, "-l", number, file, "-"});
        bool heading = false;
        for (const QString& l : page.split('\n')) heading |= l.trimmed() == section;
        QVERIFY2(heading, section);
        ++checked;
      }
    }
    QCOMPARE(checked, 5);
    const std::string bytes = read(path("a.pdf"));
    QVERIFY(bytes.find("/Outlines") != std::string::npos);
    QVERIFY(bytes.find("/Subtype /Link") != std::string::npos);
  }

  void sameModelSameBytes() {
    QVERIFY(render_pdf(sample_model()) == render_pdf(sample_model()));
    const std::string first = render_pdf(sample_model());
    QTest::qWait(1100);  // cairo writes the present second unless told otherwise
    QVERIFY(render_pdf(sample_model()) == first);
    ReportModel no_date = sample_model();
    no_date.created_at.clear();
    const std::string undated = render_pdf(no_date);
    QTest::qWait(1100);
    QVERIFY(render_pdf(no_date) == undated);
  }

  void longTablesRepeatTheirHeader() {
    ReportModel model = sample_model();
    for (std::int64_t i = 6; i <= 300; ++i) {
      model.providers.push_back(sample_provider(i, "prov-" + std::to_string(i), Outcome::pass, 0.002));
      model.providers.back().detailed = false;
    }
    const QString text = text_of(model);
    QVERIFY(text.contains("prov-300"));
    const QStringList pages = text.split('\f');
    int with_rows = 0;
    for (const QString& page : pages) {
      bool rows = false;
      for (const QString& line : page.split('\n')) rows |= line.contains("prov-") && line.contains("0.00321");
      if (!rows) continue;
      QVERIFY(page.contains("Threshold"));
      ++with_rows;
    }
    QVERIFY(with_rows >= 5);
    QVERIFY(text.contains("5 of 300 providers are shown in detail"));
  }

  void hostileTextIsShownNotObeyed() {
    ReportModel model = sample_model();
    const std::string hostile =
        std::string("<b>x</b> \xff\xfe \0 \x1b[2J & ' dest='summary' name='x' \xE2\x80\xAE", 48);
    model.title = model.subject = hostile;
    for (auto& p : model.providers) {
      p.decision.name += hostile;
      p.decision.reason = std::string(20000, 'x') + hostile;
      for (auto& r : p.requests)
        for (auto& t : r.tokens) t.text = hostile;
    }
    const QString text = text_of(model);
    QVERIFY(text.contains("<b>x</b>"));
    QVERIFY(count_of(text, "Page ") > 5);
  }

  void unwritablePlaceIsAnError() {
    try {
      write_pdf(sample_model(), path("no/such/folder/a.pdf"));
      QFAIL("no error");
    } catch (const Error& error) {
      QCOMPARE(error.code(), ExitCode::environment);
      QVERIFY(std::string(error.what()).find("a.pdf") != std::string::npos);
    }
    ReportModel model = sample_model();
    model.logo_png = "\x89PNG\r\n\x1a\nnot really";
    QVERIFY_EXCEPTION_THROWN(static_cast<void>(render_pdf(model)), Error);
  }
};

QTEST_GUILESS_MAIN(TestReportPdf)
#include "test_report_pdf.moc"
