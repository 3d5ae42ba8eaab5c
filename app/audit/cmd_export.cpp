#include <fmt/core.h>

#include <fstream>
#include <iostream>
#include <map>

#include "app/audit/context.h"
#include "core/report/export.h"
#include "core/util/error.h"

namespace difr::app {
namespace {

struct ExportArguments {
  ExportKind kind = ExportKind::requests_csv;
  std::vector<std::string> providers;
  std::filesystem::path out;
};

const std::map<std::string, ExportKind> kKinds = {{"requests-csv", ExportKind::requests_csv},
                                                  {"requests-jsonl", ExportKind::requests_json},
                                                  {"tokens-csv", ExportKind::tokens_csv},
                                                  {"tokens-jsonl", ExportKind::tokens_json},
                                                  {"difr-results", ExportKind::difr_results}};

/// Names as the verdict table shows them; several logs may declare the same one.
std::vector<std::int64_t> provider_ids(const CaseFile& file, const std::vector<std::string>& names) {
  std::vector<std::int64_t> ids;
  const auto providers = file.providers();
  for (const auto& name : names) {
    const auto before = ids.size();
    for (const auto& row : providers)
      if (row.config.name == name) ids.push_back(row.id);
    if (ids.size() > before) continue;
    std::string known;
    for (const auto& row : providers) known += (known.empty() ? "" : ", ") + row.config.name;
    throw Error(ExitCode::usage, "--provider", fmt::format("the case has no provider '{}'", name), "it has: " + known);
  }
  return ids;
}

/// Written beside the target and renamed when complete: a broken export never looks like a whole one.
std::int64_t export_to_file(const CaseFile& file, ExportKind kind, const ExportOptions& what,
                            const std::filesystem::path& target) {
  const auto unfinished = target.string() + ".part";
  std::int64_t requests = 0;
  try {
    std::ofstream out(unfinished, std::ios::binary);
    const auto check = [&] {
      if (!out)
        throw environment_error(unfinished, "could not be written",
                                "check the folder, its permissions and the free space");
    };
    check();
    requests = export_scores(file, kind, what, [&](std::string_view piece) {
      out << piece;
      check();
    });
    out.close();
    check();
    std::filesystem::rename(unfinished, target);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(unfinished, ignored);
    throw;
  }
  return requests;
}

int run_export(const GlobalOptions& options, const ExportArguments& arguments) {
  const auto file = CaseFile::open(options.require_case(), OpenMode::read_only);
  const ExportOptions what{.provider_ids = provider_ids(file, arguments.providers)};
  if (arguments.out.empty()) {
    if (options.json)
      throw Error(ExitCode::usage, "--json", "needs --out: the export itself goes to stdout", "give --out FILE");
    (void)export_scores(file, arguments.kind, what, [](std::string_view piece) { std::cout << piece; });
    std::cout.flush();
    if (!std::cout) throw environment_error("stdout", "could not be written", "check the program that reads it");
    return 0;
  }
  const auto requests = export_to_file(file, arguments.kind, what, arguments.out);
  if (options.json)
    print_json({{"path", arguments.out.string()}, {"requests", requests}});
  else if (!options.quiet)
    std::cerr << fmt::format("{}: {} requests\n", arguments.out.string(), requests);
  return 0;
}

}  // namespace

void add_export_commands(Registry& registry) {
  auto* command = registry.app.add_subcommand("export", "scores of the newest run for other tools");
  auto arguments = std::make_shared<ExportArguments>();
  command
      ->add_option("--kind", arguments->kind,
                   "requests-csv (default), requests-jsonl, tokens-csv, tokens-jsonl, or difr-results: the public "
                   "layout, one provider a file")
      ->transform(CLI::CheckedTransformer(kKinds));
  command
      ->add_option("--provider", arguments->providers, "only this provider, by name; give the option once per provider")
      ->allow_extra_args(false);
  command->add_option("--out", arguments->out, "file to write; stdout when absent");
  command->footer("Example: difr-audit export --case audit.difr --kind tokens-csv --provider int4 --out int4.csv");
  command->callback([options = &registry.options, choose = registry.choose, arguments] {
    choose([=] { return run_export(*options, *arguments); });
  });
}

}  // namespace difr::app
