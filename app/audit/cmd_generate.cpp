// generate: a trusted run of our own. replay: the same run again, bit for bit.
#include <fmt/core.h>

#include <iostream>

#include "app/audit/log_claims.h"
#include "core/util/write_file.h"
#include "gpu/generate/generate.h"

namespace difr::app {
namespace {

struct GenerateArguments {
  std::filesystem::path prompts, out;
  std::string sampler = "vllm-mrv2-murmur";
  std::string provider;
  std::optional<double> temperature, top_p, min_p;
  std::optional<int> top_k;
  std::optional<std::int64_t> seed;
  std::vector<TokenId> end_tokens;
  int count = 0;
  gpu::GenerateLimits limits;
  bool links = false;
};

struct ReplayArguments {
  std::filesystem::path log;
  std::string sampler;
  gpu::GenerateLimits limits;
  bool anyway = false;
};

const SamplerProfile& require_profile(const std::string& id) {
  const auto* profile = find_profile(id);
  if (profile == nullptr || (profile->family != SamplerFamily::greedy && !reproducible(*profile)))
    throw Error(ExitCode::usage, "--sampler", fmt::format("'{}' is not a sampler that can be reproduced", id),
                "choose one of `difr-audit samplers`");
  return *profile;
}

/// Prompts, seeds and sampling of a log in any format.
GenerationLog plan_of(const GenerateArguments& arguments, const GlobalOptions& options, std::stop_token stop) {
  auto claims = claims_of_log(arguments.prompts, options, stop);
  if (arguments.count > 0) claims.resize(std::min(claims.size(), static_cast<std::size_t>(arguments.count)));
  GenerationLog log;
  log.sampling = claims.front().sampling;
  for (auto& claim : claims) {
    GeneratedSample sample;
    sample.id = claim.external_id;
    sample.prompt = std::move(claim.prompt);
    sample.seed = claim.seed;
    if (claim.choice > 0) sample.id += fmt::format("/{}", claim.choice);
    if (arguments.seed) sample.seed = *arguments.seed + static_cast<std::int64_t>(log.samples.size());
    log.samples.push_back(std::move(sample));
  }
  return log;
}

int run_generate(const GlobalOptions& options, const GenerateArguments& arguments) {
  let_idle_threads_sleep(options);
  const SignalStop stop;
  const auto& profile = require_profile(arguments.sampler);
  auto log = plan_of(arguments, options, stop.token());
  auto& s = log.sampling;
  s.temperature = arguments.temperature.value_or(s.temperature);
  s.top_p = arguments.top_p.value_or(s.top_p);
  s.top_k = arguments.top_k.value_or(s.top_k);
  s.min_p = arguments.min_p.value_or(s.min_p);
  const auto engine = gpu::load_engine(options.require_model(), options.engine());
  auto ends = arguments.end_tokens.empty() ? gpu::end_tokens(options.model) : arguments.end_tokens;
  log.provider = arguments.provider.empty() ? "own-" + arguments.out.stem().string() : arguments.provider;
  log.model = engine->info().name;
  log.engine = "difr";
  log.engine_version = engine->environment().engine_build;
  log.sampler = s.greedy() ? "greedy" : arguments.sampler;
  log.environment = gpu::generation_environment(*engine, arguments.limits, std::move(ends));
  ProgressLine line("generate", "tokens", options.quiet);
  const auto most = static_cast<std::int64_t>(log.samples.size()) * arguments.limits.max_tokens;
  if (!gpu::generate_samples(
          *engine, log, profile, arguments.links, [&](std::int64_t tokens) { line.update(tokens, most); },
          stop.token()))
    throw environment_error(arguments.out.string(), "was not written: the generation was stopped", "start it again");
  write_file(arguments.out, write_generation_log(log));
  std::int64_t tokens = 0, failed = 0;
  for (const auto& sample : log.samples) {
    tokens += static_cast<std::int64_t>(sample.output.size());
    failed += sample.finish_reason == "error" ? 1 : 0;
  }
  if (options.json)
    print_json(
        {{"path", arguments.out.string()}, {"samples", log.samples.size()}, {"tokens", tokens}, {"failed", failed}});
  else if (!options.quiet)
    std::cerr << fmt::format("{}: {} samples, {} tokens\n", arguments.out.string(), log.samples.size(), tokens);
  return 0;
}

nlohmann::ordered_json to_json(const gpu::Divergence& d, const GenerationLog& log) {
  nlohmann::ordered_json row{{"id", log.samples[d.sample].id}, {"t", d.t}, {"kind", gpu::to_string(d.kind)}};
  if (d.claimed >= 0) row["claimed"] = d.claimed;
  if (d.own >= 0) row["own"] = d.own;
  row["margin"] = number(d.margin);
  return row;
}

int report_replay(const GlobalOptions& options, const GenerationLog& log, const gpu::ReplayResult& result,
                  const std::vector<EnvironmentDifference>& differences) {
  const bool like = log.environment && differences.empty();
  const bool identical = result.divergences.empty();
  const std::string conclusion = identical ? "identical" : like ? "different" : "undetermined";
  std::string reason = "every token is the one the replay draws";
  if (!identical)
    reason = like ? "the environments are alike and the outputs differ"
                  : "outputs differ, and so do the environments: honest runs differ as well, so nothing follows";
  if (options.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array(), facts = nlohmann::ordered_json::array();
    for (const auto& d : result.divergences) rows.push_back(to_json(d, log));
    for (const auto& f : differences) facts.push_back({{"fact", f.fact}, {"claimed", f.claimed}, {"own", f.own}});
    print_json({{"provider", log.provider},
                {"conclusion", conclusion},
                {"reason", reason},
                {"samples", result.samples},
                {"tokens_agreed", result.tokens},
                {"links_checked", result.links_checked},
                {"environment_stated", log.environment.has_value()},
                {"environment_differences", facts},
                {"divergences", rows}});
  } else {
    fmt::print("{}: {} ({})\n{} samples, {} tokens agree, {} activation links checked, {} samples diverge\n",
               log.provider, conclusion, reason, result.samples, result.tokens, result.links_checked,
               result.divergences.size());
    for (const auto& d : result.divergences)
      fmt::print("  {} at output token {}: {}, claimed {}, replayed {}, margin {:.4g} logits\n",
                 log.samples[d.sample].id, d.t, gpu::to_string(d.kind), d.claimed, d.own, d.margin);
  }
  return like && !identical ? static_cast<int>(ExitCode::fail_verdict) : 0;
}

int run_replay(const GlobalOptions& options, const ReplayArguments& arguments) {
  let_idle_threads_sleep(options);
  const SignalStop stop;
  const auto log = read_generation_log(arguments.log);
  const auto& profile = require_profile(!arguments.sampler.empty() ? arguments.sampler
                                        : log.sampling.greedy()    ? "greedy"
                                                                   : log.sampler);
  if (!log.environment && !arguments.anyway)
    throw environment_error(arguments.log.string(), "does not state the environment it was generated in",
                            "exact replay needs it; --anyway shows where outputs part, which proves nothing");
  const auto engine = gpu::load_engine(options.require_model(), options.engine());
  auto limits = arguments.limits;
  std::vector<EnvironmentDifference> differences;
  if (log.environment) {
    limits = {.max_tokens = log.environment->max_tokens,
              .group = arguments.limits.group > 0 ? arguments.limits.group : log.environment->group};
    differences = compare_environments(*log.environment,
                                       gpu::generation_environment(*engine, limits, log.environment->end_tokens));
  } else {
    for (const auto& sample : log.samples)
      limits.max_tokens = std::max(limits.max_tokens, static_cast<int>(sample.output.size()));
    if (limits.group == 0) limits.group = 16;
  }
  if (!differences.empty() && !arguments.anyway) {
    std::string list;
    for (const auto& f : differences)
      list += fmt::format("{}{}: {} there, {} here", list.empty() ? "" : "; ", f.fact, f.claimed, f.own);
    throw environment_error(arguments.log.string(), "was generated in another environment: " + list,
                            "make these alike, or give --anyway to see where outputs part, which proves nothing");
  }
  std::int64_t total = 0;
  for (const auto& sample : log.samples) total += static_cast<std::int64_t>(sample.output.size());
  ProgressLine line("replay", "tokens", options.quiet);
  const auto result = gpu::replay_samples(
      *engine, log, profile, limits, [&](std::int64_t tokens) { line.update(tokens, total); }, stop.token());
  if (result.stopped)
    throw environment_error(arguments.log.string(), "was not replayed to the end: stopped", "start again");
  return report_replay(options, log, result, differences);
}

}  // namespace

void add_generate_commands(Registry& registry) {
  auto* generate = registry.app.add_subcommand("generate", "generate with the trusted weights and a seeded sampler");
  auto a = std::make_shared<GenerateArguments>();
  generate->add_option("--prompts", a->prompts, "log whose prompts, seeds and sampling are taken (any format)")
      ->required();
  generate->add_option("--out", a->out, "log to write (DiFR samples, with the environment)")->required();
  generate->add_option("--sampler", a->sampler, "sampler profile: see `difr-audit samplers`");
  generate->add_option("--provider", a->provider, "name in the log");
  generate->add_option("--temperature", a->temperature)->check(CLI::Range(0.0, 100.0));
  generate->add_option("--top-p", a->top_p)->check(CLI::Range(1e-9, 1.0));
  generate->add_option("--top-k", a->top_k)->check(CLI::Range(0, 1 << 24));
  generate->add_option("--min-p", a->min_p)->check(CLI::Range(0.0, 1.0));
  generate->add_option("--seed", a->seed, "sample i gets seed + i; when absent: the log's seeds");
  generate->add_option("--count", a->count, "only the first prompts")->check(CLI::Range(1, 1 << 30));
  generate->add_option("--max-tokens", a->limits.max_tokens, "per sample")->check(CLI::Range(1, 1 << 24));
  generate->add_option("--group", a->limits.group, "sequences that step together")->check(CLI::Range(1, 256));
  generate->add_option("--end-token", a->end_tokens, "token that ends an output; when absent: what the model states")
      ->allow_extra_args(false);
  generate->add_flag("--links", a->links, "keep a hash chain over the activations, one link a token");
  generate->footer("Example: difr-audit generate --model weights/ --prompts log.json --seed 1 --out own.json");
  generate->callback([options = &registry.options, choose = registry.choose, a] {
    choose([=] { return run_generate(*options, *a); });
  });

  auto* replay =
      registry.app.add_subcommand("replay", "generate a log again and find the first difference, bit for bit");
  auto r = std::make_shared<ReplayArguments>();
  r->limits.group = 0;
  replay->add_option("log", r->log, "log of `difr-audit generate`, or another DiFR samples log with --anyway")
      ->required();
  replay->add_option("--sampler", r->sampler, "sampler profile; when absent: what the log declares");
  replay->add_option("--group", r->limits.group, "sequences that step together; when absent: as the log says")
      ->check(CLI::Range(1, 256));
  replay->add_flag("--anyway", r->anyway, "also in another environment: shows differences that prove nothing");
  replay->footer("Example: difr-audit replay --model weights/ own.json");
  replay->callback(
      [options = &registry.options, choose = registry.choose, r] { choose([=] { return run_replay(*options, *r); }); });
}

}  // namespace difr::app
