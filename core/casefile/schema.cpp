#include "core/casefile/schema.h"

#include <fmt/format.h>

#include <array>

#include "core/util/error.h"

namespace difr {
namespace {

// Enumerations are stored as the integers of their C++ declarations. Blobs: core/casefile/blob_codec.h.
constexpr const char* base = R"sql(
CREATE TABLE sources(
  id INTEGER PRIMARY KEY, path TEXT NOT NULL, sha256 TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, format TEXT NOT NULL,
  accepted INTEGER NOT NULL, rejected INTEGER NOT NULL, complete INTEGER NOT NULL, added_at TEXT NOT NULL) STRICT;
CREATE TABLE source_issues(
  id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL REFERENCES sources(id), record INTEGER NOT NULL,
  byte_offset INTEGER NOT NULL, rejected INTEGER NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL,
  remedy TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX source_issues_once ON source_issues(source_id, record, kind, byte_offset, message);
CREATE TABLE providers(
  id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL REFERENCES sources(id), role INTEGER NOT NULL, name TEXT NOT NULL,
  model TEXT NOT NULL, engine TEXT NOT NULL, engine_version TEXT NOT NULL, sampler TEXT NOT NULL, dtype TEXT NOT NULL,
  sampling TEXT NOT NULL, raw_json TEXT NOT NULL, requests INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0, UNIQUE(source_id, name, model, raw_json)) STRICT;
CREATE TABLE requests(
  id INTEGER PRIMARY KEY, provider_id INTEGER NOT NULL REFERENCES providers(id), record INTEGER NOT NULL,
  choice INTEGER NOT NULL, external_id TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  seed INTEGER, seed_origin INTEGER NOT NULL, ids_origin INTEGER NOT NULL, finish_reason TEXT NOT NULL,
  sampling TEXT, digest BLOB NOT NULL,
  scored_run INTEGER REFERENCES runs(id), scored_profile TEXT, exact_match REAL, mean_margin REAL, max_margin REAL,
  cross_entropy REAL, p_value REAL, q_value REAL, flagged INTEGER NOT NULL DEFAULT 0,
  UNIQUE(provider_id, record, choice)) STRICT;
CREATE INDEX requests_by_provider ON requests(provider_id, id);
CREATE INDEX requests_by_external_id ON requests(external_id, id);
CREATE INDEX requests_by_output_tokens ON requests(output_tokens, id);
CREATE INDEX requests_by_exact_match ON requests(exact_match, id);
CREATE INDEX requests_by_mean_margin ON requests(mean_margin, id);
CREATE INDEX requests_by_max_margin ON requests(max_margin, id);
CREATE INDEX requests_by_cross_entropy ON requests(cross_entropy, id);
CREATE INDEX requests_by_p_value ON requests(p_value, id);
CREATE INDEX requests_flagged ON requests(id) WHERE flagged = 1;
CREATE TABLE request_tokens(
  request_id INTEGER PRIMARY KEY REFERENCES requests(id), prompt BLOB NOT NULL, output BLOB NOT NULL) STRICT;
CREATE TABLE runs(
  id INTEGER PRIMARY KEY, environment_key TEXT NOT NULL UNIQUE, model_name TEXT NOT NULL, weights_digest TEXT NOT NULL,
  dtype TEXT NOT NULL, device TEXT NOT NULL, engine_build TEXT NOT NULL, variant TEXT NOT NULL,
  threads INTEGER NOT NULL, batch_tokens INTEGER NOT NULL, state INTEGER NOT NULL, created_at TEXT NOT NULL) STRICT;
CREATE TABLE evidence(
  id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES runs(id),
  request_id INTEGER NOT NULL REFERENCES requests(id), tokens INTEGER NOT NULL, digest BLOB NOT NULL,
  data BLOB NOT NULL, UNIQUE(run_id, request_id)) STRICT;
CREATE TABLE scores(
  id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES runs(id),
  request_id INTEGER NOT NULL REFERENCES requests(id), profile TEXT NOT NULL, tokens INTEGER NOT NULL,
  exact_match REAL, mean_margin REAL, max_margin REAL, cross_entropy REAL, digest BLOB NOT NULL, data BLOB NOT NULL,
  UNIQUE(run_id, request_id, profile)) STRICT;
CREATE TABLE calibrations(
  id INTEGER PRIMARY KEY, run_id INTEGER REFERENCES runs(id), name TEXT NOT NULL, providers TEXT NOT NULL,
  environment TEXT NOT NULL, sampling TEXT NOT NULL, clip REAL, noise_sigma REAL, created_at TEXT NOT NULL,
  digest BLOB NOT NULL, data BLOB NOT NULL) STRICT;
CREATE TABLE provider_decisions(
  id INTEGER PRIMARY KEY, run_id INTEGER REFERENCES runs(id), calibration_id INTEGER REFERENCES calibrations(id),
  provider_id INTEGER NOT NULL REFERENCES providers(id), created_at TEXT NOT NULL, requests INTEGER NOT NULL,
  tokens INTEGER NOT NULL, sampler TEXT NOT NULL, exact_match REAL, mean_clipped_margin REAL, clip REAL,
  statistic TEXT NOT NULL, score REAL, threshold REAL, p_value REAL, llr_score REAL, llr_p_value REAL,
  cross_entropy REAL, filtered_tokens INTEGER NOT NULL, edge_tokens INTEGER NOT NULL, refused_tokens INTEGER NOT NULL,
  verdict INTEGER NOT NULL, reason TEXT NOT NULL) STRICT;
CREATE INDEX provider_decisions_newest ON provider_decisions(provider_id, id);
CREATE TABLE request_decisions(
  decision_id INTEGER NOT NULL REFERENCES provider_decisions(id), request_id INTEGER NOT NULL REFERENCES requests(id),
  tokens INTEGER NOT NULL, exact_match REAL, score REAL, max_margin REAL, p_value REAL, q_value REAL,
  flagged INTEGER NOT NULL, PRIMARY KEY(decision_id, request_id)) STRICT, WITHOUT ROWID;
CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE trail(
  id INTEGER PRIMARY KEY, at TEXT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, detail TEXT NOT NULL,
  previous_hash TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE TABLE trail_head(one INTEGER PRIMARY KEY CHECK(one = 1), rows INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
INSERT INTO trail_head VALUES(1, 0, '');
)sql";

constexpr const char* findings = R"sql(
CREATE TABLE findings(
  id INTEGER PRIMARY KEY, request_id INTEGER REFERENCES requests(id), provider_id INTEGER REFERENCES providers(id),
  token INTEGER NOT NULL DEFAULT -1, kind TEXT NOT NULL, text TEXT NOT NULL, author TEXT NOT NULL,
  created_at TEXT NOT NULL) STRICT;
CREATE INDEX findings_by_request ON findings(request_id);
)sql";

constexpr const char* stated_logprobs = R"sql(
ALTER TABLE request_tokens ADD COLUMN logprobs BLOB;
)sql";

constexpr std::array<Migration, 3> all = {{
    {1, "claims, evidence, scores, decisions, trail", base},
    {2, "findings: notes, tags and sign-off", findings},
    {3, "log-probabilities as the log states them", stated_logprobs},
}};

std::int64_t pragma(sql::Database& db, const char* sql) {
  sql::Query query(db, sql);
  return query.step() ? query.integer(0) : 0;
}

bool has_tables(sql::Database& db) {
  return pragma(db, "SELECT count(*) FROM sqlite_schema") > 0;
}

void require_ours(sql::Database& db, int version) {
  if (pragma(db, "PRAGMA application_id") != case_application_id)
    throw bad_input(db.name(), "is an SQLite database of another application, not a case file",
                    "choose a *.difr file or a new name");
  if (version > newest_schema_version())
    throw bad_input(db.name(),
                    fmt::format("was written by a newer workbench (schema {}, this one knows {})", version,
                                newest_schema_version()),
                    "update this program, or open the file with the version that wrote it");
}

}  // namespace

std::span<const Migration> migrations() {
  return all;
}

int schema_version(sql::Database& db) {
  return static_cast<int>(pragma(db, "PRAGMA user_version"));
}

int migrate(sql::Database& db, int target) {
  const int found = schema_version(db);
  int before = found;
  if (has_tables(db)) require_ours(db, found);
  for (const auto& step : migrations()) {
    if (step.to_version <= found || step.to_version > target) continue;
    sql::Transaction transaction(db);
    // Another process may have migrated while this one waited for the lock.
    if (schema_version(db) < step.to_version) {
      db.exec(step.sql);
      db.exec(fmt::format("PRAGMA application_id = {}", case_application_id).c_str());
      db.exec(fmt::format("PRAGMA user_version = {}", step.to_version).c_str());
    } else {
      before = step.to_version;
    }
    transaction.commit();
  }
  return before;
}

void require_current_schema(sql::Database& db) {
  const int version = schema_version(db);
  require_ours(db, version);
  if (version < newest_schema_version())
    throw bad_input(db.name(),
                    fmt::format("has schema {} and must be brought to {} first", version, newest_schema_version()),
                    "open it once for writing");
}

}  // namespace difr
