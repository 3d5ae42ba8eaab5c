#pragma once
// A report as files that belong together, and the check that they still do.
//
// NAME.html, NAME.pdf, NAME.json, NAME.csv for readers; NAME.manifest.json with the SHA-256 of each of them and of
// everything they rest on; NAME.manifest.sig with an Ed25519 signature over the manifest's bytes when a key is given.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/report/report_model.h"

namespace difr {

struct ReportFormats {
  bool html = true, pdf = true, csv = true;  ///< the JSON and the manifest are always written
};

/// Writes the bundle beside each other; `base` is a path without extension. `signing_key` is a PEM file with an Ed25519
/// private key; empty: not signed. Returns the files written. Throws difr::Error.
std::vector<std::filesystem::path> write_report(const ReportModel& model, const std::filesystem::path& base,
                                                const ReportFormats& formats = {},
                                                const std::filesystem::path& signing_key = {});

enum class CheckState : std::uint8_t {
  ok,
  failed,
  unchecked,  ///< could not be checked with what was given; the message says what is missing
};

struct ReportCheck {
  CheckState state = CheckState::ok;
  std::string where;  ///< a file, or a JSON pointer into the report, or a place in the case
  std::string message;
};

struct VerifyOptions {
  const CaseFile* file = nullptr;                     ///< with the case every number is made again
  std::vector<std::filesystem::path> source_folders;  ///< where sources may lie if not at their recorded path
  std::filesystem::path
      public_key;  ///< PEM of the signer; empty: the key in the signature file is used, and said to be unproven
  std::filesystem::path logo_png;  ///< as given to the report
  std::string weights_digest;      ///< of the model at hand; empty: not checked
};

struct ReportVerification {
  std::vector<ReportCheck> checks;
  [[nodiscard]] bool ok() const;  ///< nothing failed
};

/// `path`: the manifest, or any file of the bundle. Throws difr::Error when the manifest is missing or unreadable; what
/// differs is in the result, each with its place.
[[nodiscard]] ReportVerification verify_report(const std::filesystem::path& path, const VerifyOptions& options = {});

}  // namespace difr
