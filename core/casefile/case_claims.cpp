// Sources, issues, providers and claims.

#include <fmt/format.h>

#include <map>

#include "core/casefile/blob_codec.h"
#include "core/casefile/case_impl.h"
#include "core/casefile/sampling_json.h"
#include "core/util/error.h"

namespace difr {
namespace {

constexpr const char* source_columns =
    "SELECT id, path, sha256, size, format, accepted, rejected, complete FROM sources ";

SourceRow read_source(const sql::Query& q) {
  return {q.integer(0), q.text(1), q.text(2), q.integer(3), q.text(4), q.integer(5), q.integer(6), q.integer(7) != 0};
}

constexpr const char* issue_columns =
    "SELECT source_id, record, byte_offset, rejected, kind, message, remedy FROM source_issues WHERE source_id = ? ";

SourceIssue read_issue(const sql::Query& q) {
  return {q.integer(0), q.integer(1), q.integer(2), q.integer(3) != 0, q.text(4), q.text(5), q.text(6)};
}

constexpr const char* provider_columns =
    "SELECT id, source_id, role, name, model, engine, engine_version, sampler, dtype, sampling, raw_json, requests, "
    "output_tokens FROM providers ";

ProviderRow read_provider(const sql::Query& q, const std::string& where) {
  ProviderRow row;
  row.id = q.integer(0);
  row.source_id = q.integer(1);
  row.role = static_cast<ProviderRole>(q.integer(2));
  row.config = {q.text(3), q.text(4), q.text(5), q.text(6), q.text(7), q.text(8), sampling_from_json(q.text(9), where),
                q.text(10)};
  row.requests = q.integer(11);
  row.output_tokens = q.integer(12);
  return row;
}

constexpr const char* claim_columns =
    "SELECT r.id, r.provider_id, r.record, r.choice, r.external_id, r.seed, r.seed_origin, r.ids_origin, "
    "r.finish_reason, "
    "coalesce(r.sampling, p.sampling), t.prompt, t.output, coalesce(t.logprobs, x'') FROM requests r JOIN providers p ON p.id = r.provider_id "
    "JOIN request_tokens t ON t.request_id = r.id ";

Claim read_claim(const sql::Query& q, const std::string& where) {
  Claim claim;
  claim.id = q.integer(0);
  claim.provider_id = q.integer(1);
  claim.record = q.integer(2);
  claim.choice = static_cast<int>(q.integer(3));
  claim.external_id = q.text(4);
  claim.seed = q.maybe_integer(5);
  claim.seed_origin = static_cast<SeedOrigin>(q.integer(6));
  claim.ids_origin = static_cast<IdsOrigin>(q.integer(7));
  claim.finish_reason = q.text(8);
  claim.sampling = sampling_from_json(q.text(9), where);
  claim.prompt = decode_ids(q.blob(10));
  claim.output = decode_ids(q.blob(11));
  claim.logprobs = decode_logprobs(q.blob(12));
  return claim;
}

}  // namespace

std::vector<SourceRow> CaseFile::sources() const {
  std::vector<SourceRow> out;
  sql::Query query(impl_->db, std::string(source_columns) + "ORDER BY id");
  while (query.step()) out.push_back(read_source(query));
  return out;
}

std::optional<SourceRow> CaseFile::find_source(std::string_view sha256) const {
  sql::Query query(impl_->db, std::string(source_columns) + "WHERE sha256 = ?");
  query.bind(sha256);
  return query.step() ? std::optional(read_source(query)) : std::nullopt;
}

std::int64_t CaseFile::add_source(const SourceRow& s) {
  sql::Transaction transaction(impl_->db);
  sql::Query(impl_->db,
             "INSERT INTO sources(path, sha256, size, format, accepted, rejected, complete, added_at) "
             "VALUES(?,?,?,?,?,?,?,?)")
      .all(s.path, s.sha256, s.size, s.format, s.accepted, s.rejected, s.complete, now_utc())
      .run();
  const auto id = impl_->db.last_insert_id();
  append_trail_row(impl_->db, default_actor(), "add source",
                   fmt::format(R"({{"source":{},"path":{},"sha256":{},"size":{},"format":{}}})", id,
                               json_quoted(s.path), json_quoted(s.sha256), s.size, json_quoted(s.format)));
  transaction.commit();
  return id;
}

void CaseFile::finish_source(std::int64_t source_id, std::int64_t accepted, std::int64_t rejected) {
  sql::Transaction transaction(impl_->db);
  sql::Query(impl_->db, "UPDATE sources SET accepted = ?, rejected = ?, complete = 1 WHERE id = ?")
      .all(accepted, rejected, source_id)
      .run();
  if (impl_->db.changes() != 1) throw bad_input(impl_->db.name(), fmt::format("has no source {}", source_id));
  std::string sha256;
  {
    sql::Query query(impl_->db, "SELECT sha256 FROM sources WHERE id = ?");
    query.bind(source_id);
    if (query.step()) sha256 = query.text(0);
  }
  append_trail_row(
      impl_->db, default_actor(), "finish source",
      fmt::format(R"({{"source":{},"sha256":{},"accepted":{},"rejected":{},"claims_digest":"{}"}})", source_id,
                  json_quoted(sha256), accepted, rejected, claims_digest(impl_->db, source_id)));
  transaction.commit();
}

void CaseFile::add_issues(std::span<const SourceIssue> issues) {
  if (issues.empty()) return;
  sql::Transaction transaction(impl_->db);
  sql::Query insert(impl_->db,
                    "INSERT INTO source_issues(source_id, record, byte_offset, rejected, kind, message, remedy) "
                    "VALUES(?,?,?,?,?,?,?) ON CONFLICT DO NOTHING");
  for (const auto& issue : issues) {
    insert
        .all(issue.source_id, issue.record, issue.byte_offset, issue.rejected, issue.kind, issue.message, issue.remedy)
        .run();
    insert.reset();
  }
  transaction.commit();
}

std::vector<SourceIssue> CaseFile::issues(std::int64_t source_id) const {
  return issues_page(source_id, 0, -1);
}

std::vector<SourceIssue> CaseFile::issues_page(std::int64_t source_id, std::int64_t skip, std::int64_t limit) const {
  std::vector<SourceIssue> out;
  sql::Query query(impl_->db, std::string(issue_columns) + "ORDER BY record, id LIMIT ? OFFSET ?");
  query.all(source_id, limit, skip);
  while (query.step()) out.push_back(read_issue(query));
  return out;
}

std::vector<IssueCount> CaseFile::issue_counts(std::int64_t source_id) const {
  std::vector<IssueCount> out;
  sql::Query query(impl_->db,
                   "SELECT kind, rejected, count(*) FROM source_issues WHERE source_id = ? GROUP BY kind, rejected "
                   "ORDER BY rejected DESC, kind");
  query.bind(source_id);
  while (query.step()) out.push_back({query.text(0), query.integer(1) != 0, query.integer(2)});
  return out;
}

std::int64_t CaseFile::add_provider(std::int64_t source_id, ProviderRole role, const ProviderConfig& c) {
  sql::Transaction transaction(impl_->db);
  sql::Query find(impl_->db,
                  "SELECT id FROM providers WHERE source_id = ? AND name = ? AND model = ? AND raw_json = ?");
  find.all(source_id, c.name, c.model, c.raw_json);
  if (find.step()) return find.integer(0);
  sql::Query(impl_->db,
             "INSERT INTO providers(source_id, role, name, model, engine, engine_version, sampler, dtype, sampling, "
             "raw_json) VALUES(?,?,?,?,?,?,?,?,?,?)")
      .all(source_id, static_cast<int>(role), c.name, c.model, c.engine, c.engine_version, c.sampler, c.dtype,
           to_json(c.sampling), c.raw_json)
      .run();
  const auto id = impl_->db.last_insert_id();
  transaction.commit();
  return id;
}

void CaseFile::set_role(std::int64_t provider_id, ProviderRole role) {
  sql::Transaction transaction(impl_->db);
  sql::Query(impl_->db, "UPDATE providers SET role = ? WHERE id = ? AND role <> ?")
      .all(static_cast<int>(role), provider_id, static_cast<int>(role))
      .run();
  if (impl_->db.changes() > 0)
    append_trail_row(impl_->db, default_actor(), "set role",
                     fmt::format(R"({{"provider":{},"role":"{}"}})", provider_id,
                                 role == ProviderRole::subject ? "subject" : "calibration"));
  transaction.commit();
}

std::vector<ProviderRow> CaseFile::providers() const {
  std::vector<ProviderRow> out;
  sql::Query query(impl_->db, std::string(provider_columns) + "ORDER BY id");
  while (query.step()) out.push_back(read_provider(query, impl_->db.name()));
  return out;
}

std::optional<ProviderRow> CaseFile::provider(std::int64_t provider_id) const {
  sql::Query query(impl_->db, std::string(provider_columns) + "WHERE id = ?");
  query.bind(provider_id);
  return query.step() ? std::optional(read_provider(query, impl_->db.name())) : std::nullopt;
}

std::int64_t CaseFile::add_claims(std::span<const Claim> claims) {
  struct Added {
    std::string sampling;  ///< the provider's own, as stored: requests that agree with it store none
    std::int64_t requests = 0, output_tokens = 0;
  };
  std::map<std::int64_t, Added> providers;
  sql::Transaction transaction(impl_->db);
  sql::Query insert(
      impl_->db,
      "INSERT INTO requests(provider_id, record, choice, external_id, prompt_tokens, output_tokens, seed, "
      "seed_origin, ids_origin, finish_reason, sampling, digest) VALUES(?,?,?,?,?,?,?,?,?,?,?,?) "
      "ON CONFLICT(provider_id, record, choice) DO NOTHING");
  sql::Query tokens(impl_->db, "INSERT INTO request_tokens(request_id, prompt, output, logprobs) VALUES(?,?,?,?)");
  for (const auto& claim : claims) {
    auto found = providers.find(claim.provider_id);
    if (found == providers.end()) {
      sql::Query query(impl_->db, "SELECT sampling FROM providers WHERE id = ?");
      query.bind(claim.provider_id);
      if (!query.step()) throw bad_input(impl_->db.name(), fmt::format("has no provider {}", claim.provider_id));
      found = providers.emplace(claim.provider_id, Added{query.text(0)}).first;
    }
    auto& added = found->second;
    const auto own = to_json(claim.sampling);
    const auto sampling = own == added.sampling ? std::nullopt : std::optional<std::string_view>(own);
    const auto prompt = encode_ids(claim.prompt);
    const auto output = encode_ids(claim.output);
    if (!claim.logprobs.empty() && claim.logprobs.size() != claim.output.size())
      throw std::invalid_argument("a claim needs one log-probability for each output token, or none");
    const auto logprobs = encode_logprobs(claim.logprobs);
    const auto digest =
        request_digest({claim.provider_id, claim.record, claim.choice, static_cast<std::int64_t>(claim.prompt.size()),
                        static_cast<std::int64_t>(claim.output.size()), claim.seed,
                        static_cast<std::int64_t>(claim.seed_origin), static_cast<std::int64_t>(claim.ids_origin),
                        claim.external_id, claim.finish_reason, sampling.value_or(""), prompt, output, logprobs});
    insert
        .all(claim.provider_id, claim.record, claim.choice, claim.external_id, claim.prompt.size(), claim.output.size(),
             claim.seed, static_cast<int>(claim.seed_origin), static_cast<int>(claim.ids_origin), claim.finish_reason,
             sampling, std::span<const std::uint8_t>(digest))
        .run();
    const bool is_new = impl_->db.changes() > 0;
    insert.reset();
    if (!is_new) continue;
    tokens.all(impl_->db.last_insert_id(), prompt, output);
    if (logprobs.empty())
      tokens.bind(std::nullopt).run();
    else
      tokens.bind(logprobs).run();
    tokens.reset();
    ++added.requests;
    added.output_tokens += static_cast<std::int64_t>(claim.output.size());
  }
  std::int64_t total = 0;
  for (const auto& [id, added] : providers) {
    if (added.requests == 0) continue;
    sql::Query(impl_->db,
               "UPDATE providers SET requests = requests + ?, output_tokens = output_tokens + ? WHERE id = ?")
        .all(added.requests, added.output_tokens, id)
        .run();
    total += added.requests;
  }
  transaction.commit();
  return total;
}

std::optional<Claim> CaseFile::claim(std::int64_t request_id) const {
  sql::Query query(impl_->db, std::string(claim_columns) + "WHERE r.id = ?");
  query.bind(request_id);
  return query.step() ? std::optional(read_claim(query, impl_->db.name())) : std::nullopt;
}

void CaseFile::for_each_claim(std::int64_t provider_id, const std::function<bool(Claim&&)>& visit) const {
  // In pages, so that no read transaction stays open while the visitor works (and perhaps writes).
  constexpr int page = 64;
  const auto sql =
      std::string(claim_columns) + (provider_id ? "WHERE r.provider_id = ? AND r.id > ? ORDER BY r.id LIMIT ?"
                                                : "WHERE r.id > ? ORDER BY r.id LIMIT ?");
  std::int64_t last = 0;
  for (;;) {
    std::vector<Claim> claims;
    {
      sql::Query query(impl_->db, sql);
      if (provider_id) query.bind(provider_id);
      query.all(last, page);
      while (query.step()) claims.push_back(read_claim(query, impl_->db.name()));
    }
    if (claims.empty()) return;
    last = claims.back().id;
    for (auto& claim : claims)
      if (!visit(std::move(claim))) return;
  }
}

}  // namespace difr
