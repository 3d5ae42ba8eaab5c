#include <simdjson.h>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <iterator>
#include <set>

#include "core/report/export.h"
#include "core/util/error.h"
#include "sample_case.h"

using namespace difr;
using namespace difr::test;
namespace fs = std::filesystem;

namespace {

std::string collect(const CaseFile& file, ExportKind kind, const ExportOptions& options = {}) {
  std::string out;
  export_scores(file, kind, options, [&](std::string_view piece) { out += piece; });
  return out;
}

/// Strict JSON from Python's: bare Infinity and NaN become numbers that cannot occur otherwise.
std::string strict(std::string text) {
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"Infinity", "1e300"}, {"NaN", "2e300"}}) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
      text.replace(at, from.size(), to);
  }
  return text;
}

std::set<std::string> keys_of(simdjson::dom::object object) {
  std::set<std::string> keys;
  for (const auto field : object) keys.emplace(field.key);
  return keys;
}

}  // namespace

class TestExport : public QObject {
  Q_OBJECT

  QTemporaryDir root_;
  SampleCase sample_;
  CaseFile open() const { return CaseFile::open(sample_.case_path, OpenMode::read_only); }
  static std::int64_t id_of(const CaseFile& file, const std::string& name) {
    for (const auto& row : file.providers())
      if (row.config.name == name) return row.id;
    return 0;
  }

 private slots:
  void initTestCase() { sample_ = make_sample_case(fs::path(root_.path().toStdString())); }

  void tokensAddUpToTheDecision() {
    const CaseFile file = open();
    const ProviderDecision decision = file.decisions().at(1);
    QCOMPARE(decision.name, std::string("far-off"));
    const QString csv = QString::fromStdString(collect(file, ExportKind::tokens_csv, {{decision.provider_id}}));
    const QStringList lines = csv.split("\r\n", Qt::SkipEmptyParts);
    QCOMPARE(static_cast<std::size_t>(lines.size()), 1 + sample_requests * sample_tokens);
    QCOMPARE(lines[0].split(',').size(), lines[1].split(',').size());
    double sum = 0, matches = 0;
    for (int i = 1; i < lines.size(); ++i) {
      const QStringList cells = lines[i].split(',');
      sum += std::min(cells[7].toDouble(), decision.clip);
      matches += cells[6].toInt();
    }
    const double n = static_cast<double>(sample_requests * sample_tokens);
    // float margins, summed in double in another order: far below 1e-9.
    QVERIFY(!(std::fabs(sum / n - decision.mean_clipped_margin) > 1e-9));
    QCOMPARE(matches / n, decision.exact_match);
  }

  void requestTablesAgree() {
    const CaseFile file = open();
    const std::string lines = collect(file, ExportKind::requests_json);
    simdjson::dom::parser parser;
    std::size_t n = 0, flagged = 0;
    std::size_t from = 0;
    while (from < lines.size()) {
      const std::size_t to = lines.find('\n', from);
      simdjson::dom::element e;
      QCOMPARE(parser.parse(lines.substr(from, to - from)).get(e), simdjson::SUCCESS);
      bool flag = false;
      QCOMPARE(e["flagged"].get(flag), simdjson::SUCCESS);
      flagged += flag;
      ++n;
      from = to + 1;
    }
    QCOMPARE(n, 2 * sample_requests);
    std::size_t decided = 0;
    for (const auto& d : file.decisions())
      for (const auto& r : file.request_decisions(d.provider_id)) decided += r.flagged;
    QVERIFY(decided > 0);
    QCOMPARE(flagged, decided);
    const QString csv = QString::fromStdString(collect(file, ExportKind::requests_csv));
    QCOMPARE(static_cast<std::size_t>(csv.split("\r\n", Qt::SkipEmptyParts).size()), 1 + n);
    QCOMPARE(static_cast<std::size_t>(csv.count(QRegularExpression(",1\r\n"))), flagged);
  }

  void difrLayoutIsThePublicOne() {
    std::ifstream in(fs::path(DIFR_TEST_DATA) / "auc/peer_layout_sample.json");
    const std::string peer_text = strict({std::istreambuf_iterator<char>(in), {}});
    const CaseFile file = open();
    const std::string ours_text = strict(collect(file, ExportKind::difr_results, {{id_of(file, "far-off")}}));
    simdjson::dom::parser peer_parser, our_parser;
    simdjson::dom::element peer, ours;
    QCOMPARE(peer_parser.parse(peer_text).get(peer), simdjson::SUCCESS);
    QCOMPARE(our_parser.parse(ours_text).get(ours), simdjson::SUCCESS);
    QVERIFY(keys_of(ours.get_object()) == keys_of(peer.get_object()));
    const auto peer_token = peer["scores"].at(0).at(0), our_token = ours["scores"].at(0).at(0);
    QVERIFY(keys_of(our_token.get_object()) == keys_of(peer_token.get_object()));
    for (const auto field : simdjson::dom::object(peer_token.get_object())) {
      QCOMPARE(static_cast<char>(our_token[field.key].type().value()), static_cast<char>(field.value.type()));
    }
    QCOMPARE(simdjson::dom::array(ours["scores"].get_array()).size(), sample_requests);
    QCOMPARE(simdjson::dom::array(ours["scores"].at(3).get_array()).size(), sample_tokens);
    double top = 0;
    for (const auto sequence : ours["scores"].get_array())
      for (const auto token : sequence.get_array()) top = std::max(top, token["margin"].get_double().value());
    double expected = 0;
    for (const auto& r : file.request_decisions(id_of(file, "far-off"))) expected = std::max(expected, r.max_margin);
    QVERIFY(!(std::fabs(top - expected) > 1e-6 * expected));
  }

  void wrongRequestsAreErrors() {
    const CaseFile file = open();
    QVERIFY_EXCEPTION_THROWN(collect(file, ExportKind::difr_results), Error);
    QVERIFY_EXCEPTION_THROWN(collect(file, ExportKind::tokens_csv, {{4711}}), Error);
    const CaseFile empty = CaseFile::open(sample_.folder / "empty.difr", OpenMode::create_or_open);
    QVERIFY_EXCEPTION_THROWN(collect(empty, ExportKind::tokens_csv), Error);
  }
};

QTEST_GUILESS_MAIN(TestExport)
#include "test_export.moc"
