#include <fmt/core.h>

#include <chrono>
#include <ctime>
#include <iostream>

#include "app/audit/context.h"
#include "core/casefile/case_file.h"
#include "core/report/bundle.h"
#include "core/util/tokenizer_text.h"
#include "core/verdict/case_pipeline.h"

namespace difr::app {
namespace {

struct ReportArguments {
  std::filesystem::path out = "report";
  ReportOptions report;
  std::string redaction = "prompts";
  std::filesystem::path signing_key;
};

struct VerifyArguments {
  std::filesystem::path report;
  VerifyOptions verify;
};

/// The moment of the newest entry of the audit trail: a report tells the state of a case, so the same case gives the same
/// bytes whenever it is printed.
std::string case_moment(const CaseFile& file) {
  const auto trail = file.trail();
  // Seconds are enough for a date on paper.
  return trail.empty() ? std::string("1970-01-01T00:00:00Z") : trail.back().at.substr(0, 19) + "Z";
}

Redaction parse_redaction(const std::string& name) {
  for (const auto level : {Redaction::none, Redaction::prompts, Redaction::text})
    if (name == to_string(level)) return level;
  throw Error(ExitCode::usage, "--redact", "unknown level '" + name + "'", "use none, prompts or text");
}

int run_report(const GlobalOptions& options, ReportArguments arguments) {
  const auto file = CaseFile::open(options.require_case(), OpenMode::read_only);
  arguments.report.redaction = parse_redaction(arguments.redaction);
  if (arguments.report.created_at.empty()) arguments.report.created_at = case_moment(file);
  arguments.report.decision = stored_decision_options(file);
  std::optional<TokenizerText> tokenizer;
  const auto tokenizer_path = options.model / "tokenizer.json";
  if (!options.model.empty() && std::filesystem::exists(tokenizer_path)) {
    tokenizer = TokenizerText::load(tokenizer_path);
    arguments.report.token_text = [&](TokenId id) {
      const auto bytes = tokenizer->bytes(id);
      return bytes ? std::string(*bytes) : fmt::format("#{}", id);
    };
  }
  if (arguments.out.has_parent_path()) std::filesystem::create_directories(arguments.out.parent_path());
  const auto model = build_report_model(file, arguments.report);
  const auto files = write_report(model, arguments.out, {}, arguments.signing_key);
  if (options.json) {
    nlohmann::ordered_json paths = nlohmann::ordered_json::array();
    for (const auto& path : files) paths.push_back(path.string());
    print_json({{"files", paths}});
  } else {
    for (const auto& path : files) fmt::print("{}\n", path.string());
  }
  return 0;
}

const char* state_text(CheckState state) {
  return state == CheckState::ok ? "ok" : state == CheckState::failed ? "failed" : "unchecked";
}

int run_verify(const GlobalOptions& options, VerifyArguments arguments) {
  std::optional<CaseFile> file;
  if (!options.case_path.empty()) {
    file.emplace(CaseFile::open(options.case_path, OpenMode::read_only));
    arguments.verify.file = &*file;
  }
  if (!options.model.empty()) arguments.verify.weights_digest = gpu::inspect_model(options.model, true).weights_digest;
  const auto result = verify_report(arguments.report, arguments.verify);
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  for (const auto& check : result.checks) {
    checks.push_back({{"state", state_text(check.state)}, {"where", check.where}, {"message", check.message}});
    if (!options.json) fmt::print("{:<10} {}: {}\n", state_text(check.state), check.where, check.message);
  }
  if (options.json) print_json({{"ok", result.ok()}, {"checks", checks}});
  return static_cast<int>(result.ok() ? ExitCode::ok : ExitCode::bad_input);
}

}  // namespace

void add_report_commands(Registry& registry) {
  {
    auto* command = registry.app.add_subcommand("report", "write the report of a decided case: HTML, PDF, JSON, CSV and manifest");
    auto arguments = std::make_shared<ReportArguments>();
    command->add_option("--out", arguments->out, "path without extension");
    command->add_option("--title", arguments->report.title, "title of the report");
    command->add_option("--subject", arguments->report.subject, "who or what was audited");
    command->add_option("--auditor", arguments->report.auditor, "who audited");
    command->add_option("--redact", arguments->redaction, "none, prompts (default) or text: what is withheld; hashes are kept");
    command->add_option("--logo", arguments->report.logo_png, "PNG for the title page");
    command->add_option("--created-at", arguments->report.created_at, "date of the report, UTC ISO 8601; default: the case's last change");
    command->add_option("--sign", arguments->signing_key, "PEM file with an Ed25519 private key");
    command->footer("Example: difr-audit report --case audit.difr --out report\nWith --model DIR the report shows tokens as text.");
    command->callback([options = &registry.options, choose = registry.choose, arguments] {
      choose([=] { return run_report(*options, *arguments); });
    });
  }
  auto* command = registry.app.add_subcommand("verify-report", "re-check a report's hashes and signature and, with --case, every number");
  auto arguments = std::make_shared<VerifyArguments>();
  command->add_option("report", arguments->report, "the manifest, or any file of the report")->required();
  command->add_option("--sources", arguments->verify.source_folders, "folders where the logs lie now")->allow_extra_args(false);
  command->add_option("--public-key", arguments->verify.public_key, "PEM file with the signer's Ed25519 public key");
  command->add_option("--logo", arguments->verify.logo_png, "the logo that was given to the report");
  command->footer("Example: difr-audit verify-report report.manifest.json --case audit.difr");
  command->callback([options = &registry.options, choose = registry.choose, arguments] {
    choose([=] { return run_verify(*options, *arguments); });
  });
}

}  // namespace difr::app
