#include <fmt/core.h>

#include <iostream>

#include "app/audit/steps.h"
#include "core/diagnosis/case_diagnosis.h"

namespace difr::app {
namespace {

nlohmann::ordered_json explanation_json(const Explanation& e) {
  nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
  for (const auto& p : e.parameters) {
    nlohmann::ordered_json value{{"estimate", number(p.estimate)}, {"low", number(p.low)}, {"high", number(p.high)}};
    if (!p.text.empty()) value["text"] = p.text;
    parameters[p.name] = std::move(value);
  }
  return {{"kind", to_string(e.kind)},   {"log_likelihood", number(e.log_likelihood)}, {"parameters_fitted", e.parameters_fitted},
          {"parameters", parameters},    {"text", e.text},                             {"separates", e.separates}};
}

int run_diagnose(const GlobalOptions& options, const std::vector<std::string>& names, const DiagnosisOptions& tuning) {
  SignalStop stop;
  auto file = CaseFile::open(options.require_case(), OpenMode::read_only);
  const auto run = require_run(file);
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const auto& provider : file.providers()) {
    const bool wanted = names.empty() ? provider.role == ProviderRole::subject
                                      : std::find(names.begin(), names.end(), provider.config.name) != names.end();
    if (!wanted) continue;
    const auto diagnosis = diagnose_provider(file, run, provider, tuning, stop.token());
    nlohmann::ordered_json row{{"name", diagnosis.provider},
                               {"tokens", diagnosis.tokens},
                               {"exact_match", number(diagnosis.exact_match)},
                               {"explanations", nlohmann::ordered_json::array()},
                               {"not_separable", nlohmann::ordered_json::array()}};
    for (const auto& e : diagnosis.explanations) row["explanations"].push_back(explanation_json(e));
    for (const auto& [a, b] : diagnosis.not_separable) row["not_separable"].push_back({to_string(a), to_string(b)});
    if (!options.json) {
      fmt::print("{} ({} tokens)\n", diagnosis.provider, diagnosis.tokens);
      for (const auto& e : diagnosis.explanations)
        fmt::print("  {:>12.1f} nats  {:<17} {}\n", e.log_likelihood, to_string(e.kind), e.text);
      for (const auto& [a, b] : diagnosis.not_separable) fmt::print("  not separable: {} and {}\n", to_string(a), to_string(b));
      fmt::print("\n");
    }
    out.push_back(std::move(row));
  }
  if (options.json) print_json({{"providers", out}});
  return 0;
}

}  // namespace

void add_diagnose_commands(Registry& registry) {
  auto* command = registry.app.add_subcommand("diagnose", "rank what would explain the tokens of a recomputed case");
  auto names = std::make_shared<std::vector<std::string>>();
  auto tuning = std::make_shared<DiagnosisOptions>();
  command->add_option("--provider", *names, "only these providers, by name; all audited ones when absent")->allow_extra_args(false);
  command->add_option("--max-tokens", tuning->max_tokens, "tokens considered per provider")->check(CLI::Range(100, 10'000'000));
  command->footer("Example: difr-audit diagnose --case audit.difr --json");
  command->callback([options = &registry.options, choose = registry.choose, names, tuning] {
    choose([=] { return run_diagnose(*options, *names, *tuning); });
  });
}

}  // namespace difr::app
