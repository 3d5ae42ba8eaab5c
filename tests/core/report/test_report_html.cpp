#include <simdjson.h>
#include <QTest>
#include <algorithm>

#include "core/report/report_model.h"
#include "core/report/text.h"
#include "markup_check.h"
#include "sample_model.h"

using namespace difr;
using namespace difr::test;

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Everything that a page could be attacked with, in one name.
const std::string hostile =
    std::string(
        "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;&#0; \xff\xfe\xc0\xaf \xed\xa0\x80 ") +
    "\xE2\x80\xAE" + std::string("\0\x01\x1b[31m", 7) + " =cmd|' /C calc'!A0 ]]> --> \xEF\xBF\xBF";

ReportModel hostile_model() {
  ReportModel m = sample_model();
  m.title = m.subject = m.auditor = hostile;
  for (auto& p : m.providers) {
    p.decision.name += hostile;
    p.decision.reason = p.decision.sampler = p.decision.statistic = p.config.model = p.config.engine = p.source =
        hostile;
    for (auto& r : p.requests) {
      r.summary.external_id = r.prompt_text = hostile;
      for (auto& t : r.tokens) t.text = t.reference_text = hostile;
    }
  }
  m.redaction = Redaction::none;
  m.issues.front().issue.message = m.issues.front().issue.kind = m.issues.front().source = hostile;
  m.sources.front().row.path = hostile;
  m.calibrations.front().name = m.calibrations.front().environment = hostile;
  m.reference.model_name = m.reference.device = hostile;
  return m;
}

}  // namespace

class TestReportHtml : public QObject {
  Q_OBJECT

 private slots:
  void isWellFormedAndComplete() {
    const std::string html = render_html(sample_model());
    const Markup markup = check_markup(html);
    QCOMPARE(QString::fromStdString(markup.error), QString());
    for (const char* part : {"Summary",
                             "Verdicts",
                             "Providers in detail",
                             "Calibration",
                             "Sources and coverage",
                             "Reference",
                             "Method",
                             "What this does not show",
                             "Appendix: manifest",
                             "1 passed, 3 failed and 1 is undetermined",
                             "97.31 %",
                             "11,483",
                             "0.06230 logits",
                             "0.003210",
                             "dddd0002",
                             "eeeef00d",
                             "cccc0dd5",
                             "vllm-cpu-splitmix64",
                             "ids-out-of-range",
                             "output token id 2050",
                             "<\u00a00.0001",
                             "Not a cause, and not intent.",
                             "q21"}) {
      QVERIFY2(contains(markup.text, part), part);
    }
    const auto svgs =
        std::count_if(markup.elements.begin(), markup.elements.end(), [](const Element& e) { return e.name == "svg"; });
    QCOMPARE(svgs, 6);  // five histograms and the overview
  }

  void fetchesNothingAndRunsNothing_data() {
    QTest::addColumn<bool>("attack");
    QTest::newRow("plain") << false;
    QTest::newRow("hostile log") << true;
  }
  void fetchesNothingAndRunsNothing() {
    QFETCH(bool, attack);
    ReportModel model = attack ? hostile_model() : sample_model();
    model.logo_png = "\x89PNG\r\n\x1a\n";
    const std::string html = render_html(model);
    const Markup markup = check_markup(html);
    QCOMPARE(QString::fromStdString(markup.error), QString());
    int scripts = 0, images = 0;
    for (const Element& e : markup.elements) {
      if (e.name == "script") {
        ++scripts;
        QCOMPARE(QString::fromStdString(e.attributes.at("type")), QString("application/json"));
      }
      if (e.name == "img") {
        ++images;
        QVERIFY(e.attributes.at("src").starts_with("data:image/png;base64,iVBORw0KGgo"));
      }
      QVERIFY2(e.name != "link" && e.name != "iframe" && e.name != "object", e.name.c_str());
      for (const auto& [key, value] : e.attributes) {
        QVERIFY2(!key.starts_with("on"), key.c_str());
        if (key == "href") QVERIFY2(value.starts_with("#"), value.c_str());
        QVERIFY(key != "src" || e.name == "img");
      }
    }
    QCOMPARE(scripts, 1);
    QCOMPARE(images, 1);
    QVERIFY(contains(html, "default-src 'none'"));
    if (attack) QVERIFY(contains(markup.text, "</script><script>alert(1)"));  // shown as text, not lost
  }

  void linksLeadSomewhere() {
    const Markup markup = check_markup(render_html(sample_model()));
    std::vector<std::string> ids;
    for (const Element& e : markup.elements) {
      if (const auto id = e.attributes.find("id"); id != e.attributes.end()) ids.push_back(id->second);
    }
    auto sorted = ids;
    std::sort(sorted.begin(), sorted.end());
    QVERIFY(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
    int links = 0;
    for (const Element& e : markup.elements) {
      const auto href = e.attributes.find("href");
      if (href == e.attributes.end()) continue;
      ++links;
      QVERIFY2(std::binary_search(sorted.begin(), sorted.end(), href->second.substr(1)), href->second.c_str());
    }
    QVERIFY(links >= 14);
  }

  void jsonHoldsTheNumbersAndSurvivesAttack() {
    for (const ReportModel& model : {sample_model(), hostile_model()}) {
      const std::string text = report_json(model);
      QVERIFY(valid_utf8(text));
      simdjson::dom::parser parser;
      simdjson::dom::element root;
      QCOMPARE(parser.parse(text).get(root), simdjson::SUCCESS);
      double margin = 0, threshold = 0;
      QCOMPARE(root["providers"].at(1)["mean_clipped_margin"].get(margin), simdjson::SUCCESS);
      QCOMPARE(margin, 0.0623);
      QCOMPARE(root["providers"].at(1)["threshold"].get(threshold), simdjson::SUCCESS);
      QCOMPARE(threshold, 0.00321);
      std::string_view infinite, verdict;
      QCOMPARE(root["providers"].at(1)["requests_detail"].at(0)["tokens_detail"].at(7)["margin"].get(infinite),
               simdjson::SUCCESS);
      QCOMPARE(infinite, std::string_view("inf"));
      QVERIFY(root["providers"].at(1)["requests_detail"].at(0)["tokens_detail"].at(11)["margin"].is_null());
      QCOMPARE(root["providers"].at(1)["verdict"].get(verdict), simdjson::SUCCESS);
      QCOMPARE(verdict, std::string_view("fail"));
    }
  }

  void embeddedManifestParses() {
    const std::string html = render_html(hostile_model());
    const std::string open = "id=\"difr-manifest\">";
    const std::size_t from = html.find(open) + open.size();
    const std::size_t to = html.find("</script>", from);
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    QCOMPARE(parser.parse(html.substr(from, to - from)).get(root), simdjson::SUCCESS);
    std::string_view digest;
    QCOMPARE(root["report_json_sha256"].get(digest), simdjson::SUCCESS);
    QCOMPARE(digest.size(), std::size_t(64));
  }

  void redactionWithholds() {
    ReportModel model = sample_model();
    const std::string secret = "ATTORNEY-CLIENT";
    model.providers[1].requests[0].prompt_text = secret;
    model.providers[1].requests[0].tokens[0].text = "OUTPUTWORD";
    model.redaction = Redaction::none;
    QVERIFY(contains(render_html(model), secret) && contains(report_json(model), secret));
    model.redaction = Redaction::prompts;
    QVERIFY(!contains(render_html(model), secret) && !contains(report_json(model), secret));
    QVERIFY(contains(render_html(model), "OUTPUTWORD"));
    model.redaction = Redaction::text;
    QVERIFY(!contains(render_html(model), "OUTPUTWORD") && !contains(report_json(model), "OUTPUTWORD"));
    QVERIFY(!contains(report_json(model), "reference_id"));
    QVERIFY(contains(render_html(model), std::string(63, 'a') + "1"));  // hashes stay
  }

  void sameModelSameBytes() {
    QCOMPARE(render_html(sample_model()), render_html(sample_model()));
    QCOMPARE(report_json(sample_model()), report_json(sample_model()));
    ReportModel changed = sample_model();
    changed.providers[0].decision.score = std::nextafter(changed.providers[0].decision.score, 1.0);
    QVERIFY(report_json(changed) != report_json(sample_model()));
  }

  void csvCellsAreDefused() {
    ReportModel model = sample_model();
    model.providers[0].decision.name = "=HYPERLINK(\"http://x\",\"a\")";
    model.providers[1].decision.name = "two\nlines, \"quoted\"";
    const std::string csv = report_csv(model);
    QVERIFY(contains(csv, "\"'=HYPERLINK(\"\"http://x\"\",\"\"a\"\")\",pass,"));
    QVERIFY(contains(csv, "\"two↵lines, \"\"quoted\"\"\",fail,96,96,11483,vllm-cpu-splitmix64,0.9731,0.0623,"));
    QCOMPARE(std::count(csv.begin(), csv.end(), '\n'), 6);
  }

  void manyProvidersAndRequestsStayReadable() {
    ReportModel model = sample_model();
    model.limits.provider_rows = 200;
    for (std::int64_t i = 6; i <= 1000; ++i) {
      model.providers.push_back(sample_provider(i, "p" + std::to_string(i), Outcome::pass, 0.002));
      model.providers.back().detailed = false;
    }
    model.providers[0].request_scores = exponential_scores(100000, 0.002, 3);
    const std::string html = render_html(model);
    QVERIFY(html.size() < 2'000'000);
    const Markup markup = check_markup(html);
    QCOMPARE(QString::fromStdString(markup.error), QString());
    QVERIFY(contains(markup.text, "200 of 1,000 providers are shown"));
    QVERIFY(contains(markup.text, "5 of 1,000 providers are shown in detail"));
    const std::string csv = report_csv(model);
    QCOMPARE(std::count(csv.begin(), csv.end(), '\n'), 1001);
  }

  void noCalibrationNoThresholdNoCrash() {
    ReportModel model = sample_model();
    model.calibrations.clear();
    model.sources.clear();
    for (auto& p : model.providers) {
      p.decision.threshold.reset();
      p.decision.p_value.reset();
      p.decision.score = p.decision.mean_clipped_margin = std::numeric_limits<double>::quiet_NaN();
      p.request_scores.assign(3, std::numeric_limits<double>::quiet_NaN());
    }
    const Markup markup = check_markup(render_html(model));
    QCOMPARE(QString::fromStdString(markup.error), QString());
    QVERIFY(contains(markup.text, "The case holds no calibration"));
    QVERIFY(!contains(markup.text, "nan"));
    model.providers.clear();
    QCOMPARE(QString::fromStdString(check_markup(render_html(model)).error), QString());
  }

  void cleanUtf8NeverLetsBadBytesThrough() {
    Random random(11);
    for (int round = 0; round < 3000; ++round) {
      std::string bytes(1 + static_cast<std::size_t>(random.next() * 40), ' ');
      for (char& c : bytes)
        c = static_cast<char>(random.next() < 0.5 ? 0x80 + random.next() * 128 : random.next() * 128);
      const std::string once = report::visible(bytes);
      QVERIFY(valid_utf8(once));
      QCOMPARE(report::visible(once), once);
      QVERIFY(valid_utf8(report::shorten(once, 5)));
    }
    QCOMPARE(report::visible("na\xC3\xAFve \xE6\x97\xA5 \xF0\x9F\x98\x80"),
             std::string("na\xC3\xAFve \xE6\x97\xA5 \xF0\x9F\x98\x80"));
    QCOMPARE(report::visible(std::string_view("a\xC0\x80\x62", 4)), std::string("a\xEF\xBF\xBD\xEF\xBF\xBD\x62"));
  }

  void numbers() {
    QCOMPARE(report::number(0.0623), std::string("0.06230"));
    QCOMPARE(report::number(-12.3456), std::string("−12.35"));
    QCOMPARE(report::number(1.5e-7), std::string("1.500e-07"));
    QCOMPARE(report::number(std::numeric_limits<double>::quiet_NaN()), std::string("–"));
    QCOMPARE(report::count(1234567), std::string("1,234,567"));
    QCOMPARE(report::count(123), std::string("123"));
    QCOMPARE(report::base64("Man"), std::string("TWFu"));  // RFC 4648
    QCOMPARE(report::base64("fo"), std::string("Zm8="));
    QCOMPARE(report::base64("f"), std::string("Zg=="));
    QCOMPARE(report::base64(""), std::string());
  }
};

QTEST_APPLESS_MAIN(TestReportHtml)
#include "test_report_html.moc"
