#pragma once
// What every command shares: global options, progress on stderr, cancellation by signal.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/util/error.h"
#include "gpu/reference_engine.h"
#include "gpu/remote/remote_reference.h"

namespace difr::app {

inline constexpr int kSchemaVersion = 1;

/// A trusted reference on a server instead of weights on this machine.
struct RemoteArguments {
  std::string url;           ///< empty: local weights
  std::string served_model;  ///< empty: the server's only one
  int vocab = 0;             ///< width of the logit row; 0: from --model
  int top_k = 20;
  int concurrency = 8;
  std::string key_env;
  std::filesystem::path key_file;
};

struct GlobalOptions {
  std::filesystem::path case_path;
  std::filesystem::path model;
  std::vector<std::filesystem::path> calibration;
  std::string dtype;  ///< empty: fp32, or bf16 for a server
  std::string device = "cpu";
  std::string variant;
  int threads = 0;
  int batch_tokens = 2048;
  bool json = false;
  bool quiet = false;
  RemoteArguments remote;
  char** argv = nullptr;  ///< of main, for let_idle_threads_sleep()

  [[nodiscard]] gpu::EngineOptions engine() const;
  /// Reads the key. Throws difr::Error naming the option, the variable or the file.
  [[nodiscard]] gpu::RemoteOptions remote_reference() const;
  /// Width of the reference's logit row, from --vocab or --model.
  [[nodiscard]] int reference_vocab() const;
  /// Throws difr::Error (usage) naming the option when it was not given.
  [[nodiscard]] const std::filesystem::path& require_case() const;
  [[nodiscard]] const std::filesystem::path& require_model() const;
};

/// The options of RemoteArguments, for the commands that run a reference.
void add_remote_options(CLI::App& command, RemoteArguments& remote);

/// Called first by every command that runs the reference; may start the program anew. Idle OpenMP threads spin by
/// default, which on a busy machine starves the very thread they wait for (measured on two loaded cores: 370 against
/// several thousand tokens/s), and the runtime reads the policy only when it is loaded.
void let_idle_threads_sleep(const GlobalOptions& options);

/// A line on stderr with rate and remaining time; silent under --quiet, one line a second elsewhere.
class ProgressLine {
 public:
  ProgressLine(std::string what, std::string unit, bool quiet);
  ~ProgressLine();
  void update(std::int64_t done, std::int64_t total);

 private:
  std::string what_, unit_;
  bool quiet_, terminal_, printed_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

/// Turns SIGINT and SIGTERM into a stop request; a second one ends the process at once.
class SignalStop {
 public:
  SignalStop();
  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread watcher_;
};

/// A case file that lasts as long as the command, for one-shot audits without --case.
class TemporaryCase {
 public:
  TemporaryCase();
  ~TemporaryCase();
  TemporaryCase(const TemporaryCase&) = delete;
  TemporaryCase& operator=(const TemporaryCase&) = delete;
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "case.difr"; }

 private:
  std::filesystem::path folder_;
};

/// JSON has no NaN or infinity: NaN becomes null, infinities become "inf" and "-inf" (docs/json.md).
[[nodiscard]] nlohmann::json number(double value);
[[nodiscard]] nlohmann::json number(const std::optional<double>& value);
/// Prints a document with its schema_version on stdout.
void print_json(nlohmann::ordered_json document);

/// The bundled demo: beside the sources when built there, else where it was installed.
[[nodiscard]] std::filesystem::path demo_folder();

/// Every command returns its exit code.
using Command = std::function<int()>;
struct Registry {
  CLI::App& app;
  GlobalOptions& options;
  std::function<void(Command)> choose;  ///< called by CLI11 when a subcommand was parsed
};

void add_import_commands(Registry& registry);
void add_recompute_commands(Registry& registry);
void add_merge_commands(Registry& registry);
void add_export_commands(Registry& registry);
void add_decide_commands(Registry& registry);
void add_audit_commands(Registry& registry);
void add_report_commands(Registry& registry);
void add_inspect_commands(Registry& registry);
void add_diagnose_commands(Registry& registry);
void add_identify_commands(Registry& registry);
void add_plan_commands(Registry& registry);
void add_generate_commands(Registry& registry);
void add_fingerprint_commands(Registry& registry);

}  // namespace difr::app
