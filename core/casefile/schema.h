#pragma once
// Tables of the case file and how older files are brought forward.

#include <cstdint>
#include <span>

#include "core/casefile/sqlite.h"

namespace difr {

inline constexpr std::int32_t case_application_id = 0x44694652;  // "DiFR"

struct Migration {
  int to_version;
  const char* what;
  const char* sql;
};

/// Ascending; version n is reached by applying the first n. Never edit one that was released: append.
[[nodiscard]] std::span<const Migration> migrations();
[[nodiscard]] inline int newest_schema_version() {
  return static_cast<int>(migrations().size());
}

[[nodiscard]] int schema_version(sql::Database& db);
/// Brings the file to `target`, each step in its own transaction; returns the version it started
/// from, counting steps that another process made meanwhile.
/// Throws difr::Error for a file of another application or of a newer workbench.
int migrate(sql::Database& db, int target = newest_schema_version());
/// The same checks without writing: for read-only connections. Throws also when a migration would be needed.
void require_current_schema(sql::Database& db);

}  // namespace difr
