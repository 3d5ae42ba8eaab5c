// What a user meets at the command line: help with examples, exit codes, errors that name place and remedy.
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <nlohmann/json.hpp>

#include "support/run_program.h"

using difr::test::run_program;
using nlohmann::json;

class TestCli : public QObject {
  Q_OBJECT
  QTemporaryDir folder_;

  QString write(const QString& name, const QByteArray& bytes) {
    QFile file(folder_.filePath(name));
    if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write %s", qPrintable(name));
    file.write(bytes);
    return file.fileName();
  }

 private slots:
  void every_command_has_help_with_an_example() {
    const auto help = run_program("difr-audit", {"--help"});
    QCOMPARE(help.code, 0);
    for (const auto* command : {"audit", "demo", "import", "recompute", "worker", "score", "calibrate", "decide",
                                "report", "samplers", "verify-case"}) {
      QVERIFY2(help.out.contains(command), command);
      const auto one = run_program("difr-audit", {command, "--help"});
      QCOMPARE(one.code, 0);
      QVERIFY2(one.out.contains("Example: difr-audit"), command);
    }
  }

  void exit_codes_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("says");
    const QString log = DIFR_DEMO_DATA "/logs/honest.json";
    const QString model = DIFR_DEMO_DATA "/model";
    QTest::newRow("no command") << QStringList{} << 2 << "subcommand";
    QTest::newRow("unknown option") << QStringList{"audit", "--nonsense", log} << 2 << "nonsense";
    QTest::newRow("no model") << QStringList{"audit", "--calibration", log, log} << 2 << "--model";
    QTest::newRow("no calibration") << QStringList{"audit", "--model", model, log} << 2 << "--calibration";
    QTest::newRow("no such log") << QStringList{"audit", "--model", model, "--calibration", "/nowhere.json", log} << 3
                                 << "/nowhere.json";
    QTest::newRow("no such model") << QStringList{"audit", "--model", "/nowhere", "--calibration", log, log} << 3
                                   << "/nowhere";
    QTest::newRow("bad dtype") << QStringList{"audit", "--model", model, "--dtype", "int3", "--calibration", log, log}
                               << 2 << "--dtype";
    QTest::newRow("no case") << QStringList{"decide"} << 2 << "--case";
    QTest::newRow("case is not there") << QStringList{"decide", "--case", "/nowhere/x.difr"} << 3 << "/nowhere/x.difr";
  }

  void exit_codes() {
    QFETCH(QStringList, arguments);
    QFETCH(int, code);
    QFETCH(QString, says);
    const auto result = run_program("difr-audit", arguments);
    QVERIFY2(result.code == code, (QByteArray::number(result.code) + ": " + result.err).constData());
    QVERIFY2(result.err.contains(says.toUtf8()), result.err.constData());
  }

  void faulty_records_are_listed_and_the_rest_goes_on() {
    const auto log = write("mixed.json", R"({"config":{"provider":"p","temperature":0.0},"samples":[
      {"prompt_token_ids":[1,2,3],"output_token_ids":[4,5]},
      {"prompt_token_ids":[1,2,3],"output_token_ids":[4,99999]},
      {"prompt_token_ids":"text","output_token_ids":[4]},
      {"prompt_token_ids":[1],"output_token_ids":[7]}]})");
    const auto result = run_program("difr-audit", {"import", "--json", "--quiet", "--case",
                                                   folder_.filePath("mixed.difr"), "--vocab", "2048", log});
    QCOMPARE(result.code, 0);
    const auto out = json::parse(result.out.toStdString());
    QCOMPARE(out["accepted"].get<int>(), 2);
    QCOMPARE(out["rejected"].get<int>(), 2);
    int listed = 0;
    for (const auto& issue : out["sources"][0]["issues"]) {
      if (!issue["rejected"].get<bool>()) continue;
      ++listed;
      QVERIFY(issue["record"] == 1 || issue["record"] == 2);
      QVERIFY(!issue["message"].get<std::string>().empty());
      QVERIFY(!issue["remedy"].get<std::string>().empty());
    }
    QCOMPARE(listed, 2);
  }

  void text_alone_is_retokenised_on_request_and_never_decides() {
    const auto log = write(
        "text.jsonl",
        R"({"id":"a","prompt":"In the beginning","completion":" God created the heaven","seed":3,"temperature":1.0})"
        "\n"
        R"({"id":"b","prompt":"And the earth","completion":" was without form, and void","seed":4,"temperature":1.0})");
    const auto refused = run_program("difr-audit", {"import", "-q", "--case", folder_.filePath("refused.difr"), log});
    QCOMPARE(refused.code, 3);
    const QString model = DIFR_DEMO_DATA "/model", path = folder_.filePath("text.difr");
    const auto taken = run_program(
        "difr-audit", {"import", "-q", "--json", "--case", path, "--model", model, "--retokenise", model, log});
    QVERIFY2(taken.code == 0, taken.err.constData());
    const auto out = json::parse(taken.out.toStdString());
    QCOMPARE(out["accepted"].get<int>(), 2);
    bool said = false;
    for (const auto& issue : out["sources"][0]["issues"]) said |= issue["kind"] == "retokenised";
    QVERIFY(said);
    const auto audit =
        run_program("difr-audit", {"audit", "-q", "--json", "--case", path, "--model", model, "--calibration",
                                   DIFR_DEMO_DATA "/logs/honest-calibration.json", DIFR_DEMO_DATA "/logs/greedy.json"});
    QVERIFY2(audit.code <= 1, audit.err.constData());
    const auto verdicts = json::parse(audit.out.toStdString());
    for (const auto& provider : verdicts["providers"])
      if (provider["name"] == "text") {
        QCOMPARE(provider["verdict"].get<std::string>(), std::string("undetermined"));
        QVERIFY(provider["reason"].get<std::string>().find("retokenised") != std::string::npos);
        said = false;
      }
    QVERIFY(!said);
    const auto bad = run_program("difr-audit", {"import", "-q", "--case", folder_.filePath("bad.difr"), "--retokenise",
                                                "/nowhere/tokenizer.json", log});
    QVERIFY2(bad.code == 3 && bad.err.contains("/nowhere/tokenizer.json"), bad.err.constData());
  }

  void a_folder_goes_on_past_files_that_are_no_logs() {
    QVERIFY(QDir(folder_.path()).mkpath("logs/deeper"));
    const QByteArray sample = R"({"id":"a","prompt_token_ids":[1,2,3],"seed":1,"output_token_ids":[4,5]})";
    write("logs/one.jsonl", sample);
    write("logs/deeper/two.jsonl", QByteArray(sample).replace("\"a\"", "\"b\""));
    write("logs/picture.png", "\x89PNG");
    const auto result = run_program("difr-audit", {"import", "--json", "--quiet", "--case",
                                                   folder_.filePath("folder.difr"), folder_.filePath("logs")});
    QCOMPARE(result.code, 0);
    QVERIFY2(result.err.contains("picture.png"), result.err.constData());
    const auto out = json::parse(result.out.toStdString());
    QCOMPARE(out["accepted"].get<int>(), 2);
    QCOMPARE(out["refused_files"].get<int>(), 1);
    QCOMPARE(out["sources"].size(), std::size_t(3));
    const auto input = run_program(
        "difr-audit", {"import", "--json", "--quiet", "--case", folder_.filePath("stdin.difr"), "-"}, 60'000, sample);
    QCOMPARE(input.code, 0);
    QCOMPARE(json::parse(input.out.toStdString())["accepted"].get<int>(), 1);
  }

  void own_fingerprints_lie_near_and_quantised_ones_far() {
    const QString demo = QString(DIFR_DEMO_DATA);
    const QStringList common{"--quiet", "--json", "--threads", "2", "--model", demo + "/model"};
    const auto log = demo + "/logs/honest.json";
    const auto prints = folder_.filePath("own.safetensors");
    const auto made =
        run_program("difr-audit", QStringList{"fingerprint", log, "--out", prints, "--pack", "fp32"} + common);
    QVERIFY2(made.code == 0, made.err.constData());
    const auto checked = run_program("difr-audit", QStringList{"verify-fingerprints", prints, "--log", log} + common);
    QVERIFY2(checked.code == 0, checked.err.constData());
    const auto out = json::parse(checked.out.toStdString());
    const auto& method = out["methods"][0];
    QCOMPARE(method["tokens"].get<int>(), json::parse(made.out.toStdString())["tokens"].get<int>());
    // The same engine, threads and fp32 packing: what remains is at most the last bits of a matrix product.
    QVERIFY2(method["mean_distance"].get<double>() < 1e-3, checked.out.constData());
    // The wrong log is named, not compared.
    const auto wrong = run_program(
        "difr-audit", QStringList{"verify-fingerprints", prints, "--log", demo + "/logs/int4.json"} + common);
    QVERIFY(wrong.code != 0 || !json::parse(wrong.out.toStdString())["methods"][0]["issues"].empty());
    const auto broken = write("broken.safetensors", QByteArray("\x10\0\0\0\0\0\0\0{", 9));
    const auto refused = run_program("difr-audit", QStringList{"verify-fingerprints", broken, "--log", log} + common);
    QCOMPARE(refused.code, 3);
    QVERIFY2(refused.err.contains("broken.safetensors"), refused.err.constData());
  }

  void a_generated_log_replays_only_in_its_environment() {
    const QString demo = QString(DIFR_DEMO_DATA);
    const auto own = folder_.filePath("own.json");
    const QStringList common{"--quiet", "--json", "--model", demo + "/model"};
    const auto made =
        run_program("difr-audit", QStringList{"generate", "--threads", "2", "--prompts", demo + "/logs/honest.json",
                                              "--count", "8", "--max-tokens", "40", "--links", "--out", own} +
                                      common);
    QVERIFY2(made.code == 0, made.err.constData());
    QCOMPARE(json::parse(made.out.toStdString())["samples"].get<int>(), 8);
    const auto same = run_program("difr-audit", QStringList{"replay", own, "--threads", "2"} + common);
    QVERIFY2(same.code == 0, same.err.constData());
    const auto result = json::parse(same.out.toStdString());
    QCOMPARE(result["conclusion"].get<std::string>(), std::string("identical"));
    QCOMPARE(result["links_checked"].get<int>(), result["tokens_agreed"].get<int>());
    const auto other = run_program("difr-audit", QStringList{"replay", own, "--threads", "1"} + common);
    QCOMPARE(other.code, 4);
    QVERIFY2(other.err.contains("threads: 2 there, 1 here"), other.err.constData());
    const auto anyway = run_program("difr-audit", QStringList{"replay", own, "--threads", "1", "--anyway"} + common);
    QCOMPARE(anyway.code, 0);
    const auto shown = json::parse(anyway.out.toStdString());
    QCOMPARE(shown["environment_differences"].size(), std::size_t(1));
    QVERIFY(shown["conclusion"].get<std::string>() != "different");

    // One changed token in the same environment is a finding.
    QFile file(own);
    QVERIFY(file.open(QIODevice::ReadOnly));
    auto log = json::parse(file.readAll().toStdString());
    auto& token = log["samples"][3]["outputs"][0]["token_ids"][2];
    token = token.get<int>() == 300 ? 301 : 300;
    const auto forged = write("forged.json", QByteArray::fromStdString(log.dump()));
    const auto found = run_program("difr-audit", QStringList{"replay", forged, "--threads", "2"} + common);
    QVERIFY2(found.code == 1, found.err.constData());
    const auto where = json::parse(found.out.toStdString());
    QCOMPARE(where["conclusion"].get<std::string>(), std::string("different"));
    QCOMPARE(where["divergences"][0]["t"].get<int>(), 2);
    // A log without an environment is compared only on request.
    const auto silent = run_program("difr-audit", QStringList{"replay", demo + "/logs/honest.json"} + common);
    QVERIFY2(silent.code == 4 && silent.err.contains("environment"), silent.err.constData());
    const auto broken = run_program("difr-audit", QStringList{"replay", write("no-log.json", "{\"config\":")} + common);
    QVERIFY2(broken.code == 3 && broken.err.contains("no-log.json"), broken.err.constData());
  }

  void a_log_that_is_no_log_is_bad_input() {
    for (const auto& bytes :
         {QByteArray(), QByteArray("\x89PNG\r\n"), QByteArray("[1,2,3]"), QByteArray("{\"config\":")}) {
      const auto log = write("broken.json", bytes);
      const auto result =
          run_program("difr-audit", {"import", "--quiet", "--case", folder_.filePath("broken.difr"), log});
      QVERIFY2(result.code == 3,
               (QByteArray::number(result.code) + " for " + bytes.toHex() + ": " + result.err).constData());
      QVERIFY2(result.err.contains("broken.json"), result.err.constData());
    }
  }
};

QTEST_APPLESS_MAIN(TestCli)
#include "test_cli.moc"
