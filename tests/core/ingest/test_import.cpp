#include <sys/stat.h>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QtTest>
#include <random>
#include <thread>

#include "core/util/error.h"
#include "core/util/zstd_codec.h"
#include "ingest_fixture.h"

using namespace difr;
using testing::Folder;
using testing::good_record;

namespace {

std::vector<TokenId> ids_of(const QJsonValue& list) {
  std::vector<TokenId> ids;
  for (const auto& id : list.toArray()) ids.push_back(id.toInt());
  return ids;
}

/// What import_log throws for the bytes, or nothing.
std::optional<Error> refusal(Folder& folder, const std::string& bytes) {
  try {
    (void)folder.import(bytes);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

}  // namespace

class TestImport : public QObject {
  Q_OBJECT
  Folder folder_;

 private slots:
  void real_logs_agree_with_an_independent_parser_data() {
    QTest::addColumn<QString>("path");
    for (const auto* folder : {DIFR_DEMO_DATA "/logs", DIFR_TEST_DATA "/logs-smollm2"})
      for (const auto& info : QDir(folder).entryInfoList({"*.json"}))
        QTest::newRow(qPrintable(QDir(folder).dirName() + "/" + info.fileName())) << info.filePath();
  }

  void real_logs_agree_with_an_independent_parser() {
    QFETCH(QString, path);
    const auto text = testing::read_file(path.toStdString());
    const auto document = QJsonDocument::fromJson(QByteArray::fromStdString(text)).object();
    const auto samples = document["samples"].toArray();
    const auto config = document["config"].toObject();
    QVERIFY(samples.size() >= 60);
    // The same records as a document, as JSONL, and packed.
    std::string lines;
    for (const auto& sample : samples) {
      auto object = sample.toObject();
      object["config"] = config;
      lines += QJsonDocument(object).toJson(QJsonDocument::Compact).toStdString() + "\n";
    }
    Bytes packed;
    zstd_compress(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()), packed);
    QProcess gzip;
    gzip.start("gzip", {"-c", path});
    QVERIFY(gzip.waitForFinished());
    const auto gzipped = gzip.readAllStandardOutput();
    QVERIFY(gzipped.size() > 100);
    for (const auto& bytes : {text, lines, std::string(packed.begin(), packed.end()), gzipped.toStdString()}) {
      const auto got = folder_.import(bytes);
      QCOMPARE(got.result.accepted, samples.size());
      QCOMPARE(got.result.rejected, 0);
      QCOMPARE(static_cast<qsizetype>(got.claims.size()), samples.size());
      for (qsizetype i = 0; i < samples.size(); ++i) {
        const auto& claim = got.claims[static_cast<std::size_t>(i)];
        const auto sample = samples[i].toObject();
        QCOMPARE(claim.prompt, ids_of(sample["prompt_token_ids"]));
        QCOMPARE(claim.output, ids_of(sample["outputs"][0]["token_ids"]));
        QCOMPARE(claim.seed, std::optional<std::int64_t>(sample["seed"].toInteger()));
        QCOMPARE(claim.external_id, sample["id"].toString().toStdString());
        QCOMPARE(claim.finish_reason, sample["outputs"][0]["finish_reason"].toString().toStdString());
        QCOMPARE(claim.sampling.temperature, config["temperature"].toDouble());
        QCOMPARE(claim.sampling.top_p, config["top_p"].toDouble());
        QCOMPARE(claim.sampling.top_k, config["top_k"].toInt());
        QCOMPARE(claim.record, i);
      }
      const auto provider = got.file.providers().at(0);
      QCOMPARE(provider.config.name, config["provider"].toString().toStdString());
      QCOMPARE(provider.config.engine_version, config["engine_version"].toString().toStdString());
      QCOMPARE(provider.config.sampler, config["sampler"].toString().toStdString());
      QCOMPARE(got.file.verify(), std::vector<std::string>{});
    }
  }

  void both_spellings_overrides_and_several_outputs() {
    auto got = folder_.import(R"({"config": {"model": "m", "temperature": 0.5, "top_k": -1, "seed": 9},
      "samples": [
       {"prompt_token_ids": [1, 2], "output_token_ids": [3, 4]},
       {"id": 17, "prompt_token_ids": [1, 2], "seed": 5, "temperature": 0, "top_p": 0.9, "top_k": 40, "min_p": 0.1,
        "repetition_penalty": 1.1, "logit_bias": {"7": -1.5, "3": 2}, "outputs": [{"token_ids": [3]}, {"token_ids": [4, 5]}]},
       {"prompt_token_ids": [1, 2], "sampling_params": {"seed": 6, "temperature": 2}, "outputs": [{"token_ids": [8]}]}
      ]})",
                              {}, "my log.v2.jsonl.gz");
    QCOMPARE(got.result.accepted, 4);
    QCOMPARE(got.file.providers().at(0).config.name, std::string("my log.v2"));
    QCOMPARE(got.claims[0].external_id, std::string("#0"));
    QCOMPARE(got.claims[0].seed, std::optional<std::int64_t>(9));
    QCOMPARE(got.claims[0].sampling.temperature, 0.5);
    QCOMPARE(got.claims[0].sampling.top_k, 0);
    QCOMPARE(got.claims[1].external_id, std::string("17"));
    QVERIFY(got.claims[1].sampling.greedy());
    QCOMPARE(got.claims[1].sampling.top_k, 40);
    QCOMPARE(got.claims[1].sampling.min_p, 0.1);
    QCOMPARE(got.claims[1].sampling.repetition_penalty, 1.1);
    const std::vector<std::pair<TokenId, double>> bias = {{3, 2.0}, {7, -1.5}};
    QCOMPARE(got.claims[1].sampling.logit_bias, bias);
    QCOMPARE(got.claims[2].choice, 1);
    QCOMPARE(got.claims[2].seed, std::optional<std::int64_t>(5));  // the profile adds the choice, as vLLM does
    QCOMPARE(got.claims[3].seed, std::optional<std::int64_t>(6));
    QCOMPARE(got.claims[3].sampling.temperature, 2.0);
    QVERIFY(std::any_of(got.issues.begin(), got.issues.end(),
                        [](const auto& i) { return i.kind == "n-greater-1" && !i.rejected; }));
  }

  void the_config_may_stand_behind_the_samples() {
    const auto got = folder_.import(R"({"samples": [)" + good_record(1) + "," + good_record(2) +
                                    R"(], "config": {"provider": "late", "temperature": 0.25}})");
    QCOMPARE(got.claims.size(), std::size_t{2});
    QCOMPARE(got.claims[0].sampling.temperature, 0.25);
    QCOMPARE(got.file.providers().at(0).config.name, std::string("late"));
  }

  void other_shapes_of_the_same_records() {
    const auto a = good_record(1), b = good_record(2);
    const auto pretty = QJsonDocument::fromJson(QByteArray::fromStdString(a)).toJson().toStdString();
    for (const auto& text :
         {"[" + a + "," + b + "]", "[\n " + a + ",\n " + b + "\n]\n", a + "\n\n" + b, a + "\r\n" + b + "\r\n",
          "\xef\xbb\xbf" + a + "\n" + b, pretty + pretty.substr(0, 0) + b + "\n", "\n\n  " + a + "\n" + b}) {
      const auto got = folder_.import(text);
      QCOMPARE(got.claims.size(), std::size_t{2});
      QCOMPARE(got.claims[1].external_id, std::string("q2"));
      QCOMPARE(got.result.rejected, 0);
    }
  }

  void importing_again_changes_nothing() {
    const auto log = std::filesystem::path(DIFR_DEMO_DATA "/logs/honest.json");
    auto file = folder_.open_case("again.difr");
    const auto first = import_log(file, log);
    const auto trail = file.trail().size();
    const auto copy = testing::write_file(folder_.path("copy.json"), testing::read_file(log));
    const auto second = import_log(file, copy);
    QVERIFY(!first.already_known && second.already_known);
    QCOMPARE(second.source_id, first.source_id);
    QCOMPARE(second.provider_ids, first.provider_ids);
    QCOMPARE(second.accepted, 96);
    QCOMPARE(file.request_count({}), 96);
    QCOMPARE(file.trail().size(), trail);
  }

  void a_cancelled_import_goes_on_without_duplicates() {
    std::string lines;
    for (int i = 0; i < 60'000; ++i) lines += good_record(i) + (i % 100 == 7 ? "}\n" : "\n");
    const auto log = testing::write_file(folder_.path("long.jsonl"), lines);
    auto file = folder_.open_case("cancel.difr");
    std::stop_source stop;
    ImportOptions options;
    options.batch = 50;
    const auto part = import_log(file, log, options, stop.get_token(), [&](std::int64_t done, std::int64_t total) {
      QVERIFY(done <= total);
      if (done > total / 3) stop.request_stop();
    });
    QVERIFY(part.accepted > 1000 && part.accepted < 50'000);
    QVERIFY(!file.sources().at(0).complete);
    const auto whole = import_log(file, log, options);
    QVERIFY(!whole.already_known);
    QCOMPARE(whole.source_id, part.source_id);
    QCOMPARE(whole.accepted, 59'400);
    QCOMPARE(whole.rejected, 600);
    QCOMPARE(file.request_count({}), 59'400);
    QCOMPARE(file.issues(whole.source_id).size(), std::size_t{601});  // and one remark on the whole
    QVERIFY(file.sources().at(0).complete);
    QCOMPARE(file.verify(), std::vector<std::string>{});
  }

  void whole_files_are_refused_with_reason_and_remedy_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("said");
    QTest::newRow("empty") << QByteArray("") << QByteArray("empty");
    QTest::newRow("blank") << QByteArray(" \n\t\n") << QByteArray("empty");
    QTest::newRow("binary") << QByteArray("\x01\x02\x03\xff\x00\x10", 6) << QByteArray("binary");
    QTest::newRow("csv") << QByteArray("id,prompt\n1,2\n") << QByteArray("not JSON");
    QTest::newRow("utf16 le") << QByteArray("\xff\xfe{\0}\0", 6) << QByteArray("UTF-16");
    QTest::newRow("utf16 be without mark") << QByteArray("\0{\0\"\0a\0\"", 8) << QByteArray("UTF-16");
    QTest::newRow("results") << QByteArray(R"({"scores": [[{"margin": Infinity}]], "config": {"seed": 42}})")
                             << QByteArray("results file");
    QTest::newRow("results, config first")
        << QByteArray(R"({"config": {"seed": 42}, "scores": [[{"margin": NaN}]]})") << QByteArray("results file");
    QTest::newRow("zip") << QByteArray("PK\x03\x04rest") << QByteArray("zip");
    QTest::newRow("parquet") << QByteArray("PAR1rest") << QByteArray("Parquet");
    QTest::newRow("pickle") << QByteArray("\x80\x04\x95rest") << QByteArray("pickle");
    QTest::newRow("bad config") << QByteArray(R"({"config": {"temperature": "hot"}, "samples": [{}]})")
                                << QByteArray("config");
    QTest::newRow("cut gzip") << QByteArray("\x1f\x8b\x08\x00\x00", 5) << QByteArray("gzip stream");
  }

  void whole_files_are_refused_with_reason_and_remedy() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, said);
    const auto error = refusal(folder_, bytes.toStdString());
    QVERIFY(error);
    qInfo("%s", error->what());
    QVERIFY(QByteArray(error->what()).contains(said));
    QVERIFY(error->where().find("log.json") != std::string::npos);
    QVERIFY(!error->remedy().empty());
    QCOMPARE(error->code(), ExitCode::bad_input);
  }

  void damaged_compression_keeps_what_came_before() {
    std::string lines;
    std::mt19937 random(3);
    for (int i = 0; i < 20'000; ++i) lines += good_record(static_cast<int>(random() % 1'000'000)) + "\n";
    const auto plain = testing::write_file(folder_.path("plain.jsonl"), lines);
    QProcess gzip;
    gzip.start("gzip", {"-c", QString::fromStdString(plain.string())});
    QVERIFY(gzip.waitForFinished());
    const auto gz = gzip.readAllStandardOutput().toStdString();
    Bytes zst;
    zstd_compress(std::span(reinterpret_cast<const std::uint8_t*>(lines.data()), lines.size()), zst);
    for (const auto& bytes :
         {gz.substr(0, gz.size() * 2 / 3), std::string(zst.begin(), zst.end()).substr(0, zst.size() * 2 / 3)}) {
      const auto got = folder_.import(bytes);
      QVERIFY(got.result.accepted > 5'000 && got.result.accepted < 20'000);
      const auto truncated =
          std::count_if(got.issues.begin(), got.issues.end(), [](const auto& i) { return i.kind == "truncated"; });
      QCOMPARE(truncated, 1);
    }
  }

  void a_pipe_is_imported_like_a_file() {
    const auto fifo = folder_.path("fifo");
    QCOMPARE(mkfifo(fifo.c_str(), 0600), 0);
    const auto text = testing::read_file(DIFR_DEMO_DATA "/logs/honest.json");
    std::jthread writer([&] { testing::write_file(fifo, text); });
    const auto got = folder_.import_file(fifo);
    QCOMPARE(got.result.accepted, 96);
    QCOMPARE(got.file.sources().at(0).size, static_cast<std::int64_t>(text.size()));
    auto file = folder_.open_case("case-of-file.difr");
    import_log(file, DIFR_DEMO_DATA "/logs/honest.json");
    QCOMPARE(file.sources().at(0).sha256, got.file.sources().at(0).sha256);
  }
};

QTEST_APPLESS_MAIN(TestImport)
#include "test_import.moc"
