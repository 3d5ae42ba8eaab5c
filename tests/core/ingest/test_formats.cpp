#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/tokenizer/encoder.h"
#include "core/util/error.h"
#include "ingest_fixture.h"

using namespace difr;
using testing::Folder;

namespace {

const std::string formats = DIFR_TEST_DATA "/formats/";
const std::string server = DIFR_TEST_DATA "/server/";

QJsonObject json(const std::string& path) {
  return QJsonDocument::fromJson(QByteArray::fromStdString(testing::read_file(path))).object();
}

std::vector<TokenId> ids_of(const QJsonValue& list) {
  std::vector<TokenId> ids;
  for (const auto& id : list.toArray()) ids.push_back(id.toInt());
  return ids;
}

bool has(const Folder::Imported& got, const std::string& kind) {
  return std::any_of(got.issues.begin(), got.issues.end(), [&](const auto& i) { return i.kind == kind; });
}

}  // namespace

class TestFormats : public QObject {
  Q_OBJECT
  Folder folder_;

 private slots:
  /// Expected by the fixtures' own text: prompt 1 504 260 11 -> output 284 9706 2, and so on.
  void every_format_with_ids_is_read_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<QList<int>>("prompt");
    QTest::addColumn<QList<int>>("output");
    QTest::addColumn<int>("seed");
    QTest::addColumn<double>("temperature");
    QTest::addColumn<QString>("remark");
    const QList<int> prompt = {1, 504, 260, 11}, three = {284, 9706, 2}, two = {284, 9706};
    const auto row = [](const char* file, const char* format, const QList<int>& p, const QList<int>& o, int seed,
                        double t, const char* remark) {
      QTest::newRow(file) << QString(format) << p << o << seed << t << QString(remark);
    };
    row("difr_samples", "difr-samples", prompt, three, -1, 0.0, "");
    row("vllm_completions", "openai-answer", prompt, three, 42, 0.8, "");
    row("vllm_chat", "openai-answer", {151644, 872, 198, 6023, 151645, 198, 151644, 77091, 198}, {9707, 0, 151645}, 7,
        1.0, "length-mismatch");
    row("vllm_generate_token_in_token_out", "openai-answer", prompt, three, 3, 1.0, "");
    row("vllm_chat_stream_chunks", "openai-stream", {1, 2, 3}, {10, 11, 12}, -1, 1.0, "request-missing");
    row("sglang_generate", "sglang", prompt, three, 42, 1.0, "");
    row("tgi_generate", "tgi", {1, 504}, three, 42, 0.7, "");
    row("llamacpp_completion", "llama.cpp", prompt, two, 42, 0.8, "length-mismatch");
    row("ollama_generate", "ollama", prompt, two, 42, 0.8, "length-mismatch");
    row("trtllm_llmapi_output", "difr-samples", prompt, two, -1, 1.0, "missing-seed");
    row("prime_rl_parquet_schema_and_row", "difr-samples", prompt, three, 42, 1.0, "");
  }

  void every_format_with_ids_is_read() {
    QFETCH(QString, format);
    QFETCH(QList<int>, prompt);
    QFETCH(QList<int>, output);
    QFETCH(int, seed);
    QFETCH(double, temperature);
    QFETCH(QString, remark);
    const auto got = folder_.import_file(formats + QTest::currentDataTag() + ".json");
    for (const auto& issue : got.issues) qInfo("%s: %s", issue.kind.c_str(), issue.message.c_str());
    QCOMPARE(got.claims.size(), std::size_t{1});
    QCOMPARE(got.result.rejected, 0);
    QCOMPARE(QString::fromStdString(got.file.sources().at(0).format), format);
    const auto& claim = got.claims[0];
    QCOMPARE(QList<int>(claim.prompt.begin(), claim.prompt.end()), prompt);
    QCOMPARE(QList<int>(claim.output.begin(), claim.output.end()), output);
    QCOMPARE(claim.seed, seed < 0 ? std::nullopt : std::optional<std::int64_t>(seed));
    QCOMPARE(claim.sampling.temperature, temperature);
    QCOMPARE(claim.ids_origin, IdsOrigin::engine);
    if (!remark.isEmpty()) QVERIFY(has(got, remark.toStdString()));
  }

  void every_format_without_ids_says_what_is_missing_data() {
    QTest::addColumn<QString>("kind");
    for (const auto* file :
         {"openai_batch_output_line", "langfuse_observation", "k2vv_results_line", "lm_eval_sample_line",
          "openrouter_generation", "inspect_eval_sample", "litellm_standard_logging_payload",
          "helicone_request_UNVERIFIED", "otel_genai_span_attributes"})
      QTest::newRow(file) << "no-token-ids";
    QTest::newRow("rinberg_all_prompts") << "scores-only";
    QTest::newRow("toploc_proofs") << "activation-proofs";
  }

  void every_format_without_ids_says_what_is_missing() {
    QFETCH(QString, kind);
    const auto got = folder_.import_file(formats + QTest::currentDataTag() + ".json");
    QCOMPARE(got.claims.size(), std::size_t{0});
    QVERIFY(got.result.rejected >= 1);
    for (const auto& issue : got.issues) {
      if (!issue.rejected) continue;
      qInfo("%s: %s (%s)", issue.kind.c_str(), issue.message.c_str(), issue.remedy.c_str());
      QCOMPARE(QString::fromStdString(issue.kind), kind);
      QVERIFY(issue.remedy.size() > 10);
    }
  }

  void no_fixture_is_left_out() {
    for (const auto& info : QDir(QString::fromStdString(formats)).entryInfoList({"*.json"})) {
      if (info.fileName() == "difr_results.json") {
        QVERIFY_THROWS_EXCEPTION(Error, (void)folder_.import_file(info.filePath().toStdString()));
        continue;
      }
      const auto got = folder_.import_file(info.filePath().toStdString());
      QVERIFY2(!got.claims.empty() || got.result.rejected > 0, qPrintable(info.fileName()));
      QVERIFY2(!has(got, "unknown-record"), qPrintable(info.fileName()));
    }
  }

  void server_pairs_data() {
    QTest::addColumn<QString>("file");
    for (const auto& info :
         QDir(QString::fromStdString(server)).entryInfoList({"chat_*.json", "completions_*.json", "verify_*.json"}))
      if (!info.fileName().contains(".request.")) QTest::newRow(qPrintable(info.completeBaseName())) << info.filePath();
  }

  void server_pairs() {
    const std::string name = QTest::currentDataTag();
    const auto pair = json(server + name + ".json");
    const auto request = pair["request"].toObject(), response = pair["response"].toObject();
    const auto choices = response["choices"].toArray();
    const auto got = folder_.import_file(server + name + ".json");
    if (name == "chat_no_logprobs_no_ids") {
      QVERIFY(got.claims.empty() && has(got, "no-token-ids"));
      return;
    }
    QCOMPARE(static_cast<qsizetype>(got.claims.size()), choices.size());
    for (qsizetype i = 0; i < choices.size(); ++i) {
      const auto& claim = got.claims[static_cast<std::size_t>(i)];
      const auto choice = choices[i].toObject();
      QCOMPARE(claim.output, ids_of(choice["token_ids"]));
      QCOMPARE(claim.prompt,
               ids_of(choice.contains("prompt_token_ids") ? choice["prompt_token_ids"] : response["prompt_token_ids"]));
      QCOMPARE(claim.choice, choice["index"].toInt());
      QCOMPARE(claim.seed,
               request.contains("seed") ? std::optional<std::int64_t>(request["seed"].toInteger()) : std::nullopt);
      QCOMPARE(claim.sampling.temperature, request["temperature"].toDouble(1));
      QCOMPARE(claim.sampling.repetition_penalty, request["repetition_penalty"].toDouble(1));
      QCOMPARE(claim.sampling.min_p, request["min_p"].toDouble(0));
    }
    QCOMPARE(has(got, "temperature-not-stated"), !request.contains("temperature"));
    QCOMPARE(has(got, "n-greater-1"), choices.size() > 1);
    const auto provider = got.file.providers().at(0).config;
    QCOMPARE(provider.engine, std::string("vllm"));
    QCOMPARE(provider.engine_version, std::string("0.32.0"));
    QCOMPARE(provider.model, std::string("smollm2-135m"));
  }

  void a_batch_is_joined_with_its_input() {
    const auto got = folder_.import_file(server + "batch_output.jsonl");
    std::map<QString, QJsonObject> requests;
    for (const auto& line : QByteArray::fromStdString(testing::read_file(server + "batch_input.jsonl")).split('\n')) {
      const auto object = QJsonDocument::fromJson(line).object();
      if (!object.isEmpty()) requests[object["custom_id"].toString()] = object["body"].toObject();
    }
    QVERIFY(requests.size() >= 5);
    QCOMPARE(got.claims.size(), requests.size());
    QVERIFY(has(got, "requests-joined"));
    for (const auto& claim : got.claims) {
      const auto& request = requests.at(QString::fromStdString(claim.external_id));
      QCOMPARE(claim.seed, std::optional<std::int64_t>(request["seed"].toInteger()));
      QVERIFY(!claim.prompt.empty());
      QCOMPARE(static_cast<int>(claim.output.size()), request["max_tokens"].toInt());
    }
    // The input alone holds no answers.
    const auto input = folder_.import_file(server + "batch_input.jsonl");
    QVERIFY(input.claims.empty() && has(input, "request-only"));
    // Without its input the output lacks seeds, and says so.
    std::filesystem::copy_file(server + "batch_output.jsonl", folder_.path("alone.jsonl"));
    const auto alone = folder_.import_file(folder_.path("alone.jsonl"));
    QCOMPARE(alone.claims.size(), requests.size());
    QVERIFY(has(alone, "request-missing") && has(alone, "missing-seed"));
    ImportOptions options;
    options.requests = server + "batch_input.jsonl";
    QVERIFY(folder_.import_file(folder_.path("alone.jsonl"), options).claims[0].seed);
  }

  void transcripts_are_put_together() {
    for (const std::string name : {"chat_stream", "completions_stream"}) {
      const auto got = folder_.import_file(server + name + ".sse");
      QCOMPARE(got.claims.size(), std::size_t{1});
      QCOMPARE(got.result.rejected, 0);
      QCOMPARE(got.claims[0].seed, std::optional<std::int64_t>(106));
      QCOMPARE(got.claims[0].output.size(), std::size_t{24});  // usage.completion_tokens of the transcript
      QCOMPARE(got.claims[0].prompt.size(), std::size_t{44});
      QCOMPARE(got.claims[0].finish_reason, std::string("length"));
      QVERIFY(!has(got, "length-mismatch") && !has(got, "stream-cut"));
      const auto text = testing::read_file(server + name + ".sse");
      const auto cut = folder_.import(text.substr(0, text.size() * 2 / 3));
      QCOMPARE(cut.claims.size(), std::size_t{1});
      QVERIFY(cut.claims[0].output.size() < 24 && has(cut, "stream-cut"));
      QVERIFY(std::equal(cut.claims[0].output.begin(), cut.claims[0].output.end(), got.claims[0].output.begin()));
    }
    const auto plain = folder_.import_file(server + "chat_stream_plain.sse");
    QVERIFY(plain.claims.empty() && has(plain, "no-token-ids"));
  }

  void a_folder_is_imported_whole() {
    auto file = folder_.open_case("folder.difr");
    const auto entries = import_folder(file, server);
    std::int64_t accepted = 0;
    for (const auto& entry : entries) {
      QVERIFY(entry.path.extension() != ".request.json");
      QVERIFY(entry.path.filename() != "batch_input.jsonl");
      accepted += entry.result.accepted;
    }
    QVERIFY(accepted > 30);
    QCOMPARE(file.request_count({}), accepted);
    QCOMPARE(file.verify(), std::vector<std::string>{});
    for (const auto& again : import_folder(file, server)) QVERIFY(again.result.already_known || !again.error.empty());
  }

  void text_is_retokenised_only_on_request() {
    // The prompt's ids are the server's; of each answer the text alone is left.
    auto answer = nlohmann::json::parse(testing::read_file(server + "completions_n2.json"));
    auto& choices = answer["response"]["choices"];
    for (auto& choice : choices) choice["token_ids"] = nullptr;
    ImportOptions options;
    QVERIFY(has(folder_.import(answer.dump(), options), "no-token-ids"));
    options.retokenise = DIFR_DEMO_DATA "/model";
    const auto got = folder_.import(answer.dump() + " ", options);
    QCOMPARE(got.claims.size(), std::size_t(2));
    QVERIFY(has(got, "retokenised"));
    const auto encoder = load_encoder(options.retokenise);
    for (std::size_t i = 0; i < 2; ++i) {
      QVERIFY(got.claims[i].ids_origin == IdsOrigin::retokenised);
      QVERIFY(got.claims[i].output == encoder->encode(choices[i]["text"].get<std::string>(), false));
    }
    // Ids that are there are never replaced.
    const auto own = folder_.import(testing::read_file(server + "completions_n2.json") + "  ", options);
    QVERIFY(own.claims.at(0).ids_origin == IdsOrigin::engine && !has(own, "retokenised"));
    // A chat's prompt needs the server's template.
    auto chat = nlohmann::json::parse(testing::read_file(server + "chat_no_logprobs_no_ids.json"));
    QVERIFY(has(folder_.import(chat.dump(), options), "no-token-ids"));
  }

  void stated_logprobs_are_kept() {
    const auto claims = folder_.import_file(server + "chat_penalties.json").claims;
    QCOMPARE(claims.at(0).logprobs.size(), claims.at(0).output.size());
    const auto answer = nlohmann::json::parse(testing::read_file(server + "completions_1.json"));
    const auto stated = answer["response"]["choices"][0]["logprobs"]["token_logprobs"].get<std::vector<float>>();
    QVERIFY(folder_.import_file(server + "completions_1.json").claims.at(0).logprobs == stated);
    QVERIFY(folder_.import_file(server + "completions_n2.json").claims.at(0).logprobs.empty());
    const auto sample = folder_.import(
        R"({"prompt_token_ids": [1], "seed": 1, "output_token_ids": [7, 8, 9], "logprobs": [-0.5, null, -9999.0]})");
    const auto& logprobs = sample.claims.at(0).logprobs;
    QCOMPARE(logprobs.size(), std::size_t(3));
    QVERIFY(logprobs[0] == -0.5F && std::isnan(logprobs[1]) && std::isinf(logprobs[2]));
    // Not one for each token: nothing is guessed.
    QVERIFY(folder_.import(R"({"prompt_token_ids": [1], "seed": 1, "output_token_ids": [7, 8], "logprobs": [-0.5]})")
                .claims.at(0)
                .logprobs.empty());
  }

  void failed_requests_are_listed() {
    const auto got = folder_.import_file(server + "bad_logprobs_21.json");
    QVERIFY(got.claims.empty() && has(got, "request-failed"));
    QVERIFY(has(folder_.import_file(server + "responses_api.json"), "no-token-ids"));
    QVERIFY(has(folder_.import_file(server + "tokenize_text.json"), "not-a-generation"));
  }

  void plausibility() {
    const auto one = [this](const std::string& members) {
      return folder_.import(R"({"id": "a", "prompt_token_ids": [5, 6], "seed": 1, "output_token_ids": [7, 8], )" +
                            members + "}");
    };
    QVERIFY(one(R"("temperature": 0.005)").issues.at(0).kind == "temperature-floor");
    QVERIFY(one(R"("temperature": 0.5)").issues.empty());
    QVERIFY(
        has(folder_.import(R"({"prompt_token_ids": [1, 1, 6], "seed": 1, "output_token_ids": [7]})"), "doubled-bos"));
    QVERIFY(
        !has(folder_.import(R"({"prompt_token_ids": [1, 6, 1], "seed": 1, "output_token_ids": [7]})"), "doubled-bos"));
    QVERIFY(has(folder_.import(R"({"prompt_token_ids": [1], "seed": 1, "output_token_ids": [7,0,0,0,0,0,0,0,0,3]})"),
                "token-run"));
    QVERIFY(!has(folder_.import(R"({"prompt_token_ids": [1], "seed": 1, "output_token_ids": [7,0,0,0,0,0,0,0,3]})"),
                 "token-run"));
    const auto sglang = [this](const std::string& config, const std::string& sample) {
      return folder_.import(R"({"config": {"engine": "sglang", "temperature": 0.7)" + config +
                            R"(}, "samples": [{"prompt_token_ids": [1, 2], "output_token_ids": [7], )" + sample +
                            "}]}");
    };
    QVERIFY(has(sglang(R"(, "min_p": 0.1)", R"("seed": 4)"), "min-p-with-seed"));
    QVERIFY(!has(sglang(R"(, "min_p": 0.0)", R"("seed": 4)"), "min-p-with-seed"));
    QVERIFY(!has(sglang(R"(, "min_p": 0.1)", R"("id": "x")"), "min-p-with-seed"));
    QVERIFY(has(sglang(R"(, "speculative_config": {"method": "ngram"})", R"("seed": 5)"), "speculative-decoding"));
    QVERIFY(!has(sglang(R"(, "speculative_config": null)", R"("seed": 5)"), "speculative-decoding"));
    QVERIFY(!has(sglang("", R"("seed": 5)"), "speculative-decoding"));
    QVERIFY(has(folder_.import_file(DIFR_DEMO_DATA "/logs/honest.json"), "eos-included"));
    std::string left_out;
    for (int i = 0; i < 9; ++i)
      left_out += R"({"prompt_token_ids": [1], "seed": 1, "finish_reason": "stop", "output_token_ids": [7,)" +
                  std::to_string(i) + "]}\n";
    QVERIFY(has(folder_.import(left_out), "eos-left-out"));
    auto tgi = testing::read_file(formats + "tgi_generate.json");
    tgi.replace(tgi.rfind("\"seed\": 42"), 10, "\"seed\": 43");
    const auto echo = folder_.import(tgi);
    QVERIFY(has(echo, "seed-echo-differs"));
    QCOMPARE(echo.claims.at(0).seed_origin, SeedOrigin::echoed);
  }
};

QTEST_APPLESS_MAIN(TestFormats)
#include "test_formats.moc"
