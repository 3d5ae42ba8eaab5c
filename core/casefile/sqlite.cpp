#include "core/casefile/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <limits>

#include "core/util/error.h"

namespace difr::sql {
namespace {

const char* remedy_of(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process holds the case file; wait for it or end it";
    case SQLITE_READONLY:
      return "open it for writing, and check the permissions of the file and its folder";
    case SQLITE_CANTOPEN:
      return "check the path and the permissions of the folder";
    case SQLITE_FULL:
      return "free disk space and try again";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "this is not a sound case file; restore it from a copy";
    case SQLITE_IOERR:
      return "check the disk or the network share";
    default:
      return "";
  }
}

}  // namespace

void CloseDatabase::operator()(sqlite3* db) const {
  sqlite3_close_v2(db);
}
void FinalizeStatement::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Database::Database(const std::string& uri, int flags, std::string name) : name_(std::move(name)) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &raw, flags | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, nullptr);
  db_.reset(raw);
  if (code != SQLITE_OK) fail("opening");
  constexpr int patience_ms = 30'000;
  sqlite3_busy_timeout(raw, patience_ms);
}

void Database::fail(std::string_view doing) const {
  const int code = db_ ? sqlite3_extended_errcode(db_.get()) : SQLITE_NOMEM;
  const char* message = db_ ? sqlite3_errmsg(db_.get()) : "out of memory";
  throw bad_input(name_, fmt::format("SQLite, {}: {} [{}]", doing, message, code), remedy_of(code));
}

void Database::exec(const char* sql) {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(std::string_view(sql).substr(0, 60));
}

std::int64_t Database::last_insert_id() const {
  return sqlite3_last_insert_rowid(db_.get());
}
std::int64_t Database::changes() const {
  return sqlite3_changes64(db_.get());
}
bool Database::in_transaction() const {
  return sqlite3_get_autocommit(db_.get()) == 0;
}

StatementPtr Database::take(std::string_view sql) {
  if (const auto found = idle_.find(std::string(sql)); found != idle_.end() && !found->second.empty()) {
    auto statement = std::move(found->second.back());
    found->second.pop_back();
    return statement;
  }
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw,
                         nullptr) != SQLITE_OK)
    fail(sql.substr(0, 120));
  return StatementPtr(raw);
}

void Database::give_back(std::string sql, StatementPtr statement) {
  constexpr std::size_t most_kept = 128;  // filters make new SQL texts; do not keep them for ever
  if (idle_.size() >= most_kept && !idle_.contains(sql)) idle_.clear();
  idle_[std::move(sql)].push_back(std::move(statement));
}

Query::Query(Database& db, std::string_view sql) : db_(db), sql_(sql), statement_(db.take(sql)) {}

Query::~Query() {
  if (!statement_) return;
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  db_.give_back(std::move(sql_), std::move(statement_));
}

void Query::check(int code) {
  if (code != SQLITE_OK) db_.fail(std::string_view(sql_).substr(0, 120));
}

Query& Query::bind(std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), next_++, value));
  return *this;
}

Query& Query::bind(double value) {
  if (std::isnan(value)) return bind(std::nullopt);
  check(sqlite3_bind_double(statement_.get(), next_++, value));
  return *this;
}

Query& Query::bind(std::string_view value) {
  check(sqlite3_bind_text64(statement_.get(), next_++, value.empty() ? "" : value.data(), value.size(),
                            SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Query& Query::bind(std::span<const std::uint8_t> blob) {
  if (blob.empty())
    check(sqlite3_bind_zeroblob(statement_.get(), next_++, 0));
  else
    check(sqlite3_bind_blob64(statement_.get(), next_++, blob.data(), blob.size(), SQLITE_TRANSIENT));
  return *this;
}

Query& Query::bind(std::nullopt_t) {
  check(sqlite3_bind_null(statement_.get(), next_++));
  return *this;
}

bool Query::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) db_.fail(std::string_view(sql_).substr(0, 120));
  return false;
}

void Query::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  next_ = 1;
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
std::int64_t Query::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Query::real(int column) const {
  return is_null(column) ? std::numeric_limits<double>::quiet_NaN() : sqlite3_column_double(statement_.get(), column);
}

std::string Query::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return text ? std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)))
              : std::string();
}

std::span<const std::uint8_t> Query::blob(int column) const {
  const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_.get(), column));
  return {data, data ? static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)) : 0};
}

std::optional<std::int64_t> Query::maybe_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional(integer(column));
}

std::optional<double> Query::maybe_real(int column) const {
  return is_null(column) ? std::nullopt : std::optional(real(column));
}

Transaction::Transaction(Database& db) : db_(db), open_(!db.in_transaction()) {
  if (open_) db_.exec("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  // SQLite may have rolled back by itself (disk full); a second ROLLBACK would only add an error.
  if (!open_ || !db_.in_transaction()) return;
  try {
    db_.exec("ROLLBACK");
  } catch (const Error&) {
    return;  // the connection is closed with the case file, which rolls back too
  }
}

void Transaction::commit() {
  if (open_) db_.exec("COMMIT");
  open_ = false;
}

}  // namespace difr::sql
