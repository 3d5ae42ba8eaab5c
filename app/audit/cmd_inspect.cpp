#include <fmt/core.h>

#include <iostream>

#include "app/audit/context.h"
#include "core/casefile/case_file.h"
#include "core/sampling/profile.h"
#include "core/util/error.h"

namespace difr::app {
namespace {

int run_samplers(const GlobalOptions& options) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& p : sampler_profiles()) {
    rows.push_back({{"profile", p.id},
                    {"title", p.title},
                    {"noise", p.noise},
                    {"alignment", p.alignment},
                    {"versions", p.versions},
                    {"needs", p.needs},
                    {"verification", to_string(p.verification)},
                    {"verified_by", p.verified_by},
                    {"missing", p.missing}});
    if (!options.json)
      fmt::print("{}  [{}]\n    {}\n    noise: {}\n    alignment: {}\n    versions: {}\n    needs: {}\n    {}\n\n", p.id,
                 to_string(p.verification), p.title, p.noise, p.alignment, p.versions, p.needs,
                 p.verification == Verification::not_reproducible ? "missing: " + std::string(p.missing)
                                                                  : "verified by: " + std::string(p.verified_by));
  }
  if (options.json) print_json({{"profiles", rows}});
  return 0;
}

int run_models_inspect(const GlobalOptions& options, const std::filesystem::path& path, bool digest) {
  const auto info = gpu::inspect_model(path, digest);
  if (options.json) {
    print_json({{"name", info.name},
                {"architecture", info.architecture},
                {"vocab", info.vocab},
                {"hidden", info.hidden},
                {"layers", info.layers},
                {"max_positions", info.max_positions},
                {"parameters", info.parameters},
                {"weight_bytes", info.weight_bytes},
                {"weights_digest", info.weights_digest}});
    return 0;
  }
  fmt::print("{}: {}\n  vocabulary {}, hidden {}, layers {}, positions {}\n  {} parameters, {} bytes of weights\n", info.name,
             info.architecture, info.vocab, info.hidden, info.layers, info.max_positions, info.parameters, info.weight_bytes);
  if (!info.weights_digest.empty()) fmt::print("  weights digest {}\n", info.weights_digest);
  return 0;
}

int run_verify_case(const GlobalOptions& options) {
  const auto file = CaseFile::open(options.require_case(), OpenMode::read_only);
  const auto faults = file.verify();
  if (options.json)
    print_json({{"case", file.path().string()}, {"sound", faults.empty()}, {"faults", faults}});
  else if (faults.empty())
    fmt::print("{}: sound\n", file.path().string());
  else
    for (const auto& fault : faults) std::cerr << fault << '\n';
  return static_cast<int>(faults.empty() ? ExitCode::ok : ExitCode::bad_input);
}

}  // namespace

void add_inspect_commands(Registry& registry) {
  auto* samplers = registry.app.add_subcommand("samplers", "list the known seeded samplers and how well each is verified");
  samplers->footer("Example: difr-audit samplers --json");
  samplers->callback([options = &registry.options, choose = registry.choose] { choose([=] { return run_samplers(*options); }); });

  auto* models = registry.app.add_subcommand("models", "look at trusted weights");
  models->require_subcommand(1);
  models->fallthrough();
  auto* inspect = models->add_subcommand("inspect", "architecture, sizes and digest of a model, without loading it");
  auto path = std::make_shared<std::filesystem::path>();
  auto digest = std::make_shared<bool>(false);
  inspect->add_option("path", *path, "model folder or GGUF file")->required();
  inspect->add_flag("--digest", *digest, "also compute the weights digest (reads all weights)");
  inspect->footer("Example: difr-audit models inspect weights/ --digest");
  inspect->callback([options = &registry.options, choose = registry.choose, path, digest] {
    choose([=] { return run_models_inspect(*options, *path, *digest); });
  });

  auto* verify = registry.app.add_subcommand("verify-case", "check every hash, blob and link of a case file");
  verify->footer("Example: difr-audit verify-case --case audit.difr");
  verify->callback([options = &registry.options, choose = registry.choose] { choose([=] { return run_verify_case(*options); }); });
}

}  // namespace difr::app
