// Recomputation runs, their evidence and scores.

#include <fmt/format.h>

#include "core/casefile/blob_codec.h"
#include "core/casefile/case_impl.h"
#include "core/casefile/sampling_json.h"
#include "core/util/error.h"

namespace difr {
namespace {

/// Equal text for equal environments.
std::string environment_key(const ReferenceEnvironment& e) {
  return fmt::format("{},{},{}",
                     to_json({e.model_name, e.weights_digest, e.dtype, e.device, e.engine_build, e.variant}), e.threads,
                     e.batch_tokens);
}

const char* state_name(RunState state) {
  switch (state) {
    case RunState::running:
      return "running";
    case RunState::done:
      return "done";
    case RunState::cancelled:
      return "cancelled";
    case RunState::failed:
      return "failed";
  }
  return "unknown";
}

constexpr const char* run_columns =
    "SELECT id, model_name, weights_digest, dtype, device, engine_build, variant, threads, batch_tokens, state, "
    "created_at, "
    "(SELECT count(*) FROM evidence e WHERE e.run_id = runs.id), (SELECT coalesce(sum(requests), 0) FROM providers) "
    "FROM runs ";

RunRow read_run(const sql::Query& q) {
  RunRow row;
  row.id = q.integer(0);
  row.environment = {q.text(1),
                     q.text(2),
                     q.text(3),
                     q.text(4),
                     q.text(5),
                     q.text(6),
                     static_cast<int>(q.integer(7)),
                     static_cast<int>(q.integer(8))};
  row.state = static_cast<RunState>(q.integer(9));
  row.created_at = q.text(10);
  row.requests_done = q.integer(11);
  row.requests_total = q.integer(12);
  return row;
}

/// Shows these scores on the Requests page unless it shows a newer run, or another profile of this run.
void refresh_summary(sql::Database& db, std::int64_t run_id, std::int64_t request_id, std::string_view profile,
                     const ScoreSummary& s) {
  sql::Query(
      db,
      "UPDATE requests SET scored_run = ?1, scored_profile = ?2, exact_match = ?3, mean_margin = ?4, max_margin = ?5, "
      "cross_entropy = ?6 WHERE id = ?7 AND (scored_run IS NULL OR scored_run < ?1 OR (scored_run = ?1 AND "
      "scored_profile = ?2))")
      .all(run_id, profile, s.exact_match, s.mean_margin, s.max_margin, s.cross_entropy, request_id)
      .run();
}

}  // namespace

void put_scores(sql::Database& db, std::int64_t run_id, std::int64_t request_id, std::string_view profile,
                const TokenScores& scores) {
  const auto data = encode_scores(scores);
  const auto digest = blob_digest("scores", run_id, request_id, profile, data);
  const auto s = summarise(scores);
  sql::Query(
      db,
      "INSERT INTO scores(run_id, request_id, profile, tokens, exact_match, mean_margin, max_margin, cross_entropy, "
      "digest, data) VALUES(?,?,?,?,?,?,?,?,?,?) ON CONFLICT(run_id, request_id, profile) DO UPDATE SET "
      "tokens = excluded.tokens, exact_match = excluded.exact_match, mean_margin = excluded.mean_margin, "
      "max_margin = excluded.max_margin, cross_entropy = excluded.cross_entropy, digest = excluded.digest, "
      "data = excluded.data")
      .all(run_id, request_id, profile, scores.size(), s.exact_match, s.mean_margin, s.max_margin, s.cross_entropy,
           std::span<const std::uint8_t>(digest), data)
      .run();
  refresh_summary(db, run_id, request_id, profile, s);
}

std::int64_t CaseFile::begin_run(const ReferenceEnvironment& e) {
  sql::Transaction transaction(impl_->db);
  const auto key = environment_key(e);
  sql::Query find(impl_->db, "SELECT id, state FROM runs WHERE environment_key = ?");
  find.bind(key);
  std::int64_t id = 0;
  if (find.step()) {
    id = find.integer(0);
    if (static_cast<RunState>(find.integer(1)) == RunState::running) return id;
    sql::Query(impl_->db, "UPDATE runs SET state = ? WHERE id = ?").all(static_cast<int>(RunState::running), id).run();
    append_trail_row(impl_->db, default_actor(), "resume run", fmt::format(R"({{"run":{}}})", id));
  } else {
    sql::Query(
        impl_->db,
        "INSERT INTO runs(environment_key, model_name, weights_digest, dtype, device, engine_build, variant, threads, "
        "batch_tokens, state, created_at) VALUES(?,?,?,?,?,?,?,?,?,?,?)")
        .all(key, e.model_name, e.weights_digest, e.dtype, e.device, e.engine_build, e.variant, e.threads,
             e.batch_tokens, static_cast<int>(RunState::running), now_utc())
        .run();
    id = impl_->db.last_insert_id();
    append_trail_row(impl_->db, default_actor(), "begin run",
                     fmt::format(R"({{"run":{},"environment":[{}]}})", id, key));
  }
  transaction.commit();
  return id;
}

std::vector<RunRow> CaseFile::runs() const {
  std::vector<RunRow> out;
  sql::Query query(impl_->db, std::string(run_columns) + "ORDER BY id");
  while (query.step()) out.push_back(read_run(query));
  return out;
}

std::optional<RunRow> CaseFile::latest_run() const {
  sql::Query query(impl_->db, std::string(run_columns) + "ORDER BY id DESC LIMIT 1");
  return query.step() ? std::optional(read_run(query)) : std::nullopt;
}

std::vector<std::int64_t> CaseFile::pending_requests(std::int64_t run_id,
                                                     std::span<const std::int64_t> provider_ids) const {
  std::vector<std::int64_t> out;
  std::string sql =
      "SELECT r.id FROM requests r WHERE NOT EXISTS(SELECT 1 FROM evidence e WHERE e.run_id = ? AND e.request_id = "
      "r.id)";
  for (std::size_t i = 0; i < provider_ids.size(); ++i) sql += i == 0 ? " AND r.provider_id IN (?" : ",?";
  sql += provider_ids.empty() ? " ORDER BY r.id" : ") ORDER BY r.id";
  sql::Query query(impl_->db, sql);
  query.bind(run_id);
  for (const auto id : provider_ids) query.bind(id);
  while (query.step()) out.push_back(query.integer(0));
  return out;
}

void CaseFile::store_batch(std::int64_t run_id, std::span<const ScoredRequest> batch) {
  // Encoding takes longer than writing: do it before the lock is taken.
  std::vector<Bytes> blobs;
  blobs.reserve(batch.size());
  for (const auto& item : batch) blobs.push_back(encode_evidence(item.evidence));
  sql::Transaction transaction(impl_->db);
  sql::Query insert(impl_->db,
                    "INSERT INTO evidence(run_id, request_id, tokens, digest, data) VALUES(?,?,?,?,?) "
                    "ON CONFLICT(run_id, request_id) DO NOTHING");
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto& item = batch[i];
    const auto digest = blob_digest("evidence", run_id, item.request_id, "", blobs[i]);
    insert.all(run_id, item.request_id, item.evidence.size(), std::span<const std::uint8_t>(digest), blobs[i]).run();
    const bool is_new = impl_->db.changes() > 0;
    insert.reset();
    if (is_new && item.scores.size() > 0) put_scores(impl_->db, run_id, item.request_id, item.profile, item.scores);
  }
  transaction.commit();
}

void CaseFile::set_run_state(std::int64_t run_id, RunState state) {
  sql::Transaction transaction(impl_->db);
  sql::Query(impl_->db, "UPDATE runs SET state = ? WHERE id = ?").all(static_cast<int>(state), run_id).run();
  if (impl_->db.changes() != 1) throw bad_input(impl_->db.name(), fmt::format("has no run {}", run_id));
  append_trail_row(impl_->db, default_actor(), "run state",
                   fmt::format(R"({{"run":{},"state":"{}","evidence_digest":"{}"}})", run_id, state_name(state),
                               evidence_digest(impl_->db, run_id)));
  transaction.commit();
}

std::optional<Evidence> CaseFile::evidence(std::int64_t run_id, std::int64_t request_id) const {
  sql::Query query(impl_->db, "SELECT data FROM evidence WHERE run_id = ? AND request_id = ?");
  query.all(run_id, request_id);
  return query.step() ? std::optional(decode_evidence(query.blob(0))) : std::nullopt;
}

std::optional<TokenScores> CaseFile::scores(std::int64_t run_id, std::int64_t request_id,
                                            std::string_view profile) const {
  // Without a profile: the one the Requests page shows, else the newest.
  sql::Query query(impl_->db,
                   profile.empty()
                       ? "SELECT s.data FROM scores s JOIN requests r ON r.id = s.request_id WHERE s.run_id = ? "
                         "AND s.request_id = ? ORDER BY (r.scored_run = s.run_id AND r.scored_profile = "
                         "s.profile) DESC, s.id DESC LIMIT 1"
                       : "SELECT data FROM scores WHERE run_id = ? AND request_id = ? AND profile = ?");
  query.all(run_id, request_id);
  if (!profile.empty()) query.bind(profile);
  return query.step() ? std::optional(decode_scores(query.blob(0))) : std::nullopt;
}

void CaseFile::store_scores(std::int64_t run_id, std::int64_t request_id, std::string_view profile,
                            const TokenScores& scores) {
  sql::Transaction transaction(impl_->db);
  put_scores(impl_->db, run_id, request_id, profile, scores);
  transaction.commit();
}

}  // namespace difr
