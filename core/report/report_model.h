#pragma once
// Everything a report shows, as one value. HTML, PDF, JSON, CSV and the manifest are pure functions of it.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/casefile/case_file.h"
#include "core/domain/evidence.h"
#include "core/domain/verdict.h"
#include "core/verdict/decide.h"

namespace difr {

/// What is left out of a report that others will read. Hashes, counts and margins are always kept.
enum class Redaction : std::uint8_t {
  none,     ///< prompts and outputs as text
  prompts,  ///< prompts withheld
  text,     ///< prompts, outputs and token ids withheld: heat without words
};
[[nodiscard]] const char* to_string(Redaction redaction);

/// Most of each that is shown. What is cut is counted and said in the report; the CSV holds every provider and request.
struct ReportLimits {
  std::size_t provider_rows = 1000;       ///< rows of the verdict table
  std::size_t detailed_providers = 24;    ///< providers with a section of their own
  std::size_t requests_per_provider = 4;  ///< requests with token heat
  std::size_t tokens_per_request = 400;
  std::size_t sources = 500;
  std::size_t issues = 100;
};

struct ReportOptions {
  std::string title = "Audit of declared model inference";
  std::string subject;  ///< who or what was audited
  std::string auditor;
  std::string created_at;  ///< UTC, ISO 8601; given, not read from a clock: same case, same bytes
  Redaction redaction = Redaction::prompts;
  std::filesystem::path logo_png;  ///< empty: none
  ReportLimits limits;
  DecisionOptions decision;  ///< the parameters under which the stored decisions were made
  /// Bytes of one token (any bytes, need not be UTF-8 alone); empty function: token ids are shown.
  std::function<std::string(TokenId)> token_text;
};

struct ReportSource {
  SourceRow row;
  std::size_t issues = 0;  ///< findings in all
};

struct ReportIssue {
  std::string source;  ///< path of the source
  SourceIssue issue;
};

/// One trusted calibration, with the request scores that the histograms compare against.
struct ReportCalibration {
  std::string name;
  std::vector<std::string> providers;
  std::string environment;
  SamplingParams sampling;
  std::size_t requests = 0;
  std::size_t tokens = 0;
  double clip = 0;
  double noise_sigma = 0;
  std::string sha256;  ///< over offsets, margins, gaps and runner-ups, little-endian
  /// Scores of the trusted requests by statistic (ProviderDecision::statistic): what histograms compare with.
  std::map<std::string, std::vector<double>> request_scores;
};

struct ReportToken {
  TokenId id = 0;
  TokenId reference_id = -1;  ///< what the reference would have picked; -1 unknown
  double margin = 0;          ///< logits; +inf: outside the declared filter; NaN: not scored
  std::uint8_t flags = 0;     ///< TokenFlag bits
  std::string text;           ///< raw bytes; escaped by the renderers
  std::string reference_text;
};

/// A request worth a look, with its tokens.
struct ReportRequest {
  RequestSummary summary;
  std::string prompt_sha256;  ///< over the prompt's token ids, int32 little-endian
  std::string output_sha256;
  std::string prompt_text;  ///< empty when withheld or unknown
  std::vector<ReportToken> tokens;
  std::size_t tokens_total = 0;
};

/// A competing explanation from the diagnosis, best first.
struct ReportExplanation {
  std::string kind;
  std::string text;
  double log_likelihood = 0;
};

struct ReportProvider {
  ProviderDecision decision;
  ProviderConfig config;
  std::string source;                  ///< path of its log
  std::string sampler_title;           ///< from the registry; empty when unknown
  std::string sampler_verification;    ///< how well the profile is verified
  std::vector<double> request_scores;  ///< RequestDecision::score of the judged requests, in request order
  std::size_t requests_total = 0;      ///< in the case
  std::size_t flagged = 0;
  double margin_standard_error =
      0;  ///< of the token-pooled mean clipped margin, requests as clusters; NaN below 2 requests
  std::vector<ReportRequest> requests;  ///< flagged first, then highest scores
  std::vector<ReportExplanation> explanations;
  bool detailed = false;
};

struct ReportModel {
  std::string title, subject, auditor, created_at;
  std::string software;  ///< name and version of this program
  Redaction redaction = Redaction::prompts;
  ReportLimits limits;
  DecisionOptions parameters;
  std::string logo_png;  ///< PNG bytes; empty: none

  std::vector<ReportProvider> providers;  ///< subjects, in case order
  std::vector<ReportCalibration> calibrations;
  std::vector<ReportSource> sources;  ///< all; the renderers cut
  std::vector<ReportIssue> issues;    ///< at most limits.issues
  std::size_t issues_total = 0;
  ReferenceEnvironment reference;
  std::string run_created_at;
  std::string run_state;
  std::int64_t run_requests_done = 0, run_requests_total = 0;
  std::vector<std::string> undecided;  ///< subjects without a decision
  std::string trail_head;              ///< hash of the newest audit-trail row; empty: none
  std::size_t trail_rows = 0;
};

/// Reads the newest run, decisions and calibrations. Throws difr::Error when the case holds no decision, or the logo is
/// not a PNG file.
[[nodiscard]] ReportModel build_report_model(const CaseFile& file, const ReportOptions& options);

/// One self-contained UTF-8 page: no script runs, nothing is fetched. Also well-formed XML.
[[nodiscard]] std::string render_html(const ReportModel& model);

/// A4, vector charts, embedded fonts, outline and links; same model, same bytes (with the same fonts installed).
[[nodiscard]] std::string render_pdf(const ReportModel& model);
/// Throws difr::Error when the file cannot be written.
void write_pdf(const ReportModel& model, const std::filesystem::path& path);

/// The report for machines: every number that the pages show. `schema_version` 1; NaN is null, infinities are "inf" and
/// "-inf".
[[nodiscard]] std::string report_json(const ReportModel& model);

/// One row a provider, with a header; RFC 4180; cells that a spreadsheet would run as a formula are defused.
[[nodiscard]] std::string report_csv(const ReportModel& model);

}  // namespace difr
