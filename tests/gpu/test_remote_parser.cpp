// Answers of a real server (vLLM 0.32, tests/data/server) and what is wrong with damaged ones; the API key.
#include <QtTest>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "core/util/error.h"
#include "gpu/remote/api_key.h"
#include "gpu/remote/prompt_logprobs.h"

using namespace difr;
using namespace difr::gpu;
using nlohmann::json;

namespace {

constexpr int kVocab = 49152;  // SmolLM2

json recorded(const std::string& name) {
  return json::parse(std::ifstream(std::string(DIFR_TEST_DATA "/server/") + name + ".json"));
}

struct Recorded {
  explicit Recorded(const std::string& name, std::size_t prompt_length = 44) : document(recorded(name)) {
    tokens = document["request"]["prompt"].get<std::vector<TokenId>>();
    prompt_length = std::min(prompt_length, tokens.size() - 1);
    sequence = {std::span(tokens).first(prompt_length), std::span(tokens).subspan(prompt_length)};
  }
  [[nodiscard]] json& rows() { return document["response"]["choices"][0]["prompt_logprobs"]; }
  [[nodiscard]] auto parsed(int top_k = 20, int vocab = kVocab) const {
    return parse_prompt_logprobs(document["response"].dump(), sequence, vocab, top_k);
  }
  [[nodiscard]] ReplyFault fault(int top_k = 20, int vocab = kVocab) const {
    const auto result = parsed(top_k, vocab);
    if (result) qFatal("was accepted");
    if (result.error().text.empty()) qFatal("no text");
    return result.error().fault;
  }

  json document;
  std::vector<TokenId> tokens;
  Sequence sequence;
};

}  // namespace

class TestRemoteParser : public QObject {
  Q_OBJECT

 private slots:
  void reads_recorded_answers_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : {"verify_0", "verify_1", "verify_2", "verify_3", "verify_4"})
      QTest::newRow(name) << QString(name);
  }
  void reads_recorded_answers() {
    QFETCH(QString, name);
    Recorded recorded(name.toStdString());
    const auto parsed = recorded.parsed();
    QVERIFY(parsed.has_value());
    const Evidence& evidence = parsed->evidence;
    const std::size_t n = recorded.sequence.output.size();
    QVERIFY(n >= 50);
    QCOMPARE(evidence.size(), n);
    QCOMPARE(evidence.top_m, 20);
    QCOMPARE(evidence.top_ids.size(), n * 20);
    std::size_t outside = 0;
    for (std::size_t t = 0; t < n; ++t) {
      const auto& row = recorded.rows()[recorded.sequence.prompt.size() + t];
      const auto own = std::to_string(recorded.sequence.output[t]);
      QCOMPARE(evidence.claimed_logit[t], row[own]["logprob"].get<float>());
      QCOMPARE(evidence.log_sum_exp[t], 0.0F);
      if (row.size() == 21) {
        ++outside;
        QCOMPARE(evidence.claimed_rank[t], row[own]["rank"].get<int>() - 1);
      }
      for (std::size_t i = 0; i < 20; ++i) {
        QCOMPARE(evidence.logits(t)[i], row[std::to_string(evidence.ids(t)[i])]["logprob"].get<float>());
        if (i == 0) continue;
        QVERIFY(evidence.logits(t)[i] < evidence.logits(t)[i - 1] ||
                (evidence.logits(t)[i] == evidence.logits(t)[i - 1] && evidence.ids(t)[i] > evidence.ids(t)[i - 1]));
      }
      int larger = 0;
      for (const float z : evidence.logits(t)) larger += z > evidence.claimed_logit[t] ? 1 : 0;
      if (row.size() == 20) QCOMPARE(evidence.claimed_rank[t], larger);
    }
    // The outputs were sampled from this model at T = 1: most tokens lie among its 20 best, not all.
    QVERIFY(outside < n / 5);
    QVERIFY(parsed->mean_top_mass > 0.7 && parsed->mean_top_mass < 1.0);
    QVERIFY(!parsed->cached_prompt_tokens.has_value());
  }

  void reads_another_k() {
    const Recorded recorded("completions_prompt_logprobs", 10);
    const auto parsed = recorded.parsed(5);
    QVERIFY(parsed.has_value());
    QCOMPARE(parsed->evidence.top_m, 5);
    QCOMPARE(recorded.fault(20), ReplyFault::wrong_shape);
  }

  void asks_for_nothing_but_raw_values() {
    const std::vector<TokenId> prompt{1, 2}, output{3};
    const auto body = json::parse(prompt_logprobs_body({.model = "m", .top_k = 7}, {prompt, output}));
    QCOMPARE(body["prompt"].get<std::vector<int>>(), (std::vector<int>{1, 2, 3}));
    QCOMPARE(body["prompt_logprobs"].get<int>(), 7);
    QCOMPARE(body["temperature"].get<double>(), 1.0);
    QCOMPARE(body["top_p"].get<double>(), 1.0);
    QCOMPARE(body["top_k"].get<int>(), -1);
    QCOMPARE(body["repetition_penalty"].get<double>(), 1.0);
    QCOMPARE(body["max_tokens"].get<int>(), 1);
    QCOMPARE(body["add_special_tokens"].get<bool>(), false);
  }

  void names_the_fault() {
    const auto damaged = [](const std::function<void(Recorded&)>& damage) {
      Recorded recorded("verify_0");
      damage(recorded);
      return recorded.fault();
    };
    QCOMPARE(damaged([](Recorded& r) { r.document["response"]["choices"][0].erase("prompt_logprobs"); }),
             ReplyFault::unsupported);
    QCOMPARE(damaged([](Recorded& r) { r.rows() = nullptr; }), ReplyFault::unsupported);
    QCOMPARE(damaged([](Recorded& r) { r.rows()[60] = nullptr; }), ReplyFault::missing_rows);
    QCOMPARE(damaged([](Recorded& r) { r.rows().erase(3); }), ReplyFault::missing_rows);
    QCOMPARE(damaged([](Recorded& r) { r.document["response"]["choices"][0]["prompt_token_ids"][50] = 7; }),
             ReplyFault::other_tokens);
    QCOMPARE(damaged([](Recorded& r) {
               auto& ids = r.document["response"]["choices"][0]["prompt_token_ids"];
               ids.insert(ids.begin(), 1);  // a doubled BOS
             }),
             ReplyFault::other_tokens);
    const auto own = [](Recorded& r, std::size_t t) -> json& {
      return r.rows()[r.sequence.prompt.size() + t][std::to_string(r.sequence.output[t])];
    };
    QCOMPARE(damaged([&](Recorded& r) { own(r, 5)["logprob"] = 3.5; }), ReplyFault::not_log_probs);
    QCOMPARE(damaged([&](Recorded& r) { own(r, 5)["logprob"] = -9999.0; }), ReplyFault::not_log_probs);
    QCOMPARE(damaged([&](Recorded& r) { own(r, 5)["logprob"] = "x"; }), ReplyFault::wrong_shape);
    QCOMPARE(damaged([](Recorded& r) {
               for (auto& [id, value] : r.rows()[50].items()) value["logprob"] = -0.1;
             }),
             ReplyFault::not_log_probs);
    QCOMPARE(damaged([](Recorded& r) { r.rows()[50].erase(std::to_string(r.sequence.output[50 - 44])); }),
             ReplyFault::wrong_shape);
    QCOMPARE(damaged([](Recorded& r) { r.rows()[50]["49152"] = r.rows()[50].begin().value(); }),
             ReplyFault::wrong_shape);
    QCOMPARE(damaged([](Recorded& r) { r.rows()[50]["-1"] = r.rows()[50].begin().value(); }), ReplyFault::wrong_shape);
    QCOMPARE(damaged([](Recorded& r) { r.rows()[50]["abc"] = r.rows()[50].begin().value(); }), ReplyFault::wrong_shape);
    const Recorded recorded("verify_0");
    QCOMPARE(parse_prompt_logprobs("", recorded.sequence, kVocab, 20).error().fault, ReplyFault::malformed);
    QCOMPARE(parse_prompt_logprobs("<html>", recorded.sequence, kVocab, 20).error().fault, ReplyFault::malformed);
    QCOMPARE(parse_prompt_logprobs("{}", recorded.sequence, kVocab, 20).error().fault, ReplyFault::malformed);
    QCOMPARE(recorded.fault(20, 1000), ReplyFault::wrong_shape);
  }

  // Cut or mutated bodies: accepted or refused, never a crash; what is accepted has the right size.
  void survives_mutations() {
    const Recorded recorded("verify_0");
    const auto body = recorded.document["response"].dump();
    for (std::size_t size = 0; size < body.size(); size += 997)
      QVERIFY(!parse_prompt_logprobs(std::string_view(body).substr(0, size), recorded.sequence, kVocab, 20));
    std::mt19937 random(5);
    int refused = 0;
    for (int round = 0; round < 300; ++round) {
      auto mutated = body;
      for (int i = 0; i < 20; ++i) mutated[random() % mutated.size()] = "0123456789{}[],:\"-.eEnx"[random() % 23];
      const auto parsed = parse_prompt_logprobs(mutated, recorded.sequence, kVocab, 20);
      if (!parsed)
        ++refused;
      else
        QCOMPARE(parsed->evidence.top_ids.size(), recorded.sequence.output.size() * 20);
    }
    QVERIFY(refused > 200);
  }

  void reads_error_messages() {
    const auto text = recorded("bad_logprobs_21")["response"]["error_body"].get<std::string>();
    QVERIFY(server_message(text).starts_with("Requested sample logprobs of 21"));
    QCOMPARE(server_message(R"({"detail":"Not Found"})"), std::string("Not Found"));
    QCOMPARE(server_message(R"({"error":"no"})"), std::string("no"));
    QCOMPARE(server_message("<html>Bad gateway"), std::string("<html>Bad gateway"));
    QCOMPARE(server_message(std::string(5000, 'x')).size(), std::size_t{200});
  }

  void keys_come_from_the_environment_or_a_private_file() {
    qputenv("DIFR_TEST_KEY", "sk-secret-1");
    const auto key = ApiKey::from_environment("DIFR_TEST_KEY");
    QCOMPARE(key.authorization(), std::string("Authorization: Bearer sk-secret-1"));
    QCOMPARE(key.redact("bad key sk-secret-1, sk-secret-1!"), std::string("bad key ***, ***!"));
    QCOMPARE(ApiKey().redact("text"), std::string("text"));
    qunsetenv("DIFR_TEST_KEY");
    QVERIFY_THROWS_EXCEPTION(Error, (void)ApiKey::from_environment("DIFR_TEST_KEY"));

    QTemporaryDir folder;
    const auto path = std::filesystem::path(folder.path().toStdString()) / "key";
    const auto write = [&](const std::string& text, std::filesystem::perms permissions) {
      std::ofstream(path) << text;
      std::filesystem::permissions(path, permissions);
    };
    using std::filesystem::perms;
    write("sk-secret-2\r\n", perms::owner_read | perms::owner_write);
    QCOMPARE(ApiKey::from_file(path).authorization(), std::string("Authorization: Bearer sk-secret-2"));
    write("sk-secret-2\n", perms::owner_read | perms::owner_write | perms::others_read);
    QVERIFY_THROWS_EXCEPTION(Error, (void)ApiKey::from_file(path));
    // A key that would smuggle in another header, and none at all; the error must not quote it.
    for (const char* bad : {"sk-secret\tX-Other: 1\n", "\n", ""}) {
      write(bad, perms::owner_read | perms::owner_write);
      try {
        (void)ApiKey::from_file(path);
        QFAIL("accepted");
      } catch (const Error& error) {
        QVERIFY(std::string(error.what()).find("secret") == std::string::npos);
        QVERIFY(error.code() == ExitCode::environment);
      }
    }
    QVERIFY_THROWS_EXCEPTION(Error, (void)ApiKey::from_file(path.parent_path() / "absent"));
  }
};

QTEST_APPLESS_MAIN(TestRemoteParser)
#include "test_remote_parser.moc"
