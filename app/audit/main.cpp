// difr-audit: the headless twin of the window. Mains and wiring only.

#include <fmt/core.h>

#include <exception>
#include <iostream>

#include "app/audit/context.h"
#include "core/util/error.h"
#include "core/util/version.h"

namespace {

void add_global_options(CLI::App& app, difr::app::GlobalOptions& options) {
  app.add_option("--case", options.case_path, "case file (*.difr)");
  app.add_option("--model", options.model, "trusted weights: folder with config.json and safetensors, or a GGUF file");
  app.add_option("--calibration", options.calibration, "trusted log; give the option once per log")
      ->allow_extra_args(false);
  app.add_option(
      "--dtype", options.dtype,
      "reference dtype: fp32 (default, the sharper judge), bf16, fp16; of a server: what it runs (default bf16)");
  app.add_option("--device", options.device, "cpu (default), cuda or cuda:N");
  app.add_option("--variant", options.variant, "fake-quantised reference: int4-g32, int4-g128, int8, fp8, fp8-kv");
  app.add_option("--threads", options.threads, "threads of the reference; 0: all cores this process may use");
  app.add_option("--batch-tokens", options.batch_tokens, "packed tokens per forward pass");
  app.add_flag("--json", options.json, "print the result as JSON on stdout (docs/json.md)");
  app.add_flag("--quiet,-q", options.quiet, "no progress on stderr");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Find out whether an LLM provider ran the model, the weights and the sampling it declared.",
               "difr-audit"};
  app.set_version_flag("--version", difr::version());
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Exit codes: 0 pass or done, 1 a provider fails, 2 usage, 3 bad input, 4 environment.\n"
      "Example: difr-audit audit --model weights/ --calibration trusted.json suspect.json --json");
  difr::app::GlobalOptions options;
  options.argv = argv;
  add_global_options(app, options);
  difr::app::Command chosen;
  difr::app::Registry registry{app, options, [&](difr::app::Command command) { chosen = std::move(command); }};
  difr::app::add_audit_commands(registry);
  difr::app::add_import_commands(registry);
  difr::app::add_recompute_commands(registry);
  difr::app::add_merge_commands(registry);
  difr::app::add_decide_commands(registry);
  difr::app::add_diagnose_commands(registry);
  difr::app::add_identify_commands(registry);
  difr::app::add_plan_commands(registry);
  difr::app::add_generate_commands(registry);
  difr::app::add_fingerprint_commands(registry);
  difr::app::add_report_commands(registry);
  difr::app::add_export_commands(registry);
  difr::app::add_inspect_commands(registry);
  try {
    app.parse(argc, argv);
    return chosen();
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(difr::ExitCode::usage);
  } catch (const difr::Error& error) {
    std::cerr << "difr-audit: " << error.what() << '\n';
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "difr-audit: " << error.what() << '\n';
    return static_cast<int>(difr::ExitCode::environment);
  }
}
