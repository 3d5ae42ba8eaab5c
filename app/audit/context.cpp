#include "app/audit/context.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "core/util/error.h"

namespace difr::app {
namespace {

// All that a signal handler may touch.
volatile std::sig_atomic_t signals_received = 0;

std::string duration(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  const auto s = static_cast<std::int64_t>(std::llround(seconds));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{}:{:02} min", s / 60, s % 60);
  return fmt::format("{}:{:02} h", s / 3600, s / 60 % 60);
}

}  // namespace

gpu::EngineOptions GlobalOptions::engine() const {
  gpu::EngineOptions engine;
  engine.dtype = gpu::parse_dtype(dtype.empty() ? "fp32" : dtype);
  engine.device = device;
  engine.variant = variant;
  engine.threads = threads;
  engine.batch_tokens = batch_tokens;
  return engine;
}

gpu::RemoteOptions GlobalOptions::remote_reference() const {
  if (!variant.empty())
    throw Error(ExitCode::usage, "--variant", "needs weights on this machine", "leave out --url, and give --model");
  gpu::RemoteOptions out;
  out.url = remote.url;
  out.model = remote.served_model;
  out.vocab = reference_vocab();
  out.top_k = remote.top_k;
  out.concurrency = remote.concurrency;
  out.dtype = dtype.empty() ? "bf16" : dtype;
  if (!remote.key_env.empty()) out.key = gpu::ApiKey::from_environment(remote.key_env);
  if (!remote.key_file.empty()) out.key = gpu::ApiKey::from_file(remote.key_file);
  return out;
}

int GlobalOptions::reference_vocab() const {
  if (remote.vocab > 0) return remote.vocab;
  if (!remote.url.empty() && model.empty())
    throw Error(ExitCode::usage, "--vocab", "is missing: a server does not say how wide its logit row is",
                "give the vocab_size of the model's config.json, or --model with the folder that holds it");
  return gpu::inspect_model(require_model()).vocab;
}

void add_remote_options(CLI::App& command, RemoteArguments& remote) {
  constexpr const char* group = "Remote reference";
  auto* url = command.add_option(
      "--url", remote.url, "ask this OpenAI-compatible server for prompt_logprobs instead of running --model here");
  const auto add = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->group(group)->needs(url);
  };
  url->group(group);
  add("--served-model", remote.served_model, "name of the model on the server; when absent: its only one");
  add("--vocab", remote.vocab, "width of the model's logit row (vocab_size); when absent: from --model")
      ->check(CLI::Range(2, 1 << 24));
  add("--top-k", remote.top_k, "candidates asked for per token; at most the server's --max-logprobs")
      ->check(CLI::Range(1, 4096));
  add("--concurrency", remote.concurrency, "requests in flight")->check(CLI::Range(1, 1024));
  auto* env = add("--key-env", remote.key_env, "environment variable that holds the server's key");
  add("--key-file", remote.key_file, "file (readable by its owner alone) that holds the server's key")->excludes(env);
}

const std::filesystem::path& GlobalOptions::require_case() const {
  if (case_path.empty())
    throw Error(ExitCode::usage, "--case", "is missing", "name the case file, e.g. --case audit.difr");
  return case_path;
}

const std::filesystem::path& GlobalOptions::require_model() const {
  if (model.empty())
    throw Error(ExitCode::usage, "--model", "is missing",
                "name the folder with config.json and the trusted weights, or a GGUF file");
  return model;
}

void let_idle_threads_sleep(const GlobalOptions& options) {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  execv("/proc/self/exe", options.argv);  // returns only when it failed: then go on as we are
}

ProgressLine::ProgressLine(std::string what, std::string unit, bool quiet)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()),
      last_(start_ - std::chrono::hours(1)) {}

ProgressLine::~ProgressLine() {
  if (printed_ && terminal_) std::cerr << '\n';
}

void ProgressLine::update(std::int64_t done, std::int64_t total) {
  if (quiet_) return;
  const auto now = std::chrono::steady_clock::now();
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(1000);
  if (now - last_ < pause && done < total) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  const double eta = rate > 0 ? static_cast<double>(total - done) / rate : INFINITY;
  const auto line =
      fmt::format("{}: {}/{} {} · {:.3g} {}/s · {} left", what_, done, total, unit_, rate, unit_, duration(eta));
  std::cerr << (terminal_ ? "\r\033[K" : "") << line << (terminal_ ? "" : "\n") << std::flush;
  printed_ = true;
}

SignalStop::SignalStop() {
  // A handler and not a blocked mask: libraries start threads before main, and a signal that such a thread takes with
  // the default action would end the process.
  struct sigaction action = {};
  action.sa_handler = [](int) { signals_received = signals_received + 1; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  watcher_ = std::jthread([this](std::stop_token done) {
    while (!done.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (signals_received > 1) _exit(130);
      if (signals_received > 0) source_.request_stop();
    }
  });
}

TemporaryCase::TemporaryCase() {
  auto pattern = (std::filesystem::temp_directory_path() / "difr-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    throw environment_error(pattern, "could not be created",
                            "set TMPDIR to a folder that can be written, or give --case");
  folder_ = pattern;
}

TemporaryCase::~TemporaryCase() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

nlohmann::json number(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

nlohmann::json number(const std::optional<double>& value) {
  return value ? number(*value) : nlohmann::json(nullptr);
}

void print_json(nlohmann::ordered_json document) {
  nlohmann::ordered_json out;
  out["schema_version"] = kSchemaVersion;
  for (auto& [key, value] : document.items()) out[key] = value;
  // Logs may hold bytes that are not UTF-8; they must not end the program here.
  std::cout << out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

std::filesystem::path demo_folder() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto installed = self.parent_path().parent_path() / "share" / "difr-workbench" / "demo";
  for (const auto& folder : {installed, std::filesystem::path(DIFR_SOURCE_DEMO)})
    if (std::filesystem::exists(folder / "model" / "config.json", error)) return folder;
  throw environment_error(installed.string(), "the demo case is not there",
                          "install the package again, or run from the source folder");
}

}  // namespace difr::app
