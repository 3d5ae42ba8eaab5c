// Parts of a case: each request in exactly one, merged in any order and any number of times, refused when foreign or
// changed.
#include <sqlite3.h>

#include <QTest>
#include <algorithm>
#include <numeric>
#include <set>

#include "case_fixture.h"
#include "core/util/error.h"

using namespace difr;
using namespace difr::testing;

class TestShards : public QObject {
  Q_OBJECT
  QTemporaryDir folder_;
  int cases_ = 0;

  std::filesystem::path path(const std::string& name) {
    return folder_.filePath(QString::fromStdString(name)).toStdString();
  }

  /// A case without any run; requests carry the choices of an n > 1 request.
  CaseFile new_case(int requests = 20) {
    auto file = CaseFile::open(path("case-" + std::to_string(++cases_) + ".difr"), OpenMode::create_or_open);
    SourceRow source;
    source.path = "/nowhere/log.json";
    source.sha256 = std::string(64, 'b');
    source.format = "difr-samples";
    const auto source_id = file.add_source(source);
    std::mt19937 random(3);
    for (int p = 0; p < 2; ++p) {
      ProviderConfig config;
      config.name = "provider-" + std::to_string(p);
      config.sampling.temperature = 0.7;
      const auto provider = file.add_provider(source_id, ProviderRole::subject, config);
      std::vector<Claim> claims;
      for (int i = 0; i < requests; ++i)
        for (int choice = 0; choice < 2; ++choice) {
          claims.push_back(make_claim(random, provider, i));
          claims.back().choice = choice;
          claims.back().sampling.temperature = choice ? 0.3 : 0.7;
          if (choice) claims.back().seed.reset();
          if (i % 2) claims.back().logprobs.assign(claims.back().output.size(), -0.25F * static_cast<float>(i));
        }
      file.add_claims(claims);
    }
    file.finish_source(source_id, 4 * requests, 0);
    return file;
  }

  /// What a worker would store: the same for a request wherever it is computed.
  static void work(CaseFile& file, std::size_t most = 1000) {
    const auto run = file.begin_run(environment());
    std::vector<ScoredRequest> batch;
    for (const auto id : file.pending_requests(run, {})) {
      if (batch.size() == most) break;
      std::mt19937 random(static_cast<unsigned>(id));
      auto evidence = make_evidence(random, 12);
      batch.push_back({id, std::move(evidence), "profile", make_scores(random, 12)});
    }
    file.store_batch(run, batch);
    file.set_run_state(run, file.pending_requests(run, {}).empty() ? RunState::done : RunState::cancelled);
  }

  std::string error_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.remedy().empty() ? "no remedy" : error.what();
    }
    return {};
  }

  static void sql(const std::filesystem::path& file, const char* text) {
    sqlite3* db = nullptr;
    QCOMPARE(sqlite3_open(file.c_str(), &db), SQLITE_OK);
    QCOMPARE(sqlite3_exec(db, text, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }

 private slots:
  void parses() {
    QVERIFY(parse_shard("2/16") == (Shard{2, 16}));
    QVERIFY(parse_shard("1/1") == (Shard{1, 1}));
    for (const auto* bad :
         {"", "3", "/", "0/4", "5/4", "1/0", "-1/4", "1/4x", "x1/4", "1/4/2", "1/ 4", "1/100001", "99999999999/2"})
      QVERIFY2(error_of([&] { (void)parse_shard(bad); }).find("--shard") != std::string::npos, bad);
  }

  void parts_are_disjoint_and_complete() {
    const auto whole = new_case();
    std::set<std::int64_t> seen;
    for (int i = 1; i <= 3; ++i) {
      const auto part = whole.open_part(path("disjoint-" + std::to_string(i)), {i, 3});
      std::int64_t requests = 0;
      part.for_each_claim(0, [&](Claim&& claim) {
        const auto original = whole.claim(claim.id);
        [&] {
          QVERIFY(original);
          QVERIFY(original->prompt == claim.prompt && original->output == claim.output && original->seed == claim.seed && original->logprobs == claim.logprobs);
          QCOMPARE(claim.sampling.temperature, original->sampling.temperature);
          QCOMPARE(claim.external_id, original->external_id);
          QVERIFY2(seen.insert(claim.id).second, "a request in two parts");
        }();
        ++requests;
        return true;
      });
      QVERIFY(requests > 0);
      QVERIFY(part.verify().empty());
      std::int64_t counted = 0;
      for (const auto& provider : part.providers()) counted += provider.requests;
      QCOMPARE(counted, requests);
    }
    QCOMPARE(seen.size(), std::size_t(80));
  }

  void any_order_and_repetition_gives_the_same() {
    auto alone = new_case();
    work(alone);
    for (const std::vector<int>& order : {std::vector{1, 2, 3}, std::vector{3, 1, 2, 3, 1}}) {
      auto whole = new_case();
      const auto prefix = "order-" + std::to_string(order.size()) + "-";
      for (int i = 1; i <= 3; ++i) {
        auto part = whole.open_part(path(prefix + std::to_string(i)), {i, 3});
        work(part);
      }
      std::int64_t added = 0, known = 0;
      for (const int i : order) {
        const auto result = whole.merge_part(CaseFile::open(path(prefix + std::to_string(i)), OpenMode::read_only));
        QVERIFY(result.shard == (Shard{i, 3}));
        QCOMPARE(result.runs.size(), std::size_t(1));
        added += result.runs.front().added;
        known += result.runs.front().already_there;
      }
      QCOMPARE(added, std::int64_t(80));
      QVERIFY(order.size() == 3 ? known == 0 : known > 0);
      QCOMPARE(whole.runs().size(), std::size_t(1));
      QVERIFY(whole.runs().front().state == RunState::done);
      const auto faults = whole.verify();
      QVERIFY2(faults.empty(), faults.empty() ? "" : faults.front().c_str());
      const auto run = whole.runs().front().id;
      alone.for_each_claim(0, [&](Claim&& claim) {
        const auto a = alone.evidence(alone.runs().front().id, claim.id), b = whole.evidence(run, claim.id);
        const auto s = alone.scores(alone.runs().front().id, claim.id), t = whole.scores(run, claim.id);
        [&] {
          QVERIFY(a && b && s && t);
          QVERIFY(a->top_ids == b->top_ids && a->top_logits == b->top_logits && a->claimed_logit == b->claimed_logit);
          QVERIFY(s->margin == t->margin && s->flags == t->flags);
          QCOMPARE(whole.request_summary(claim.id)->mean_margin, alone.request_summary(claim.id)->mean_margin);
        }();
        return true;
      });
    }
  }

  void unfinished_parts_and_own_work_mix() {
    auto whole = new_case();
    auto part = whole.open_part(path("mixed"), {1, 2});
    work(part, 5);
    work(whole, 10);
    const auto merged = whole.merge_part(part).runs.front();
    QCOMPARE(merged.added + merged.already_there, std::int64_t(5));
    QVERIFY(merged.added > 0 && merged.already_there > 0);
    QCOMPARE(merged.added + 10, whole.runs().front().requests_done);
    QVERIFY(whole.runs().front().state == RunState::cancelled);
    // The part is opened again as it would be after a kill, goes on, and is merged once more.
    auto again = whole.open_part(path("mixed"), {1, 2});
    work(again);
    (void)whole.merge_part(again);
    work(whole);
    QCOMPARE(whole.runs().front().requests_done, std::int64_t(80));
    QVERIFY(whole.verify().empty());
  }

  void later_requests_reach_their_part() {
    auto whole = new_case(4);
    const auto before = whole.open_part(path("grows"), {2, 2}).pending_requests(0, {}).size();
    std::mt19937 random(9);
    std::vector<Claim> more;
    for (int i = 100; i < 110; ++i) more.push_back(make_claim(random, 1, i));
    whole.add_claims(more);
    QCOMPARE(whole.open_part(path("grows"), {2, 2}).pending_requests(0, {}).size(), before + 5);
  }

  void refuses_what_does_not_belong() {
    auto whole = new_case(), other = new_case();
    auto part = whole.open_part(path("mine"), {1, 2});
    work(part);
    QVERIFY(error_of([&] { (void)other.merge_part(part); }).find("another case") != std::string::npos);
    QVERIFY(error_of([&] { (void)whole.merge_part(other); }).find("not a part") != std::string::npos);
    QVERIFY(error_of([&] { (void)whole.open_part(path("mine"), {2, 2}); }).find("holds part 1/2") != std::string::npos);
    QVERIFY(error_of([&] { (void)other.open_part(path("mine"), {1, 2}); }).find("another case") != std::string::npos);
    QVERIFY(error_of([&] { (void)whole.open_part(other.path(), {1, 2}); }).find("not a part") != std::string::npos);
    QVERIFY(error_of([&] { (void)whole.open_part(whole.path(), {1, 2}); }).find("--out") != std::string::npos);
    QVERIFY(whole.runs().empty());
  }

  void refuses_changed_evidence_and_changed_requests() {
    auto whole = new_case();
    for (const auto* change : {"UPDATE evidence SET data = zeroblob(length(data)) WHERE id = 3",
                               "UPDATE scores SET mean_margin = 0 WHERE id = 2", "DELETE FROM evidence WHERE id = 1",
                               "UPDATE requests SET seed = 77 WHERE id = (SELECT max(id) FROM requests)"}) {
      const auto name = path("changed-" + std::to_string(std::hash<std::string>{}(change)));
      {
        auto part = whole.open_part(name, {1, 2});
        work(part);
      }
      sql(name, change);
      const auto error = error_of([&] { (void)whole.merge_part(CaseFile::open(name, OpenMode::read_only)); });
      QVERIFY2(error.find("not sound") != std::string::npos, (std::string(change) + ": " + error).c_str());
      QVERIFY(whole.runs().empty());
    }
  }
};

QTEST_APPLESS_MAIN(TestShards)
#include "test_shards.moc"
