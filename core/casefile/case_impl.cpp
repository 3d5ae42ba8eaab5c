#include "core/casefile/case_impl.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "core/util/error.h"

namespace difr {

std::string now_utc() {
  const auto now = std::chrono::system_clock::now();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), ms);
}

std::string default_actor() {
  const auto* entry = getpwuid(geteuid());
  return entry && entry->pw_name ? entry->pw_name : fmt::format("uid {}", geteuid());
}

std::string trail_hash(const AuditTrailRow& row) {
  return to_hex(Sha256()
                    .field(row.id)
                    .field(row.at)
                    .field(row.actor)
                    .field(row.action)
                    .field(row.detail)
                    .field(row.previous_hash)
                    .finish());
}

void append_trail_row(sql::Database& db, std::string_view actor, std::string_view action, std::string_view detail) {
  sql::Transaction transaction(db);
  AuditTrailRow row;
  {
    sql::Query head(db, "SELECT rows, hash FROM trail_head WHERE one = 1");
    if (!head.step()) throw bad_input(db.name(), "the audit trail has lost its head", "run verify-case");
    row.id = head.integer(0) + 1;
    row.previous_hash = head.text(1);
  }
  row.at = now_utc();
  row.actor = actor;
  row.action = action;
  row.detail = detail;
  row.hash = trail_hash(row);
  sql::Query(db, "INSERT INTO trail(id, at, actor, action, detail, previous_hash, hash) VALUES(?,?,?,?,?,?,?)")
      .all(row.id, row.at, row.actor, row.action, row.detail, row.previous_hash, row.hash)
      .run();
  sql::Query(db, "UPDATE trail_head SET rows = ?, hash = ? WHERE one = 1").all(row.id, row.hash).run();
  transaction.commit();
}

Digest request_digest(const RequestFields& f) {
  Sha256 hash;
  hash.field(f.provider_id)
      .field(f.record)
      .field(f.choice)
      .field(f.external_id)
      .field(f.prompt_tokens)
      .field(f.output_tokens)
      .field(std::int64_t{f.seed.has_value()})
      .field(f.seed.value_or(0))
      .field(f.seed_origin)
      .field(f.ids_origin)
      .field(f.finish_reason)
      .field(f.sampling)
      .field(f.prompt)
      .field(f.output);
  if (!f.logprobs.empty()) hash.field(f.logprobs);
  return hash.finish();
}

Digest blob_digest(std::string_view kind, std::int64_t run_id, std::int64_t request_id, std::string_view profile,
                   std::span<const std::uint8_t> data) {
  return Sha256().field(kind).field(run_id).field(request_id).field(profile).field(data).finish();
}

std::string claims_digest(sql::Database& db, std::int64_t source_id) {
  Sha256 hash;
  sql::Query providers(
      db,
      "SELECT id, name, model, engine, engine_version, sampler, dtype, sampling, raw_json FROM providers "
      "WHERE source_id = ? ORDER BY id");
  providers.bind(source_id);
  while (providers.step()) {
    hash.field(providers.integer(0));
    for (int column = 1; column <= 8; ++column) hash.field(providers.text(column));
    sql::Query requests(db, "SELECT id, digest FROM requests WHERE provider_id = ? ORDER BY id");
    requests.bind(providers.integer(0));
    while (requests.step()) hash.field(requests.integer(0)).field(requests.blob(1));
  }
  return to_hex(hash.finish());
}

std::string evidence_digest(sql::Database& db, std::int64_t run_id) {
  Sha256 hash;
  sql::Query rows(db, "SELECT request_id, digest FROM evidence WHERE run_id = ? ORDER BY request_id");
  rows.bind(run_id);
  while (rows.step()) hash.field(rows.integer(0)).field(rows.blob(1));
  return to_hex(hash.finish());
}

std::string decision_digest(sql::Database& db, std::int64_t decision_id) {
  Sha256 hash;
  const auto add_row = [&hash](const sql::Query& row, int columns) {
    for (int column = 0; column < columns; ++column) hash.field(row.is_null(column) ? "null" : row.text(column));
  };
  sql::Query decision(
      db,
      "SELECT id, run_id, calibration_id, provider_id, created_at, requests, tokens, sampler, exact_match, "
      "mean_clipped_margin, clip, statistic, score, threshold, p_value, llr_score, llr_p_value, "
      "cross_entropy, filtered_tokens, edge_tokens, refused_tokens, verdict, reason "
      "FROM provider_decisions WHERE id = ?");
  decision.bind(decision_id);
  if (decision.step()) add_row(decision, 23);
  sql::Query requests(db,
                      "SELECT request_id, tokens, exact_match, score, max_margin, p_value, q_value, flagged "
                      "FROM request_decisions WHERE decision_id = ? ORDER BY request_id");
  requests.bind(decision_id);
  while (requests.step()) add_row(requests, 8);
  return to_hex(hash.finish());
}

ScoreSummary summarise(const TokenScores& s, std::optional<double> clip) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  double margins = 0, entropy = 0, largest = nan;
  std::size_t counted = 0, with_margin = 0, matches = 0;
  for (std::size_t t = 0; t < s.size(); ++t) {
    if (s.flags[t] & TokenFlag::refused) continue;
    ++counted;
    matches += (s.flags[t] & TokenFlag::exact_match) != 0;
    entropy -= s.log_prob[t];
    const double margin = s.margin[t];
    if (std::isnan(margin)) continue;
    if (!(margin <= largest)) largest = margin;
    if (!clip && std::isinf(margin)) continue;
    margins += clip ? std::min(margin, *clip) : margin;
    ++with_margin;
  }
  const auto mean = [](double sum, std::size_t n) { return n ? sum / static_cast<double>(n) : nan; };
  return {mean(static_cast<double>(matches), counted), mean(margins, with_margin), largest, mean(entropy, counted)};
}

}  // namespace difr
