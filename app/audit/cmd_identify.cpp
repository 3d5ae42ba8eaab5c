#include <fmt/core.h>

#include <algorithm>

#include "app/audit/steps.h"
#include "core/verdict/case_identify.h"

namespace difr::app {
namespace {

using Json = nlohmann::ordered_json;

struct IdentifyArguments {
  std::vector<std::filesystem::path> logs;
  IdentifyOptions options;
  std::size_t windows = 1;
};

Json identification_json(const Identification& found) {
  Json candidates = Json::array();
  for (const auto& c : found.candidates)
    candidates.push_back({{"profile", c.profile},
                          {"match_rate", number(c.match_rate)},
                          {"low", number(c.low)},
                          {"high", number(c.high)},
                          {"tokens", c.tokens},
                          {"chance", number(c.chance)},
                          {"z", number(c.z)},
                          {"order", to_string(c.order)},
                          {"shift", c.shift},
                          {"child_seeds", to_string(c.child_seeds)}});
  const auto& p = found.plausibility;
  return {{"conclusion", to_string(found.conclusion)},
          {"text", found.text},
          {"tokens", found.tokens},
          {"candidates", candidates},
          {"not_tested", found.not_tested},
          {"plausibility",
           {{"plausible", p.plausible},
            {"mean_surprise", number(p.mean_surprise)},
            {"expected_entropy", number(p.expected_entropy)},
            {"low", number(p.low)},
            {"high", number(p.high)},
            {"outside_filter", p.outside_filter}}}};
}

void print_identification(const std::string& name, const Identification& found) {
  fmt::print("{}: {}\n  {}\n", name, to_string(found.conclusion), found.text);
  for (std::size_t i = 0; i < std::min<std::size_t>(5, found.candidates.size()); ++i) {
    const auto& c = found.candidates[i];
    fmt::print("  {:<28} {:>6.1f} % ({:.1f} to {:.1f}) of {} tokens; chance {:.1f} %{}\n", c.profile, 100 * c.match_rate, 100 * c.low,
               100 * c.high, c.tokens, 100 * c.chance, c.shift ? fmt::format("; shifted by {}", c.shift) : "");
  }
}

/// Works on a recomputed case, or on logs given directly, which are imported and recomputed first.
int run_identify(const GlobalOptions& options, const IdentifyArguments& arguments) {
  std::optional<TemporaryCase> temporary;
  auto path = options.case_path;
  if (!arguments.logs.empty()) {
    let_idle_threads_sleep(options);
    SignalStop stop;
    if (path.empty()) path = temporary.emplace().path();
    auto file = CaseFile::open(path, OpenMode::create_or_open);
    ImportOptions import;
    import.vocab = gpu::inspect_model(options.require_model()).vocab;
    import_logs(file, arguments.logs, import, options, stop.token());
    recompute(file, options, {}, 128, stop.token());
  } else {
    path = options.require_case();
  }
  const auto file = CaseFile::open(path, OpenMode::read_only);
  const auto run = require_run(file);
  Json out = Json::array();
  for (const auto& provider : file.providers()) {
    if (provider.role != ProviderRole::subject) continue;
    const auto found = identify_provider(file, run, provider, arguments.options);
    Json row{{"name", provider.config.name}, {"declared", provider.config.sampler}};
    row.update(identification_json(found));
    if (!options.json) print_identification(provider.config.name, found);
    if (arguments.windows > 1) {
      row["windows"] = Json::array();
      for (const auto& window : identify_provider_windows(file, run, provider, arguments.windows, arguments.options)) {
        Json part{{"first_request", window.first}, {"last_request", window.last}};
        part.update(identification_json(window.result));
        if (!options.json) print_identification(fmt::format("  requests {} to {}", window.first, window.last), window.result);
        row["windows"].push_back(std::move(part));
      }
    }
    out.push_back(std::move(row));
  }
  if (options.json) print_json({{"providers", out}});
  return 0;
}

}  // namespace

void add_identify_commands(Registry& registry) {
  auto* command = registry.app.add_subcommand("identify", "find out with which seeded sampler each provider's tokens were made");
  auto arguments = std::make_shared<IdentifyArguments>();
  command->add_option("logs", arguments->logs, "logs; without them the providers of --case");
  command->add_option("--tokens", arguments->options.max_tokens, "tokens looked at per provider")->check(CLI::Range(20, 1'000'000));
  command->add_option("--windows", arguments->windows, "also identify this many consecutive parts of each log")->check(CLI::Range(1, 1000));
  command->footer("Example: difr-audit identify --case audit.difr --json");
  command->callback([options = &registry.options, choose = registry.choose, arguments] {
    choose([=] { return run_identify(*options, *arguments); });
  });
}

}  // namespace difr::app
