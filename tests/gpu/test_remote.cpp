// The remote reference against a server on the loopback that knows its own logits (test_remote_server.h).
#include <QtTest>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <thread>

#include "core/casefile/case_file.h"
#include "core/scoring/token_difr.h"
#include "core/util/error.h"
#include "gpu/remote/recompute_remote.h"
#include "gpu/test_remote_support.h"

using namespace difr;
using namespace difr::gpu;
using namespace std::chrono_literals;
using namespace remote_test;
using nlohmann::json;

class TestRemote : public QObject {
  Q_OBJECT

 private slots:
  // The evidence is what a local engine with the same logits would store, up to the row's constant.
  void evidence_is_that_of_the_logits() {
    FakeServer server;
    const RemoteReference reference(options_for(server), {});
    const Texts texts(12);
    const auto answers = reference.ask(texts.sequences, {});
    QCOMPARE(answers.size(), texts.sequences.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      QVERIFY(answers[i].reply.has_value());
      const Evidence& evidence = answers[i].reply->evidence;
      Evidence expected;
      auto tokens = texts.prompts[i];
      for (const auto id : texts.outputs[i]) {
        append_evidence(expected, MadeUpModel::logits(tokens), id, 20);
        tokens.push_back(id);
      }
      QCOMPARE(evidence.top_ids, expected.top_ids);
      QCOMPARE(evidence.claimed_rank, expected.claimed_rank);
      QCOMPARE(evidence.vocab, expected.vocab);
      // fp32 rounding of values below 40, and of the server's and our log-sum-exp.
      for (std::size_t t = 0; t < evidence.size(); ++t)
        QVERIFY(std::abs(evidence.claimed_logit[t] - (expected.claimed_logit[t] - expected.log_sum_exp[t])) <= 1e-5F);
    }
  }

  void knows_its_server() {
    FakeServer server;
    qputenv("DIFR_TEST_KEY", "sk-very-secret");
    auto options = options_for(server);
    options.url += "/v1/";
    options.key = ApiKey::from_environment("DIFR_TEST_KEY");
    const RemoteReference reference(options, {});
    QVERIFY(has(server.last_request_head(), "Authorization: Bearer sk-very-secret"));
    const auto environment = reference.environment();
    QCOMPARE(environment.model_name, std::string("made-up"));
    QCOMPARE(environment.weights_digest, std::string("unverified:org/made-up"));
    QCOMPARE(environment.engine_build, std::string("vllm 0.32.0"));
    QCOMPARE(environment.device, "remote:" + server.url());
    QCOMPARE(environment.variant, std::string("top-20"));
    QCOMPARE(reference.max_positions(), 100);
  }

  void refuses_bad_options() {
    FakeServer server;
    const auto with = [&](const std::function<void(RemoteOptions&)>& change, ExitCode code = ExitCode::usage) {
      auto options = options_for(server);
      change(options);
      return error_of([&] { const RemoteReference reference(options, {}); }, code);
    };
    QVERIFY(has(with([](auto& o) { o.url = "file:///etc/passwd"; }), "http://"));
    QVERIFY(has(with([](auto& o) { o.url = "http://user:pw@host"; }), "user, password"));
    QVERIFY(has(with([](auto& o) { o.url += "/?key=1"; }), "query"));
    QVERIFY(has(with([](auto& o) { o.vocab = 0; }), "--vocab"));
    QVERIFY(has(with([](auto& o) { o.top_k = 0; }), "--top-k"));
    QVERIFY(has(with([](auto& o) { o.model = "other"; }, ExitCode::environment), "made-up"));
    QVERIFY(has(with([](auto& o) { o.url += "/elsewhere"; }, ExitCode::environment), "does not know"));
    QVERIFY(has(with([](auto& o) { o.url = "http://127.0.0.1:1"; }, ExitCode::environment), "failed 4 times"));
  }

  void tries_again_data() {
    QTest::addColumn<QByteArray>("wrong");
    QTest::newRow("500") << QByteArray::fromStdString(FakeServer::http(500, R"({"error":{"message":"oops"}})"));
    QTest::newRow("503 html") << QByteArray::fromStdString(FakeServer::http(503, "<html>busy</html>"));
    QTest::newRow("429") << QByteArray::fromStdString(FakeServer::http(429, "{}", "Retry-After: 0\r\n"));
    QTest::newRow("truncated body") << QByteArray("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{\"choices\": [");
    QTest::newRow("cut JSON") << QByteArray::fromStdString(FakeServer::http(200, R"({"choices": [{"index")"));
    QTest::newRow("not HTTP") << QByteArray("SSH-2.0-OpenSSH\r\n");
    QTest::newRow("empty") << QByteArray("\r\n\r\n");
  }
  void tries_again() {
    QFETCH(QByteArray, wrong);
    FakeServer server;
    server.instead = [&](int number, const json&) { return number <= 2 ? wrong.toStdString() : std::string(); };
    const RemoteReference reference(options_for(server), {});
    const Texts texts(1);
    const auto answers = reference.ask(texts.sequences, {});
    QVERIFY(answers[0].reply.has_value());
    QCOMPARE(server.completions(), 3);

    // For ever: the error names how often, and what came last.
    server.instead = [&](int, const json&) { return wrong.toStdString(); };
    const auto text = error_of([&] { (void)reference.ask(texts.sequences, {}); });
    QVERIFY(has(text, "4 times"));
    QVERIFY(has(text, server.url().c_str()));
    QCOMPARE(server.completions(), 7);
  }

  void waits_as_long_as_the_server_asks() {
    FakeServer server;
    server.instead = [](int number, const json&) {
      return number == 1 ? FakeServer::http(429, "{}", "Retry-After: 1\r\n") : std::string();
    };
    const RemoteReference reference(options_for(server), {});
    const auto begin = std::chrono::steady_clock::now();
    QVERIFY(reference.ask(Texts(1).sequences, {})[0].reply.has_value());
    QVERIFY(std::chrono::steady_clock::now() - begin >= 1000ms);
  }

  void gives_up_on_a_slow_server() {
    FakeServer server;
    server.delay = 600ms;
    auto options = options_for(server);
    options.attempts = 2;
    options.limits.total = 200ms;
    const RemoteReference reference(options, {});
    const Texts texts(1);
    QVERIFY(has(error_of([&] { (void)reference.ask(texts.sequences, {}); }), "failed 2 times"));
  }

  void stops_at_once() {
    FakeServer server;
    server.delay = 400ms;
    auto options = options_for(server);
    options.concurrency = 2;
    const RemoteReference reference(options, {});
    const Texts texts(40);
    std::stop_source source;
    std::jthread stopper([&] {
      std::this_thread::sleep_for(600ms);
      source.request_stop();
    });
    const auto begin = std::chrono::steady_clock::now();
    const auto answers = reference.ask(texts.sequences, source.get_token());
    // 40 answers would take 8 s; curl looks at the token at least once a second.
    QVERIFY(std::chrono::steady_clock::now() - begin < 4s);
    const auto got = std::ranges::count_if(answers, [](const auto& a) { return a.reply.has_value(); });
    QVERIFY(got < 20);
    for (const auto& answer : answers) QVERIFY(answer.refusal.empty());
  }

  void asks_several_at_once() {
    FakeServer server;
    server.delay = 150ms;
    auto options = options_for(server);
    options.concurrency = 4;
    const RemoteReference reference(options, {});
    const Texts texts(12);
    (void)reference.ask(texts.sequences, {});
    QVERIFY(server.most_at_once() > 1);
    QVERIFY(server.most_at_once() <= 4);
  }

  void one_claim_that_is_refused_does_not_stop_the_others() {
    FakeServer server;
    server.instead = [](int, const json& request) {
      return request["prompt"].size() == 15
                 ? FakeServer::http(400, R"({"error":{"message":"The maximum context length is 14 tokens"}})")
                 : std::string();
    };
    const RemoteReference reference(options_for(server), {});
    const Texts texts(3);  // 14, 15 and 16 tokens
    const auto answers = reference.ask(texts.sequences, {});
    QVERIFY(answers[0].reply && answers[2].reply && !answers[1].reply);
    QVERIFY(has(answers[1].refusal, "maximum context length"));
  }

  void never_shows_the_key() {
    FakeServer server;
    qputenv("DIFR_TEST_KEY", "sk-very-secret");
    auto options = options_for(server);
    options.key = ApiKey::from_environment("DIFR_TEST_KEY");
    const RemoteReference reference(options, {});
    for (const int status : {401, 400, 500}) {
      server.instead = [&](int, const json&) {
        return FakeServer::http(status, R"({"error":{"message":"bad logprobs key: sk-very-secret"}})");
      };
      const auto text = error_of([&] { (void)reference.ask(Texts(1).sequences, {}); });
      QVERIFY(has(text, "***"));
      QVERIFY(text.find("secret") == std::string::npos);
    }
  }

  void names_a_k_that_the_server_does_not_allow() {
    FakeServer server;
    server.instead = [](int, const json&) {
      return FakeServer::http(
          400, R"({"error":{"message":"Requested prompt logprobs of 21, which is greater than max allowed: 20"}})");
    };
    const RemoteReference reference(options_for(server), {});
    QVERIFY(has(error_of([&] { (void)reference.ask(Texts(1).sequences, {}); }), "--max-logprobs"));
  }

  void refuses_answers_of_another_kind_data() {
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("expected");
    QTest::newRow("no rows") << "unsupported"
                             << "vLLM";
    QTest::newRow("doubled BOS") << "ids"
                                 << "BOS";
    QTest::newRow("cached rows") << "null"
                                 << "--no-enable-prefix-caching";
    QTest::newRow("logits") << "logits"
                            << "raw_logprobs";
    QTest::newRow("too few") << "few"
                             << "--top-k";
  }
  void refuses_answers_of_another_kind() {
    QFETCH(QString, kind);
    QFETCH(QString, expected);
    FakeServer server;
    server.edit = [&](int, const json&, json& answer) {
      auto& choice = answer["choices"][0];
      if (kind == "unsupported") choice.erase("prompt_logprobs");
      if (kind == "ids") choice["prompt_token_ids"].push_back(0);
      if (kind == "null") choice["prompt_logprobs"][8] = nullptr;
      if (kind == "logits")
        for (auto& [id, entry] : choice["prompt_logprobs"][9].items())
          entry["logprob"] = 20 + entry["logprob"].get<double>();
      if (kind == "few") choice["prompt_logprobs"][9].erase(choice["prompt_logprobs"][9].begin());
    };
    const RemoteReference reference(options_for(server), {});
    const auto text = error_of([&] { (void)reference.ask(Texts(1).sequences, {}); });
    QVERIFY(has(text, expected.toStdString().c_str()));
    QCOMPARE(server.completions(), 1);
  }

  void a_sound_server_passes_the_probe() {
    FakeServer server;
    const RemoteReference reference(options_for(server), {});
    const auto probe = reference.probe(some_tokens(30, 1), {});
    QVERIFY(probe.repeat_difference == 0 && probe.prefix_difference == 0 && probe.processed_difference == 0);
    QVERIFY(probe.cached_tokens == 0);
    QVERIFY(probe.top_mass > 0.5 && probe.top_mass <= 1.001);
    QCOMPARE(server.completions(), 4);
  }

  void unsound_servers_do_not_data() {
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("expected");
    QTest::newRow("temperature applied") << "temperature"
                                         << "change with the temperature";
    QTest::newRow("filters applied") << "filter"
                                     << "raw_logprobs";
    QTest::newRow("cache that says so") << "reported"
                                        << "from a prefix cache";
    QTest::newRow("stale rows on repetition") << "stale"
                                              << "differently the second time";
    QTest::newRow("stale rows of a prefix") << "prefix"
                                            << "shared prefix";
  }
  void unsound_servers_do_not() {
    QFETCH(QString, kind);
    QFETCH(QString, expected);
    FakeServer server;
    server.applies_temperature = kind == "temperature";
    server.edit = [&](int number, const json& request, json& answer) {
      auto& rows = answer["choices"][0]["prompt_logprobs"];
      if (kind == "filter" && request["top_k"].get<int>() > 0)
        for (std::size_t i = 1; i < rows.size(); ++i)
          for (auto& [id, entry] : rows[i].items())
            if (entry["rank"].get<int>() > request["top_k"].get<int>()) entry["logprob"] = -9999.0;
      if (kind == "reported" && number == 2) answer["usage"]["prompt_tokens_details"] = {{"cached_tokens", 32}};
      // A cached block comes back with the values of whatever was there before.
      if ((kind == "stale" && number == 2) || (kind == "prefix" && number == 3)) {
        const auto tokens = request["prompt"].get<std::vector<TokenId>>();
        auto before = request;
        auto others = tokens;
        others[0] = (others[0] + 1) % MadeUpModel::kVocab;
        before["prompt"] = others;
        const auto stale = FakeServer::honest_answer(before, false)["choices"][0]["prompt_logprobs"];
        for (std::size_t i = 16; i < 32; ++i) rows[i] = stale[i];
      }
    };
    const RemoteReference reference(options_for(server), {});
    QVERIFY(has(error_of([&] { (void)reference.probe(some_tokens(30, 1), {}); }), expected.toStdString().c_str()));
  }

  // An honest provider and a failing server: what was stored stays, the next call goes on, and all tokens match.
  void recomputes_a_case_and_resumes() {
    QTemporaryDir folder;
    const auto path = std::filesystem::path(folder.path().toStdString()) / "remote.difr";
    auto file = new_case(path, 10);
    FakeServer server;
    server.instead = [](int number, const json&) { return number > 9 ? FakeServer::http(500, "{}") : std::string(); };
    qputenv("DIFR_TEST_KEY", "sk-very-secret");
    auto options = options_for(server);
    options.concurrency = 1;
    options.attempts = 1;
    options.key = ApiKey::from_environment("DIFR_TEST_KEY");
    RecomputeOptions recompute;
    recompute.batch_tokens = 40;  // two claims of 18 tokens a batch
    recompute.scoring.bf16_logits = false;
    const RemoteReference reference(options, {});
    std::int64_t reported = -1;
    const auto progress = [&](const RecomputeProgress& p) { reported = p.requests_done; };
    QVERIFY(
        has(error_of([&] { (void)recompute_case_remote(file, reference, {}, recompute, progress, {}); }), "HTTP 500"));
    QCOMPARE(reported, 4);  // 4 requests of the probe, 5 claims: two whole batches
    QCOMPARE(file.latest_run()->requests_done, 4);
    QVERIFY(file.latest_run()->state == RunState::failed);

    server.instead = nullptr;
    const auto result = recompute_case_remote(file, reference, {}, recompute, progress, {});
    QCOMPARE(result.requests, 6);
    QCOMPARE(reported, 6);
    QVERIFY(result.skipped.empty() && !result.stopped);
    QVERIFY(file.latest_run()->state == RunState::done);
    std::size_t tokens = 0;
    std::size_t exact = 0;
    file.for_each_claim(0, [&](Claim&& claim) {
      const auto scores = file.scores(result.run_id, claim.id, kProfile);
      const auto evidence = file.evidence(result.run_id, claim.id);
      if (!scores || !evidence || evidence->top_m != 20 || evidence->vocab != MadeUpModel::kVocab) return false;
      for (std::size_t t = 0; t < scores->size(); ++t) {
        // The token that won is the best of those known; only where the rest could have won is the margin open.
        const bool matches = (scores->flags[t] & TokenFlag::exact_match) != 0;
        const bool open = (scores->flags[t] & TokenFlag::interval) != 0;
        if (matches || open) ++tokens;
        if (matches) ++exact;
      }
      return true;
    });
    QCOMPARE(tokens, std::size_t{120});
    QVERIFY2(exact >= 90, qPrintable(QString::number(exact)));

    std::ostringstream bytes;
    for (const auto& entry : std::filesystem::directory_iterator(path.parent_path()))  // the write-ahead log too
      bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    QVERIFY(bytes.str().find("sk-very-secret") == std::string::npos);
    QVERIFY(bytes.str().find("127.0.0.1") != std::string::npos);
  }

  void a_stopped_recomputation_can_go_on() {
    QTemporaryDir folder;
    auto file = new_case(std::filesystem::path(folder.path().toStdString()) / "remote.difr", 6);
    FakeServer server;
    const RemoteReference reference(options_for(server), {});
    RecomputeOptions recompute;
    recompute.batch_tokens = 20;
    std::stop_source source;
    const auto stop_after_two = [&](const RecomputeProgress& p) {
      if (p.requests_done == 2) source.request_stop();
    };
    const auto first = recompute_case_remote(file, reference, {}, recompute, stop_after_two, source.get_token());
    QVERIFY(first.stopped);
    QCOMPARE(first.requests, 2);
    const auto second = recompute_case_remote(file, reference, {}, recompute, {}, {});
    QCOMPARE(second.requests, 4);
    QCOMPARE(second.run_id, first.run_id);
  }
};

QTEST_APPLESS_MAIN(TestRemote)
#include "test_remote.moc"
