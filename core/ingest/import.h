#pragma once
// Log import: content sniffing, streaming, resumable; bad records are listed and the rest goes on (DESIGN §5).

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>

#include "core/casefile/case_file.h"

namespace difr {

struct ImportOptions {
  ProviderRole role = ProviderRole::subject;
  int vocab = 0;                   ///< when known: ids >= vocab are rejected
  std::size_t batch = 256;         ///< claims per transaction
  std::filesystem::path requests;  ///< file of the requests; empty: the one that belongs to the log by its name
  std::filesystem::path retokenise;  ///< tokenizer.json or its folder; empty: text alone is refused
  std::size_t max_record_bytes = 64u << 20;  ///< a longer record is rejected, not loaded
};

struct ImportResult {
  std::int64_t source_id = 0;
  std::vector<std::int64_t> provider_ids;
  std::int64_t accepted = 0;
  std::int64_t rejected = 0;
  bool already_known = false;  ///< same SHA-256 was imported completely before
};

/// Progress in bytes of the log as it lies on disk.
using ImportProgress = std::function<void(std::int64_t bytes_done, std::int64_t bytes_total)>;

/// Imports one log ("-" is standard input; a pipe is spooled beside the case file, since a log must be hashed before it
/// is read to know whether it was imported before). `accepted` counts generated sequences, `rejected` the faults
/// listed. Throws difr::Error when the file as a whole is unusable; record faults go to the case's issues. Stopped by
/// `stop` it returns what it has; the next import of the same bytes goes on from there and duplicates nothing.
ImportResult import_log(CaseFile& file, const std::filesystem::path& log, const ImportOptions& options = {},
                        std::stop_token stop = {}, const ImportProgress& progress = {});

/// What became of one file of a folder.
struct FolderEntry {
  std::filesystem::path path;
  ImportResult result;
  std::string error;  ///< why the file was refused; empty when it was imported
};

/// Imports every file below `folder`, in order of path; hidden files and files of requests are passed over.
std::vector<FolderEntry> import_folder(CaseFile& file, const std::filesystem::path& folder,
                                       const ImportOptions& options = {}, std::stop_token stop = {},
                                       const ImportProgress& progress = {});

}  // namespace difr
