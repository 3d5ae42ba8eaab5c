// Part files: a copy of some requests of a case, recomputed elsewhere, and the way back.

#include <fmt/format.h>

#include <algorithm>

#include "core/casefile/blob_codec.h"
#include "core/casefile/case_impl.h"
#include "core/casefile/sampling_json.h"
#include "core/util/error.h"

namespace difr {
namespace {

constexpr const char* shard_key = "shard";
constexpr const char* origin_key = "shard.of";
constexpr std::int64_t page = 256;

/// The first row of the trail holds the moment and the author of the case's creation: no other case has its hash.
std::string identity(sql::Database& db) {
  sql::Query query(db, "SELECT hash FROM trail WHERE id = 1");
  if (!query.step()) throw bad_input(db.name(), "the audit trail has lost its beginning", "run verify-case");
  return query.text(0);
}

void copy_columns(const sql::Query& from, sql::Query& to, std::initializer_list<int> texts, int columns) {
  for (int column = 0; column < columns; ++column) {
    if (from.is_null(column))
      to.bind(std::nullopt);
    else if (std::ranges::find(texts, column) != texts.end())
      to.bind(from.text(column));
    else
      to.bind(from.integer(column));
  }
}

/// Sources and providers are few: all of them, so that every declaration is at hand.
void copy_declarations(sql::Database& from, sql::Database& to) {
  {
    sql::Query sources(from,
                       "SELECT id, size, accepted, rejected, complete, path, sha256, format, added_at FROM sources");
    sql::Query insert(to,
                      "INSERT INTO sources(id, size, accepted, rejected, complete, path, sha256, format, added_at) "
                      "VALUES(?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING");
    for (; sources.step(); insert.reset()) {
      copy_columns(sources, insert, {5, 6, 7, 8}, 9);
      insert.run();
    }
  }
  sql::Query providers(from,
                       "SELECT id, source_id, role, name, model, engine, engine_version, sampler, dtype, sampling, "
                       "raw_json FROM providers");
  sql::Query insert(to,
                    "INSERT INTO providers(id, source_id, role, name, model, engine, engine_version, sampler, dtype, "
                    "sampling, raw_json) VALUES(?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING");
  for (; providers.step(); insert.reset()) {
    copy_columns(providers, insert, {3, 4, 5, 6, 7, 8, 9, 10}, 11);
    insert.run();
  }
}

/// Copies up to a page of the shard's requests after `last`; returns the last one copied, or 0 at the end.
std::int64_t copy_requests(sql::Database& from, sql::Database& to, Shard shard, std::int64_t last) {
  sql::Query rows(from,
                  "SELECT r.id, r.provider_id, r.record, r.choice, r.prompt_tokens, r.output_tokens, r.seed, "
                  "r.seed_origin, r.ids_origin, r.external_id, r.finish_reason, r.sampling, r.digest, t.prompt, "
                  "t.output, t.logprobs "
                  "FROM requests r JOIN request_tokens t ON t.request_id = r.id "
                  "WHERE r.id > ? AND (r.provider_id + r.record) % ? = ? ORDER BY r.id LIMIT ?");
  rows.all(last, shard.count, shard.index - 1, page);
  sql::Query request(to,
                     "INSERT INTO requests(id, provider_id, record, choice, prompt_tokens, output_tokens, seed, "
                     "seed_origin, ids_origin, external_id, finish_reason, sampling, digest) "
                     "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
  sql::Query tokens(to, "INSERT INTO request_tokens(request_id, prompt, output, logprobs) VALUES(?,?,?,?)");
  std::int64_t copied = 0;
  for (; rows.step(); request.reset(), tokens.reset()) {
    copied = rows.integer(0);
    copy_columns(rows, request, {9, 10, 11}, 12);
    request.bind(rows.blob(12)).run();
    tokens.all(copied, rows.blob(13), rows.blob(14));
    if (rows.is_null(15))
      tokens.bind(std::nullopt).run();
    else
      tokens.bind(rows.blob(15)).run();
  }
  return copied;
}

[[nodiscard]] Error not_ours(const CaseFile& part, const std::string& what) {
  return bad_input(part.path().string(), what, "merge only parts that recompute --shard made from this very case");
}

/// Page by page, so that a kill loses one page and readers are not kept waiting.
MergedRun copy_run(sql::Database& from, sql::Database& to, std::int64_t part_run, std::int64_t run) {
  MergedRun merged{.run_id = run};
  for (std::int64_t last = 0, seen = page; seen == page;) {
    seen = 0;
    sql::Transaction transaction(to);
    sql::Query rows(from,
                    "SELECT request_id, tokens, data FROM evidence WHERE run_id = ? AND request_id > ? ORDER BY "
                    "request_id LIMIT ?");
    rows.all(part_run, last, page);
    sql::Query insert(to,
                      "INSERT INTO evidence(run_id, request_id, tokens, digest, data) VALUES(?,?,?,?,?) "
                      "ON CONFLICT(run_id, request_id) DO NOTHING");
    for (; rows.step(); insert.reset()) {
      ++seen;
      last = rows.integer(0);
      const auto digest = blob_digest("evidence", run, last, "", rows.blob(2));
      insert.all(run, last, rows.integer(1), std::span<const std::uint8_t>(digest), rows.blob(2)).run();
      if (to.changes() == 0) {
        ++merged.already_there;
        continue;
      }
      ++merged.added;
      sql::Query scores(from, "SELECT profile, data FROM scores WHERE run_id = ? AND request_id = ? ORDER BY id");
      scores.all(part_run, last);
      while (scores.step()) put_scores(to, run, last, scores.text(0), decode_scores(scores.blob(1)));
    }
    transaction.commit();
  }
  return merged;
}

}  // namespace

CaseFile CaseFile::open_part(const std::filesystem::path& path, Shard shard) const {
  std::error_code ignored;
  if (std::filesystem::equivalent(path, impl_->path, ignored))
    throw Error(ExitCode::usage, "--out", "names the case itself", "name another file for the part");
  auto part = open(path, OpenMode::create_or_open);
  auto& db = part.impl_->db;
  const auto origin = identity(impl_->db);
  const auto holds = part.setting(shard_key);
  if (!holds && !part.providers().empty())
    throw bad_input(path.string(), "is a case file, not a part of one", "name another file for the part");
  if (holds && (*holds != shard.text() || part.setting(origin_key) != origin))
    throw bad_input(
        path.string(),
        fmt::format("holds part {} of {}", *holds, part.setting(origin_key) == origin ? "this case" : "another case"),
        fmt::format("name another file for part {}", shard.text()));
  if (!holds) {
    sql::Transaction transaction(db);
    part.set_setting(origin_key, origin);
    part.set_setting(shard_key, shard.text());
    transaction.commit();
  }
  std::int64_t last = 0;
  if (sql::Query newest(db, "SELECT coalesce(max(id), 0) FROM requests"); newest.step()) last = newest.integer(0);
  do {
    sql::Transaction transaction(db);
    copy_declarations(impl_->db, db);
    last = copy_requests(impl_->db, db, shard, last);
    db.exec(
        "UPDATE providers SET requests = (SELECT count(*) FROM requests r WHERE r.provider_id = providers.id), "
        "output_tokens = (SELECT coalesce(sum(output_tokens), 0) FROM requests r WHERE r.provider_id = providers.id)");
    transaction.commit();
  } while (last != 0);
  return part;
}

MergeResult CaseFile::merge_part(const CaseFile& part) {
  const auto shard = part.setting(shard_key);
  if (!shard) throw not_ours(part, "is not a part made by recompute --shard");
  if (part.setting(origin_key) != identity(impl_->db)) throw not_ours(part, "was made from another case");
  if (const auto faults = part.verify(); !faults.empty())
    throw bad_input(part.path().string(), fmt::format("is not sound, nothing of it was taken over: {}", faults.front()),
                    "run verify-case on it for all faults; recompute that part again into a new file");
  auto& from = part.impl_->db;
  {
    sql::Query rows(from, "SELECT id, digest FROM requests ORDER BY id");
    sql::Query own(impl_->db, "SELECT digest FROM requests WHERE id = ?");
    for (; rows.step(); own.reset()) {
      own.bind(rows.integer(0));
      if (!own.step() || !std::ranges::equal(own.blob(0), rows.blob(1)))
        throw not_ours(part, fmt::format("its requests row {} is not that of this case", rows.integer(0)));
    }
  }
  MergeResult result{.shard = parse_shard(*shard), .runs = {}};
  for (const auto& row : part.runs()) {
    if (row.requests_done == 0) continue;
    const auto run = begin_run(row.environment);
    result.runs.push_back(copy_run(from, impl_->db, row.id, run));
    const auto& merged = result.runs.back();
    append_trail_row(
        impl_->db, default_actor(), "merge part",
        fmt::format(R"({{"run":{},"part":{},"shard":"{}","added":{},"already_there":{},"evidence_digest":"{}"}})", run,
                    json_quoted(part.path().filename().string()), *shard, merged.added, merged.already_there,
                    evidence_digest(from, row.id)));
    set_run_state(run, pending_requests(run, {}).empty() ? RunState::done : RunState::cancelled);
  }
  return result;
}

}  // namespace difr
