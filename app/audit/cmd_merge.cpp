#include <fmt/core.h>

#include "app/audit/context.h"
#include "core/casefile/case_file.h"
#include "core/report/text.h"

namespace difr::app {
namespace {

int run_merge(const GlobalOptions& options, const std::vector<std::filesystem::path>& parts) {
  auto file = CaseFile::open(options.require_case(), OpenMode::read_write);
  ProgressLine line("merge", "parts", options.quiet);
  nlohmann::ordered_json merged = nlohmann::ordered_json::array();
  std::int64_t added = 0, known = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto result = file.merge_part(CaseFile::open(parts[i], OpenMode::read_only));
    nlohmann::ordered_json runs = nlohmann::ordered_json::array();
    for (const auto& run : result.runs) {
      runs.push_back({{"run", run.run_id}, {"added", run.added}, {"already_there", run.already_there}});
      added += run.added;
      known += run.already_there;
    }
    merged.push_back({{"path", parts[i].string()}, {"shard", result.shard.text()}, {"runs", runs}});
    line.update(static_cast<std::int64_t>(i + 1), static_cast<std::int64_t>(parts.size()));
  }
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  std::string open_runs;
  for (const auto& run : file.runs()) {
    const auto pending = file.pending_requests(run.id, {}).size();
    runs.push_back({{"run", run.id}, {"pending", pending}});
    if (pending > 0)
      open_runs += fmt::format("run {} still lacks {}\n", run.id, report::plural(pending, "request", "requests"));
  }
  if (options.json)
    print_json({{"parts", merged}, {"runs", runs}});
  else
    fmt::print("{} merged: {} added, {} already there\n{}", report::plural(parts.size(), "part", "parts"),
               report::plural(static_cast<std::size_t>(added), "request", "requests"), known, open_runs);
  return 0;
}

}  // namespace

void add_merge_commands(Registry& registry) {
  auto* command = registry.app.add_subcommand("merge", "join the parts that recompute --shard made into the case");
  auto parts = std::make_shared<std::vector<std::filesystem::path>>();
  command->add_option("parts", *parts, "part files, in any order; merging one twice changes nothing")->required();
  command->footer("Example: difr-audit merge --case audit.difr part-*.difr");
  command->callback([options = &registry.options, choose = registry.choose, parts] {
    choose([=] { return run_merge(*options, *parts); });
  });
}

}  // namespace difr::app
