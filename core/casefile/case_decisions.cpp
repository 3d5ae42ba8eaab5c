// Calibrations and decisions.

#include <fmt/format.h>

#include <map>

#include "core/casefile/blob_codec.h"
#include "core/casefile/case_impl.h"
#include "core/casefile/sampling_json.h"

namespace difr {
namespace {

std::optional<std::int64_t> null_if_zero(std::int64_t id) {
  return id ? std::optional(id) : std::nullopt;
}

/// The Requests page shows the decision's numbers from now on: its profile's scores, clipped as it clipped them.
void show_decided(sql::Database& db, std::int64_t run_id, const ProviderDecision* provider, const RequestDecision& r) {
  sql::Query(db, "UPDATE requests SET p_value = ?, q_value = ?, flagged = ? WHERE id = ?")
      .all(r.p_value, r.q_value, r.flagged, r.request_id)
      .run();
  if (!provider) return;
  ScoreSummary summary{};
  std::string profile;
  {
    sql::Query q(
        db,
        "SELECT s.profile, s.data FROM scores s JOIN requests r ON r.id = s.request_id WHERE s.run_id = ? AND "
        "s.request_id = ? ORDER BY (s.profile = ?) DESC, (r.scored_profile = s.profile) DESC, s.id DESC LIMIT 1");
    q.all(run_id, r.request_id, provider->sampler);
    if (!q.step()) return;
    profile = q.text(0);
    summary = summarise(decode_scores(q.blob(1)), provider->clip > 0 ? std::optional(provider->clip) : std::nullopt);
  }
  sql::Query(
      db,
      "UPDATE requests SET scored_run = ?, scored_profile = ?, exact_match = ?, mean_margin = ?, max_margin = ?, "
      "cross_entropy = ? WHERE id = ?")
      .all(run_id, profile, summary.exact_match, summary.mean_margin, summary.max_margin, summary.cross_entropy,
           r.request_id)
      .run();
}

}  // namespace

std::int64_t CaseFile::store_calibration(std::int64_t run_id, const Calibration& c) {
  const auto data = encode_calibration(c);
  const auto digest = blob_digest("calibration", run_id, 0, c.name, data);
  sql::Transaction transaction(impl_->db);
  sql::Query(
      impl_->db,
      "INSERT INTO calibrations(run_id, name, providers, environment, sampling, clip, noise_sigma, created_at, digest, "
      "data) VALUES(?,?,?,?,?,?,?,?,?,?)")
      .all(null_if_zero(run_id), c.name, to_json(c.providers), c.environment, to_json(c.sampling), c.clip,
           c.noise_sigma, now_utc(), std::span<const std::uint8_t>(digest), data)
      .run();
  const auto id = impl_->db.last_insert_id();
  append_trail_row(impl_->db, default_actor(), "store calibration",
                   fmt::format(R"({{"calibration":{},"name":{},"requests":{},"tokens":{},"digest":"{}"}})", id,
                               json_quoted(c.name), c.requests(), c.tokens(), to_hex(digest)));
  transaction.commit();
  return id;
}

std::vector<Calibration> CaseFile::calibrations() const {
  std::vector<Calibration> out;
  sql::Query q(
      impl_->db,
      "SELECT id, name, providers, environment, sampling, clip, noise_sigma, data FROM calibrations ORDER BY id");
  while (q.step()) {
    Calibration c;
    c.id = q.integer(0);
    c.name = q.text(1);
    c.providers = texts_from_json(q.text(2), impl_->db.name());
    c.environment = q.text(3);
    c.sampling = sampling_from_json(q.text(4), impl_->db.name());
    c.clip = q.real(5);
    c.noise_sigma = q.real(6);
    decode_calibration(q.blob(7), c);
    out.push_back(std::move(c));
  }
  return out;
}

void CaseFile::store_decisions(std::int64_t run_id, std::int64_t calibration_id,
                               std::span<const ProviderDecision> providers, std::span<const RequestDecision> requests) {
  sql::Transaction transaction(impl_->db);
  struct Stored {
    std::int64_t id;
    const ProviderDecision* decision;
  };
  std::map<std::int64_t, Stored> stored;
  for (const auto& d : providers) {
    sql::Query(
        impl_->db,
        "INSERT INTO provider_decisions(run_id, calibration_id, provider_id, created_at, requests, tokens, sampler, "
        "exact_match, mean_clipped_margin, clip, statistic, score, threshold, p_value, llr_score, llr_p_value, "
        "cross_entropy, filtered_tokens, edge_tokens, refused_tokens, verdict, reason) "
        "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
        .all(null_if_zero(run_id), null_if_zero(calibration_id), d.provider_id, now_utc(), d.requests, d.tokens,
             d.sampler, d.exact_match, d.mean_clipped_margin, d.clip, d.statistic, d.score, d.threshold, d.p_value,
             d.llr_score, d.llr_p_value, d.cross_entropy, d.filtered_tokens, d.edge_tokens, d.refused_tokens,
             static_cast<int>(d.verdict), d.reason)
        .run();
    stored[d.provider_id] = {impl_->db.last_insert_id(), &d};
  }
  for (const auto& r : requests) {
    const auto found = stored.find(r.provider_id);
    if (found == stored.end()) throw std::invalid_argument("a request decision without its provider's");
    sql::Query(
        impl_->db,
        "INSERT INTO request_decisions(decision_id, request_id, tokens, exact_match, score, max_margin, p_value, "
        "q_value, flagged) VALUES(?,?,?,?,?,?,?,?,?)")
        .all(found->second.id, r.request_id, r.tokens, r.exact_match, r.score, r.max_margin, r.p_value, r.q_value,
             r.flagged)
        .run();
    show_decided(impl_->db, run_id, found->second.decision, r);
  }
  for (const auto& [provider_id, entry] : stored)
    append_trail_row(impl_->db, default_actor(), "decide",
                     fmt::format(R"({{"decision":{},"provider":{},"calibration":{},"verdict":{},"digest":"{}"}})",
                                 entry.id, provider_id, calibration_id, static_cast<int>(entry.decision->verdict),
                                 decision_digest(impl_->db, entry.id)));
  transaction.commit();
}

std::vector<ProviderDecision> CaseFile::decisions() const {
  std::vector<ProviderDecision> out;
  sql::Query q(
      impl_->db,
      "SELECT d.provider_id, p.name, d.requests, d.tokens, d.sampler, d.exact_match, d.mean_clipped_margin, d.clip, "
      "d.statistic, d.score, d.threshold, d.p_value, d.llr_score, d.llr_p_value, d.cross_entropy, "
      "d.filtered_tokens, d.edge_tokens, d.refused_tokens, d.verdict, d.reason FROM provider_decisions d "
      "JOIN providers p ON p.id = d.provider_id WHERE d.id = (SELECT max(id) FROM provider_decisions WHERE "
      "provider_id = d.provider_id) ORDER BY d.provider_id");
  while (q.step()) {
    ProviderDecision d;
    d.provider_id = q.integer(0);
    d.name = q.text(1);
    d.requests = static_cast<std::size_t>(q.integer(2));
    d.tokens = static_cast<std::size_t>(q.integer(3));
    d.sampler = q.text(4);
    d.exact_match = q.real(5);
    d.mean_clipped_margin = q.real(6);
    d.clip = q.real(7);
    d.statistic = q.text(8);
    d.score = q.real(9);
    d.threshold = q.maybe_real(10);
    d.p_value = q.maybe_real(11);
    d.llr_score = q.maybe_real(12);
    d.llr_p_value = q.maybe_real(13);
    d.cross_entropy = q.real(14);
    d.filtered_tokens = static_cast<std::size_t>(q.integer(15));
    d.edge_tokens = static_cast<std::size_t>(q.integer(16));
    d.refused_tokens = static_cast<std::size_t>(q.integer(17));
    d.verdict = static_cast<Outcome>(q.integer(18));
    d.reason = q.text(19);
    out.push_back(std::move(d));
  }
  return out;
}

std::vector<RequestDecision> CaseFile::request_decisions(std::int64_t provider_id) const {
  std::vector<RequestDecision> out;
  sql::Query q(
      impl_->db,
      "SELECT d.request_id, r.external_id, d.tokens, d.exact_match, d.score, d.max_margin, d.p_value, d.q_value, "
      "d.flagged FROM request_decisions d JOIN requests r ON r.id = d.request_id WHERE d.decision_id = (SELECT "
      "max(id) FROM provider_decisions WHERE provider_id = ?) ORDER BY d.request_id");
  q.bind(provider_id);
  while (q.step()) {
    RequestDecision d;
    d.request_id = q.integer(0);
    d.provider_id = provider_id;
    d.external_id = q.text(1);
    d.tokens = static_cast<std::size_t>(q.integer(2));
    d.exact_match = q.real(3);
    d.score = q.real(4);
    d.max_margin = q.real(5);
    d.p_value = q.real(6);
    d.q_value = q.real(7);
    d.flagged = q.integer(8) != 0;
    out.push_back(d);
  }
  return out;
}

}  // namespace difr
