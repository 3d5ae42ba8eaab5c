#pragma once
// The case file (DESIGN §6): one SQLite database that holds everything an audit rests on.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/casefile/shard.h"
#include "core/domain/claim.h"
#include "core/domain/evidence.h"
#include "core/domain/token_scores.h"
#include "core/domain/verdict.h"

namespace difr {

enum class OpenMode : std::uint8_t { create_or_open, read_write, read_only };
enum class ProviderRole : std::uint8_t { subject, calibration };
enum class RunState : std::uint8_t { running, done, cancelled, failed };

struct SourceRow {
  std::int64_t id = 0;
  std::string path;
  std::string sha256;  ///< hex, of the bytes as they lie on disk
  std::int64_t size = 0;
  std::string format;
  std::int64_t accepted = 0;
  std::int64_t rejected = 0;
  bool complete = false;  ///< false: the import stopped half-way and may be resumed
};

/// A rejected record or a plausibility finding, with its place and what to do.
struct SourceIssue {
  std::int64_t source_id = 0;
  std::int64_t record = -1;       ///< 0-based; -1 when the file as a whole is meant
  std::int64_t byte_offset = -1;  ///< -1 when unknown
  bool rejected = true;           ///< false: kept, but remarkable
  std::string kind;               ///< stable slug, e.g. "ids-out-of-range"
  std::string message;
  std::string remedy;
};

struct ProviderRow {
  std::int64_t id = 0;
  std::int64_t source_id = 0;
  ProviderRole role = ProviderRole::subject;
  ProviderConfig config;
  std::int64_t requests = 0;
  std::int64_t output_tokens = 0;
};

struct RunRow {
  std::int64_t id = 0;
  ReferenceEnvironment environment;
  RunState state = RunState::running;
  std::int64_t requests_done = 0;
  std::int64_t requests_total = 0;
  std::string created_at;  ///< UTC, ISO 8601
};

/// One line of the Requests table: metadata plus score aggregates (NaN when not scored).
struct RequestSummary {
  std::int64_t id = 0;
  std::int64_t provider_id = 0;
  std::string provider;
  std::string external_id;
  int choice = 0;
  int prompt_tokens = 0;
  int output_tokens = 0;
  std::optional<std::int64_t> seed;
  double exact_match = 0;
  double mean_margin = 0;  ///< mean of min(margin, clip of the decision), else of finite margins
  double max_margin = 0;
  double cross_entropy = 0;
  double p_value = 0;
  double q_value = 0;
  bool flagged = false;
};

enum class RequestSort : std::uint8_t {
  id,
  provider,
  external_id,
  output_tokens,
  exact_match,
  mean_margin,
  max_margin,
  cross_entropy,
  p_value
};

/// Keyset paging: pass the last row of the page before as `after`. Ties are broken by ascending id; rows without the
/// sorted value come last in both directions. The summary of a request is that of its newest run, under the profile it
/// was first scored with there, until a decision names another.
struct RequestQuery {
  std::vector<std::int64_t> provider_ids;  ///< empty: all
  std::string external_id_contains;
  std::optional<double> min_mean_margin, max_mean_margin;
  bool flagged_only = false;
  RequestSort sort = RequestSort::id;
  bool descending = false;
  std::optional<RequestSummary> after;
  int limit = 200;
};

struct AuditTrailRow {
  std::int64_t id = 0;
  std::string at, actor, action, detail, previous_hash, hash;
};

/// A note, tag or sign-off on a request, a provider or (both absent) the case.
struct Finding {
  std::int64_t id = 0;
  std::optional<std::int64_t> request_id, provider_id;
  int token = -1;    ///< output position meant; -1: none
  std::string kind;  ///< note | tag | sign-off
  std::string text;
  std::string author;
  std::string created_at;
};

/// Number of issues of one kind, for a list that unfolds.
struct IssueCount {
  std::string kind;
  bool rejected = true;
  std::int64_t count = 0;
};

/// Finished work of one batch; written in one transaction together with its done mark.
struct ScoredRequest {
  std::int64_t request_id = 0;
  Evidence evidence;
  std::string profile;  ///< sampler profile the stored scores were made under; empty: none
  TokenScores scores;
};

/// Thrown texts name the case file. Not thread-safe: one CaseFile per thread. All writes are short transactions
/// (WAL, busy timeout), so that workers and the window can share a file.
class CaseFile {
 public:
  static CaseFile open(const std::filesystem::path& path, OpenMode mode);
  CaseFile(CaseFile&&) noexcept;
  CaseFile& operator=(CaseFile&&) noexcept;
  ~CaseFile();

  [[nodiscard]] const std::filesystem::path& path() const;

  // --- sources, providers, claims -------------------------------------------------------------------------------
  [[nodiscard]] std::vector<SourceRow> sources() const;
  [[nodiscard]] std::optional<SourceRow> find_source(std::string_view sha256) const;
  std::int64_t add_source(const SourceRow& source);
  void finish_source(std::int64_t source_id, std::int64_t accepted, std::int64_t rejected);
  void add_issues(std::span<const SourceIssue> issues);
  [[nodiscard]] std::vector<SourceIssue> issues(std::int64_t source_id) const;
  /// `limit` issues after the first `skip`, in order of record; for lists too long to load whole.
  [[nodiscard]] std::vector<SourceIssue> issues_page(std::int64_t source_id, std::int64_t skip,
                                                     std::int64_t limit) const;
  [[nodiscard]] std::vector<IssueCount> issue_counts(std::int64_t source_id) const;

  /// The same declaration in the same source is one provider: its id is returned again.
  std::int64_t add_provider(std::int64_t source_id, ProviderRole role, const ProviderConfig& config);
  void set_role(std::int64_t provider_id, ProviderRole role);
  [[nodiscard]] std::vector<ProviderRow> providers() const;
  [[nodiscard]] std::optional<ProviderRow> provider(std::int64_t provider_id) const;

  /// Inserts in one transaction; a claim already there (same provider, record, choice) is skipped. Returns new rows.
  std::int64_t add_claims(std::span<const Claim> claims);
  [[nodiscard]] std::optional<Claim> claim(std::int64_t request_id) const;
  /// Claims of one provider (0: of all) in id order; `visit` returns false to stop.
  void for_each_claim(std::int64_t provider_id, const std::function<bool(Claim&&)>& visit) const;

  // --- recomputation --------------------------------------------------------------------------------------------
  /// Finds the unfinished or finished run of the same environment, or creates it: recomputation is resumable.
  std::int64_t begin_run(const ReferenceEnvironment& environment);
  [[nodiscard]] std::vector<RunRow> runs() const;
  [[nodiscard]] std::optional<RunRow> latest_run() const;
  /// Ids of requests without evidence in this run, ascending; the resume list.
  [[nodiscard]] std::vector<std::int64_t> pending_requests(std::int64_t run_id,
                                                           std::span<const std::int64_t> provider_ids) const;
  /// Stores a batch in one transaction; requests already stored are left as they are.
  void store_batch(std::int64_t run_id, std::span<const ScoredRequest> batch);
  void set_run_state(std::int64_t run_id, RunState state);
  [[nodiscard]] std::optional<Evidence> evidence(std::int64_t run_id, std::int64_t request_id) const;
  [[nodiscard]] std::optional<TokenScores> scores(std::int64_t run_id, std::int64_t request_id,
                                                  std::string_view profile = {}) const;
  void store_scores(std::int64_t run_id, std::int64_t request_id, std::string_view profile, const TokenScores& scores);

  // --- shards ---------------------------------------------------------------------------------------------------
  /// Opens the part file of `shard`, or makes it, and copies the requests it still lacks; only `part` is written.
  /// Ids are those of this case. Throws difr::Error naming `part` when it is of another shard or another case.
  [[nodiscard]] CaseFile open_part(const std::filesystem::path& part, Shard shard) const;
  /// Takes over the evidence and scores of a part, in transactions of one page each; what is already here is left as
  /// it is, so that any order and any repetition gives the same. Throws difr::Error naming the part and the place when it
  /// is not sound, belongs to another case or holds other requests; nothing of it is then stored.
  MergeResult merge_part(const CaseFile& part);

  // --- decisions ------------------------------------------------------------------------------------------------
  std::int64_t store_calibration(std::int64_t run_id, const Calibration& calibration);
  [[nodiscard]] std::vector<Calibration> calibrations() const;
  void store_decisions(std::int64_t run_id, std::int64_t calibration_id, std::span<const ProviderDecision> providers,
                       std::span<const RequestDecision> requests);
  [[nodiscard]] std::vector<ProviderDecision> decisions() const;  ///< newest per provider
  [[nodiscard]] std::vector<RequestDecision> request_decisions(std::int64_t provider_id) const;

  // --- tables for people ----------------------------------------------------------------------------------------
  [[nodiscard]] std::vector<RequestSummary> request_page(const RequestQuery& query) const;
  [[nodiscard]] std::int64_t request_count(const RequestQuery& query) const;  ///< exact; may be slow on millions
  [[nodiscard]] std::optional<RequestSummary> request_summary(std::int64_t request_id) const;
  /// Mean margins of one provider's scored requests, in id order; no blob is decoded.
  [[nodiscard]] std::vector<double> mean_margins(std::int64_t provider_id) const;
  /// Changes whenever another connection has committed; cheap enough for a timer.
  [[nodiscard]] std::int64_t data_version() const;

  // --- findings -------------------------------------------------------------------------------------------------
  std::int64_t add_finding(const Finding& finding);
  void remove_finding(std::int64_t finding_id);
  [[nodiscard]] std::vector<Finding> findings() const;

  // --- settings and audit trail ---------------------------------------------------------------------------------
  void set_setting(std::string_view key, std::string_view value);
  [[nodiscard]] std::optional<std::string> setting(std::string_view key) const;
  /// Every change of consequence appends a row whose hash covers the row before it.
  void append_trail(std::string_view actor, std::string_view action, std::string_view detail);
  [[nodiscard]] std::vector<AuditTrailRow> trail() const;
  /// Empty when the file is sound; else one line per fault, naming table, row and what is wrong.
  [[nodiscard]] std::vector<std::string> verify() const;

 private:
  struct Impl;
  explicit CaseFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace difr
