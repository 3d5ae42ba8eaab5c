#pragma once
// Internals shared by the parts of CaseFile; not for other folders.

#include <string>

#include "core/casefile/case_file.h"
#include "core/casefile/sqlite.h"
#include "core/util/sha256.h"

namespace difr {

struct CaseFile::Impl {
  std::filesystem::path path;
  mutable sql::Database db;
};

/// UTC, ISO 8601, milliseconds.
[[nodiscard]] std::string now_utc();
/// Who acts when the caller does not say: the login name.
[[nodiscard]] std::string default_actor();

/// Hash of a trail row over everything it says and the hash before it.
[[nodiscard]] std::string trail_hash(const AuditTrailRow& row);
void append_trail_row(sql::Database& db, std::string_view actor, std::string_view action, std::string_view detail);

/// Digest of a stored request: its metadata and its blobs as they lie in the file. `row` must be a query of
/// request_digest_columns.
inline constexpr const char* request_digest_columns =
    "r.id, r.provider_id, r.record, r.choice, r.external_id, r.prompt_tokens, r.output_tokens, r.seed, r.seed_origin, "
    "r.ids_origin, r.finish_reason, r.sampling, r.digest, t.prompt, t.output, coalesce(t.logprobs, x'')";
struct RequestFields {
  std::int64_t provider_id, record, choice, prompt_tokens, output_tokens;
  std::optional<std::int64_t> seed;
  std::int64_t seed_origin, ids_origin;
  std::string_view external_id, finish_reason, sampling;
  std::span<const std::uint8_t> prompt, output;
  std::span<const std::uint8_t> logprobs;  ///< empty: none, and not part of the digest (schema 1 and 2 knew none)
};
[[nodiscard]] Digest request_digest(const RequestFields& fields);
[[nodiscard]] Digest blob_digest(std::string_view kind, std::int64_t run_id, std::int64_t request_id,
                                 std::string_view profile, std::span<const std::uint8_t> data);

/// Seals: what the trail says of a finished import, run or decision, so that later edits show.
[[nodiscard]] std::string claims_digest(sql::Database& db, std::int64_t source_id);
[[nodiscard]] std::string evidence_digest(sql::Database& db, std::int64_t run_id);
[[nodiscard]] std::string decision_digest(sql::Database& db, std::int64_t decision_id);

/// Aggregates of the Requests page. Refused tokens are left out of every mean.
struct ScoreSummary {
  double exact_match, mean_margin, max_margin, cross_entropy;  ///< NaN when no token counts
};
/// `clip`: mean of min(margin, clip); without it the mean of the finite margins.
[[nodiscard]] ScoreSummary summarise(const TokenScores& scores, std::optional<double> clip = {});

/// Stores or replaces one request's scores and, where they are what the Requests page shows, its aggregates.
void put_scores(sql::Database& db, std::int64_t run_id, std::int64_t request_id, std::string_view profile,
                const TokenScores& scores);

}  // namespace difr
