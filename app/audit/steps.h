#pragma once
// The stations of the road as the commands use them: import, recompute, and the decision printed or as JSON.

#include <cstdint>
#include <filesystem>
#include <span>
#include <stop_token>
#include <vector>

#include "app/audit/context.h"
#include "core/casefile/case_file.h"
#include "core/ingest/import.h"
#include "core/verdict/case_pipeline.h"

namespace difr::app {

struct ImportSummary {
  std::int64_t accepted = 0;
  std::int64_t rejected = 0;
  std::int64_t refused_files = 0;  ///< of a folder: unusable as a whole
  nlohmann::ordered_json sources = nlohmann::ordered_json::array();
};

/// Imports logs one after the other; a file that is unusable as a whole ends the command, faulty records do not.
ImportSummary import_logs(CaseFile& file, std::span<const std::filesystem::path> logs, const ImportOptions& import,
                          const GlobalOptions& options, std::stop_token stop);

/// Recomputes what is still missing. Returns the run's id. Throws when stopped before it was done.
std::int64_t recompute(CaseFile& file, const GlobalOptions& options, std::span<const std::int64_t> provider_ids, int top_m,
                       std::stop_token stop);

struct Detail {
  bool per_request = false;
  bool per_token = false;
};

/// Prints the verdicts (table or JSON) and returns the exit code: 1 when a provider fails.
int print_decision(const CaseFile& file, const CaseDecision& decision, const PipelineOptions& pipeline, const Detail& detail,
                   const GlobalOptions& options);

/// Options of the decision that `decide`, `calibrate` and `audit` share.
void add_decision_options(CLI::App& command, PipelineOptions& pipeline, Detail& detail);

}  // namespace difr::app
