// Opening, settings, audit trail and findings.

#include "core/casefile/case_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "core/casefile/case_impl.h"
#include "core/casefile/sampling_json.h"
#include "core/casefile/schema.h"
#include "core/util/error.h"
#include "core/util/version.h"

namespace difr {
namespace {

/// A file: URI needs its special characters escaped.
std::string file_uri(const std::filesystem::path& path, std::string_view query) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    if (c == '%' || c == '?' || c == '#')
      uri += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      uri += c;
  }
  return uri += query;
}

sql::Database open_read_only(const std::filesystem::path& path) {
  try {
    sql::Database db(file_uri(path, "?mode=ro"), SQLITE_OPEN_READONLY, path.string());
    (void)schema_version(db);  // SQLite touches the file only now
    return db;
  } catch (const Error&) {
    // On read-only media SQLite cannot make the shared-memory file; without a log beside it nothing can be missed.
    if (std::filesystem::exists(path.string() + "-wal")) throw;
    sql::Database db(file_uri(path, "?mode=ro&immutable=1"), SQLITE_OPEN_READONLY, path.string());
    (void)schema_version(db);
    return db;
  }
}

}  // namespace

CaseFile CaseFile::open(const std::filesystem::path& path, OpenMode mode) {
  if (mode != OpenMode::create_or_open && !std::filesystem::exists(path))
    throw bad_input(path.string(), "there is no such case file", "check the path, or make one with import");
  if (std::filesystem::is_directory(path)) throw bad_input(path.string(), "is a folder", "name a *.difr file");
  if (mode == OpenMode::read_only) {
    auto impl = std::make_unique<Impl>(Impl{path, open_read_only(path)});
    require_current_schema(impl->db);
    return CaseFile(std::move(impl));
  }
  const int create = mode == OpenMode::create_or_open ? SQLITE_OPEN_CREATE : 0;
  auto impl = std::make_unique<Impl>(
      Impl{path, sql::Database(file_uri(path, ""), SQLITE_OPEN_READWRITE | create, path.string())});
  auto& db = impl->db;
  // Look before writing: switching the journal mode would already change a foreign file.
  migrate(db, 0);
  // Blobs are some kilobytes each: larger pages waste less. Only a file that is still empty takes this.
  db.exec("PRAGMA page_size = 16384");
  db.exec("PRAGMA journal_mode = WAL");
  // NORMAL survives the kill of any process; only a power cut can cost the last transactions, never consistency.
  db.exec("PRAGMA synchronous = NORMAL");
  db.exec("PRAGMA foreign_keys = ON");
  const int before = migrate(db);
  if (before < newest_schema_version())
    append_trail_row(
        db, default_actor(), before == 0 ? "create case" : "migrate case",
        fmt::format(R"({{"from":{},"to":{},"version":{}}})", before, newest_schema_version(), json_quoted(version())));
  return CaseFile(std::move(impl));
}

CaseFile::CaseFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CaseFile::CaseFile(CaseFile&&) noexcept = default;
CaseFile& CaseFile::operator=(CaseFile&&) noexcept = default;
CaseFile::~CaseFile() = default;

const std::filesystem::path& CaseFile::path() const {
  return impl_->path;
}

std::int64_t CaseFile::data_version() const {
  sql::Query query(impl_->db, "PRAGMA data_version");
  return query.step() ? query.integer(0) : 0;
}

void CaseFile::set_setting(std::string_view key, std::string_view value) {
  sql::Transaction transaction(impl_->db);
  if (setting(key) == value) return;
  sql::Query(impl_->db,
             "INSERT INTO settings(key, value) VALUES(?,?) ON CONFLICT(key) DO UPDATE SET value = excluded.value")
      .all(key, value)
      .run();
  // How a window looks is no change of consequence.
  if (!key.starts_with("ui."))
    append_trail_row(impl_->db, default_actor(), "set",
                     fmt::format(R"({{"key":{},"sha256":"{}"}})", json_quoted(key), sha256_hex(value)));
  transaction.commit();
}

std::optional<std::string> CaseFile::setting(std::string_view key) const {
  sql::Query query(impl_->db, "SELECT value FROM settings WHERE key = ?");
  query.bind(key);
  return query.step() ? std::optional(query.text(0)) : std::nullopt;
}

void CaseFile::append_trail(std::string_view actor, std::string_view action, std::string_view detail) {
  append_trail_row(impl_->db, actor, action, detail);
}

std::vector<AuditTrailRow> CaseFile::trail() const {
  std::vector<AuditTrailRow> rows;
  sql::Query query(impl_->db, "SELECT id, at, actor, action, detail, previous_hash, hash FROM trail ORDER BY id");
  while (query.step())
    rows.push_back(
        {query.integer(0), query.text(1), query.text(2), query.text(3), query.text(4), query.text(5), query.text(6)});
  return rows;
}

std::int64_t CaseFile::add_finding(const Finding& finding) {
  sql::Transaction transaction(impl_->db);
  const auto author = finding.author.empty() ? default_actor() : finding.author;
  sql::Query(
      impl_->db,
      "INSERT INTO findings(request_id, provider_id, token, kind, text, author, created_at) VALUES(?,?,?,?,?,?,?)")
      .all(finding.request_id, finding.provider_id, finding.token, finding.kind, finding.text, author, now_utc())
      .run();
  const auto id = impl_->db.last_insert_id();
  append_trail_row(
      impl_->db, author, "add finding",
      fmt::format(R"({{"finding":{},"kind":{},"text":{}}})", id, json_quoted(finding.kind), json_quoted(finding.text)));
  transaction.commit();
  return id;
}

void CaseFile::remove_finding(std::int64_t finding_id) {
  sql::Transaction transaction(impl_->db);
  sql::Query(impl_->db, "DELETE FROM findings WHERE id = ?").all(finding_id).run();
  append_trail_row(impl_->db, default_actor(), "remove finding", fmt::format(R"({{"finding":{}}})", finding_id));
  transaction.commit();
}

std::vector<Finding> CaseFile::findings() const {
  std::vector<Finding> out;
  sql::Query query(
      impl_->db, "SELECT id, request_id, provider_id, token, kind, text, author, created_at FROM findings ORDER BY id");
  while (query.step())
    out.push_back({query.integer(0), query.maybe_integer(1), query.maybe_integer(2), static_cast<int>(query.integer(3)),
                   query.text(4), query.text(5), query.text(6), query.text(7)});
  return out;
}

}  // namespace difr
