#include <fmt/core.h>

#include <iostream>

#include "app/audit/steps.h"
#include "core/ingest/import.h"
#include "core/report/text.h"

namespace difr::app {
namespace {

constexpr std::size_t kIssuesShown = 5;

nlohmann::ordered_json issue_json(const SourceIssue& issue) {
  return {{"record", issue.record}, {"byte_offset", issue.byte_offset}, {"rejected", issue.rejected},
          {"kind", issue.kind},     {"message", issue.message},         {"remedy", issue.remedy}};
}

void print_issues(const std::filesystem::path& log, const std::vector<SourceIssue>& issues) {
  std::size_t shown = 0;
  for (const auto& issue : issues) {
    if (!issue.rejected) continue;
    if (++shown > kIssuesShown) continue;
    std::cerr << fmt::format("{}: record {} (byte {}): {} [{}]{}\n", log.string(), issue.record, issue.byte_offset,
                             issue.message, issue.kind, issue.remedy.empty() ? "" : " - " + issue.remedy);
  }
  if (shown > kIssuesShown)
    std::cerr << fmt::format("{}: {} more rejected records (see `import --json`)\n", log.string(),
                             shown - kIssuesShown);
}

struct ImportArguments {
  std::vector<std::filesystem::path> logs;
  bool trusted = false;
  ImportOptions import;
};

int run_import(const GlobalOptions& options, const ImportArguments& arguments) {
  SignalStop stop;
  const auto& logs = arguments.logs;
  auto file = CaseFile::open(options.require_case(), OpenMode::create_or_open);
  auto import = arguments.import;
  if (import.vocab == 0 && !options.model.empty()) import.vocab = gpu::inspect_model(options.model).vocab;
  import.role = arguments.trusted ? ProviderRole::calibration : ProviderRole::subject;
  auto summary = import_logs(file, logs, import, options, stop.token());
  import.role = ProviderRole::calibration;
  const auto more = import_logs(file, options.calibration, import, options, stop.token());
  for (const auto& source : more.sources) summary.sources.push_back(source);
  const auto accepted = summary.accepted + more.accepted, rejected = summary.rejected + more.rejected;
  const auto refused = summary.refused_files + more.refused_files;
  if (options.json)
    print_json(
        {{"accepted", accepted}, {"rejected", rejected}, {"refused_files", refused}, {"sources", summary.sources}});
  else
    fmt::print(
        "{} accepted, {} rejected{}\n", report::plural(static_cast<std::size_t>(accepted), "request", "requests"),
        report::plural(static_cast<std::size_t>(rejected), "record", "records"),
        refused == 0 ? "" : ", " + report::plural(static_cast<std::size_t>(refused), "file refused", "files refused"));
  const bool nothing = accepted == 0 && rejected + refused > 0;
  if (nothing)
    throw bad_input(logs.empty() ? options.calibration.front().string() : logs.front().string(),
                    "holds no usable record", "`import --json` lists every record with its fault and remedy");
  return 0;
}

}  // namespace

ImportSummary import_logs(CaseFile& file, std::span<const std::filesystem::path> logs, const ImportOptions& import,
                          const GlobalOptions& options, std::stop_token stop) {
  ImportSummary summary;
  const auto add = [&](const std::filesystem::path& log, const ImportResult& result, const std::string& error) {
    nlohmann::ordered_json source{{"path", log.string()},
                                  {"accepted", result.accepted},
                                  {"rejected", result.rejected},
                                  {"already_known", result.already_known},
                                  {"issues", nlohmann::ordered_json::array()}};
    if (error.empty()) {
      const auto issues = file.issues(result.source_id);
      if (!options.quiet) print_issues(log, issues);
      for (const auto& issue : issues) source["issues"].push_back(issue_json(issue));
    } else {
      source["error"] = error;
      std::cerr << "difr-audit: " << error << '\n';
    }
    summary.sources.push_back(std::move(source));
    summary.accepted += result.accepted;
    summary.rejected += result.rejected;
    summary.refused_files += !error.empty();
  };
  for (const auto& log : logs) {
    ProgressLine line("import " + log.filename().string(), "bytes", options.quiet);
    const auto progress = [&](std::int64_t done, std::int64_t total) { line.update(done, total); };
    if (!std::filesystem::is_directory(log)) {
      add(log, import_log(file, log, import, stop, progress), {});
      continue;
    }
    const auto entries = import_folder(file, log, import, stop, progress);
    if (entries.empty()) throw bad_input(log.string(), "holds no files", "name a log, or a folder with logs in it");
    for (const auto& entry : entries) add(entry.path, entry.result, entry.error);
  }
  return summary;
}

void add_import_commands(Registry& registry) {
  auto* command = registry.app.add_subcommand("import", "read provider logs into a case file");
  auto arguments = std::make_shared<ImportArguments>();
  command->add_option("logs", arguments->logs,
                      "logs: JSON, JSONL, plain or compressed (gzip, zstd); a folder; - for standard input");
  command->add_flag("--trusted", arguments->trusted, "these logs are trusted runs: use them as calibration");
  command->add_option("--vocab", arguments->import.vocab, "width of the vocabulary; ids beyond it are rejected");
  command->add_option("--requests", arguments->import.requests,
                      "file with the requests of the log; when absent: the one its name points to");
  command->add_option("--retokenise", arguments->import.retokenise,
                      "where a log has text alone, make token ids with this tokenizer.json; verdict "
                      "then: undetermined at most");
  command->footer("Example: difr-audit import --case audit.difr --calibration trusted.json suspect.json");
  command->callback([options = &registry.options, choose = registry.choose, arguments] {
    choose([=] { return run_import(*options, *arguments); });
  });
}

}  // namespace difr::app
