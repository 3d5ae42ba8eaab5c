#pragma once
// Thin RAII over the SQLite C API: a connection with a statement cache, bound queries, nested-safe transactions.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace difr::sql {

struct CloseDatabase {
  void operator()(sqlite3* db) const;
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const;
};
using StatementPtr = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

class Database {
 public:
  /// `flags` are SQLITE_OPEN_*; throws difr::Error naming `name`.
  Database(const std::string& uri, int flags, std::string name);

  void exec(const char* sql);
  [[nodiscard]] std::int64_t last_insert_id() const;
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] bool in_transaction() const;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[noreturn]] void fail(std::string_view doing) const;

 private:
  friend class Query;
  StatementPtr take(std::string_view sql);
  void give_back(std::string sql, StatementPtr statement);

  std::string name_;
  std::unique_ptr<sqlite3, CloseDatabase> db_;
  std::unordered_map<std::string, std::vector<StatementPtr>> idle_;
};

/// One execution of a cached statement. Doubles: NaN is stored as NULL and NULL reads as NaN.
class Query {
 public:
  Query(Database& db, std::string_view sql);
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  Query& bind(std::int64_t value);
  Query& bind(int value) { return bind(static_cast<std::int64_t>(value)); }
  Query& bind(bool value) { return bind(static_cast<std::int64_t>(value)); }
  Query& bind(std::size_t value) { return bind(static_cast<std::int64_t>(value)); }
  Query& bind(double value);
  Query& bind(std::string_view value);
  Query& bind(const std::string& value) { return bind(std::string_view(value)); }
  Query& bind(const char* value) { return bind(std::string_view(value)); }
  Query& bind(std::span<const std::uint8_t> blob);
  Query& bind(const std::vector<std::uint8_t>& blob) { return bind(std::span<const std::uint8_t>(blob)); }
  Query& bind(std::nullopt_t);
  template <class T>
  Query& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind(std::nullopt);
  }
  template <class... Values>
  Query& all(const Values&... values) {
    (bind(values), ...);
    return *this;
  }

  /// Next row; false at the end.
  bool step();
  void run() {
    while (step()) continue;
  }
  /// Back to the start, bindings cleared, for the next execution.
  void reset();

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string text(int column) const;
  /// Valid until the next step.
  [[nodiscard]] std::span<const std::uint8_t> blob(int column) const;
  [[nodiscard]] std::optional<std::int64_t> maybe_integer(int column) const;
  [[nodiscard]] std::optional<double> maybe_real(int column) const;

 private:
  void check(int code);
  Database& db_;
  std::string sql_;
  StatementPtr statement_;
  int next_ = 1;
};

/// BEGIN IMMEDIATE … COMMIT; rolls back unless committed. Inside another transaction it does nothing.
class Transaction {
 public:
  explicit Transaction(Database& db);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  Database& db_;
  bool open_;
};

}  // namespace difr::sql
