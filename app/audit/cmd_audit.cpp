#include <fmt/core.h>

#include <algorithm>
#include <iostream>

#include "app/audit/steps.h"
#include "core/report/text.h"
#include "core/sampling/profile.h"

namespace difr::app {
namespace {

struct AuditArguments {
  std::vector<std::filesystem::path> logs;
  PipelineOptions pipeline;
  Detail detail;
  int top_m = 128;
};

int run_audit(const GlobalOptions& options, const AuditArguments& arguments) {
  let_idle_threads_sleep(options);
  SignalStop stop;
  std::optional<TemporaryCase> temporary;
  std::filesystem::path path = options.case_path;
  if (path.empty()) path = temporary.emplace().path();
  if (options.calibration.empty() && !std::filesystem::exists(path))
    throw Error(ExitCode::usage, "--calibration", "is missing", "name at least one log of a trusted run");
  ImportOptions import;
  import.role = ProviderRole::calibration;
  import.vocab = options.reference_vocab();
  auto file = CaseFile::open(path, OpenMode::create_or_open);
  const auto trusted = import_logs(file, options.calibration, import, options, stop.token());
  import.role = ProviderRole::subject;
  const auto suspects = import_logs(file, arguments.logs, import, options, stop.token());
  recompute(file, options, {}, arguments.top_m, stop.token());
  const auto decision = decide_case(file, arguments.pipeline);
  const int code = print_decision(file, decision, arguments.pipeline, arguments.detail, options);
  if (!options.quiet && suspects.rejected + trusted.rejected > 0)
    std::cerr << report::plural(static_cast<std::size_t>(suspects.rejected + trusted.rejected), "record was",
                                "records were")
              << " rejected and take no part in this verdict\n";
  return code;
}

int run_demo(GlobalOptions options, AuditArguments arguments) {
  const auto folder = demo_folder();
  options.model = folder / "model";
  options.calibration = {folder / "logs" / "honest-calibration.json"};
  for (const auto& entry : std::filesystem::directory_iterator(folder / "logs"))
    if (entry.path().filename() != "honest-calibration.json") arguments.logs.push_back(entry.path());
  std::sort(arguments.logs.begin(), arguments.logs.end());
  return run_audit(options, arguments);
}

void add_audit_options(CLI::App& command, AuditArguments& arguments) {
  add_decision_options(command, arguments.pipeline, arguments.detail);
  command.add_option("--top-m", arguments.top_m, "candidates kept per token as evidence")->check(CLI::Range(2, 4096));
}

}  // namespace

void add_audit_commands(Registry& registry) {
  {
    auto* command = registry.app.add_subcommand("audit", "import, recompute, calibrate and decide in one call");
    auto arguments = std::make_shared<AuditArguments>();
    command->add_option("logs", arguments->logs, "logs of the providers to audit")->required();
    add_audit_options(*command, *arguments);
    add_remote_options(*command, registry.options.remote);
    command->footer("Example: difr-audit audit --model weights/ --calibration trusted.json suspect.json --json");
    command->callback([options = &registry.options, choose = registry.choose, arguments] {
      choose([=] { return run_audit(*options, *arguments); });
    });
  }
  auto* command = registry.app.add_subcommand(
      "demo", "audit the bundled case: a small model and ten providers, some of which cheat");
  auto arguments = std::make_shared<AuditArguments>();
  add_audit_options(*command, *arguments);
  command->footer("Example: difr-audit demo --case demo.difr");
  command->callback([options = &registry.options, choose = registry.choose, arguments] {
    choose([=] { return run_demo(*options, *arguments); });
  });
}

}  // namespace difr::app
