#include <fmt/core.h>

#include <iostream>

#include "app/audit/reference.h"
#include "app/audit/steps.h"
#include "core/report/text.h"
#include "core/util/error.h"

namespace difr::app {
namespace {

struct RecomputeArguments {
  std::vector<std::int64_t> provider_ids;
  int top_m = 128;
  std::string shard;
  std::filesystem::path out;
};

/// The case itself, or with --shard a part file made from it.
CaseFile open_for_work(const GlobalOptions& options, const RecomputeArguments& arguments) {
  if (arguments.shard.empty() != arguments.out.empty())
    throw Error(ExitCode::usage, arguments.shard.empty() ? "--shard" : "--out",
                "is missing: --shard and --out go together",
                "e.g. --shard 2/16 --out part-2.difr, and join the parts with merge");
  if (arguments.shard.empty()) return CaseFile::open(options.require_case(), OpenMode::read_write);
  const auto shard = parse_shard(arguments.shard);
  return CaseFile::open(options.require_case(), OpenMode::read_only).open_part(arguments.out, shard);
}

int run_recompute(const GlobalOptions& options, const RecomputeArguments& arguments) {
  let_idle_threads_sleep(options);
  SignalStop stop;
  auto file = open_for_work(options, arguments);
  const auto run = recompute(file, options, arguments.provider_ids, arguments.top_m, stop.token());
  const auto pending = file.pending_requests(run, arguments.provider_ids).size();
  if (options.json)
    print_json({{"run", run}, {"pending", pending}});
  else
    fmt::print(
        "run {} is complete{}\n", run,
        pending == 0 ? "" : fmt::format("; {} could not be scored", report::plural(pending, "request", "requests")));
  return 0;
}

/// One JSON object a line; flushed, because the window reads it live.
void emit(nlohmann::ordered_json event) {
  std::cout << event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n' << std::flush;
}

int run_worker(const GlobalOptions& options, const RecomputeArguments& arguments) {
  let_idle_threads_sleep(options);
  try {
    SignalStop stop;
    auto file = open_for_work(options, arguments);
    const bool local = options.remote.url.empty();
    emit({{"event", "log"},
          {"message", local ? "loading " + options.require_model().string() : "asking " + options.remote.url}});
    Reference reference(options, stop.token());
    const auto run = file.begin_run(reference.environment());
    const auto total = static_cast<std::int64_t>(file.pending_requests(run, arguments.provider_ids).size());
    emit({{"event", "start"}, {"run", run}, {"requests_total", total}});
    const auto started = std::chrono::steady_clock::now();
    const auto result = reference.recompute(
        file, arguments.provider_ids, arguments.top_m,
        [&](const gpu::RecomputeProgress& p) {
          const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
          const double rate = seconds > 0 ? static_cast<double>(p.tokens_done) / seconds : 0;
          emit({{"event", "progress"},
                {"requests_done", p.requests_done},
                {"requests_total", p.requests_total},
                {"tokens_done", p.tokens_done},
                {"tokens_per_s", rate},
                {"eta_s", rate > 0 ? nlohmann::json(static_cast<double>(p.tokens_total - p.tokens_done) / rate)
                                   : nlohmann::json(nullptr)}});
        },
        stop.token());
    for (const auto& claim : result.skipped) emit({{"event", "log"}, {"message", skipped_text(claim)}});
    if (result.refused_tokens > 0)
      emit({{"event", "log"},
            {"message",
             fmt::format("{} rows of the reference were not finite and are not scored", result.refused_tokens)}});
    emit(
        {{"event", result.stopped ? "cancelled" : "done"}, {"run", result.run_id}, {"requests_done", result.requests}});
    return 0;
  } catch (const Error& error) {
    emit({{"event", "error"}, {"message", error.what()}});
    throw;
  } catch (const std::exception& error) {
    emit({{"event", "error"}, {"message", error.what()}});
    throw;
  }
}

}  // namespace

std::int64_t recompute(CaseFile& file, const GlobalOptions& options, std::span<const std::int64_t> provider_ids,
                       int top_m, std::stop_token stop) {
  Reference reference(options, stop);
  ProgressLine line("recompute", "tokens", options.quiet);
  const auto result = reference.recompute(
      file, provider_ids, top_m, [&](const gpu::RecomputeProgress& p) { line.update(p.tokens_done, p.tokens_total); },
      stop);
  for (const auto& claim : result.skipped) std::cerr << "difr-audit: " << skipped_text(claim) << '\n';
  if (result.refused_tokens > 0)
    std::cerr << fmt::format("difr-audit: {} rows of the reference were not finite and are not scored\n",
                             result.refused_tokens);
  if (result.stopped)
    throw environment_error(file.path().string(), "the recomputation was stopped",
                            "what is done is stored; run the command again to go on");
  return result.run_id;
}

void add_recompute_commands(Registry& registry) {
  const auto add = [&](const char* name, const char* help, const char* example,
                       int (*run)(const GlobalOptions&, const RecomputeArguments&)) {
    auto* command = registry.app.add_subcommand(name, help);
    auto arguments = std::make_shared<RecomputeArguments>();
    command->add_option("--provider-id", arguments->provider_ids, "only these providers (row ids); all when absent")
        ->allow_extra_args(false);
    command->add_option("--top-m", arguments->top_m, "candidates kept per token as evidence")
        ->check(CLI::Range(2, 4096));
    command->add_option("--shard", arguments->shard, "i/n: only the i-th of n parts, into the file of --out");
    command->add_option("--out", arguments->out, "part file of --shard; the case itself is only read");
    add_remote_options(*command, registry.options.remote);
    command->footer(example);
    command->callback([options = &registry.options, choose = registry.choose, arguments, run] {
      choose([=] { return run(*options, *arguments); });
    });
  };
  add("recompute", "run the trusted reference over what a case still lacks",
      "Example: difr-audit recompute --case audit.difr --model weights/", run_recompute);
  add("worker", "the same as a child process: JSON lines on stdout (docs/worker-protocol.md)",
      "Example: difr-audit worker --case audit.difr --model weights/", run_worker);
}

}  // namespace difr::app
