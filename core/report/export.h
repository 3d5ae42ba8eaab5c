#pragma once
// Scores and tables of a case for other tools. Everything streams: memory does not grow with the case.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/casefile/case_file.h"

namespace difr {

enum class ExportKind : std::uint8_t {
  requests_csv,   ///< one row a request
  requests_json,  ///< JSON Lines, one object a request
  tokens_csv,     ///< one row an output token
  tokens_json,    ///< JSON Lines, one object a request with arrays over its tokens
  difr_results,   ///< the public DiFR results layout, one provider a file: what its plotting scripts read
};

struct ExportOptions {
  std::vector<std::int64_t> provider_ids;  ///< empty: all subjects; difr_results takes exactly one
};

/// Receives the output piece by piece; may throw to stop.
using ExportSink = std::function<void(std::string_view)>;

/// Writes scores of the newest run. Non-finite numbers: empty in CSV, null and "inf" in JSON, and bare `Infinity` in
/// difr_results, as its readers expect. Returns the number of requests written. Throws difr::Error when the case holds
/// no run, or the providers do not suit the kind.
std::int64_t export_scores(const CaseFile& file, ExportKind kind, const ExportOptions& options, const ExportSink& sink);

}  // namespace difr
