#include <fmt/core.h>

#include "app/audit/steps.h"
#include "core/verdict/logprob_kind.h"

namespace difr::app {
namespace {

struct DecideArguments {
  PipelineOptions pipeline;
  Detail detail;
};

int run_decide(const GlobalOptions& options, const DecideArguments& arguments) {
  auto file = CaseFile::open(options.require_case(), OpenMode::read_write);
  const auto decision = decide_case(file, arguments.pipeline);
  return print_decision(file, decision, arguments.pipeline, arguments.detail, options);
}

int run_calibrate(const GlobalOptions& options, const DecideArguments& arguments) {
  auto file = CaseFile::open(options.require_case(), OpenMode::read_write);
  const auto run = require_run(file);
  auto calibration = calibrate_case(file, run, arguments.pipeline);
  calibration.id = file.store_calibration(run.id, calibration);
  file.append_trail("difr-audit", "calibrate", fmt::format("calibration {} from run {}", calibration.id, run.id));
  if (options.json)
    print_json({{"id", calibration.id},
                {"name", calibration.name},
                {"providers", calibration.providers},
                {"environment", calibration.environment},
                {"requests", calibration.requests()},
                {"tokens", calibration.tokens()},
                {"clip", number(calibration.clip)},
                {"noise_sigma", number(calibration.noise_sigma)}});
  else
    fmt::print("Calibration {}: {} requests, {} tokens, clip {:.4g}, noise sigma {:.3g}\n", calibration.id,
               calibration.requests(), calibration.tokens(), calibration.clip, calibration.noise_sigma);
  return 0;
}

nlohmann::ordered_json stated_json(const LogprobComparison& comparison) {
  nlohmann::ordered_json kinds = nlohmann::ordered_json::array(), differences;
  for (const auto kind : comparison.fits) kinds.push_back(to_string(kind));
  for (std::size_t k = 0; k < kLogprobKinds; ++k)
    differences[to_string(static_cast<LogprobKind>(k))] = number(comparison.median_difference[k]);
  return {
      {"tokens", comparison.tokens}, {"fits", kinds}, {"median_difference", differences}, {"text", comparison.text}};
}

/// Per-request means under the stored scores, before any calibration: what `score` shows.
int run_score(const GlobalOptions& options, const DecideArguments& arguments) {
  auto file = CaseFile::open(options.require_case(), OpenMode::read_only);
  const auto run = require_run(file);
  nlohmann::ordered_json providers = nlohmann::ordered_json::array();
  for (const auto& row : file.providers()) {
    const auto scored = load_scored_provider(file, run, row, arguments.pipeline.score);
    std::size_t tokens = 0, exact = 0, filtered_count = 0;
    double margins = 0, cross_entropy = 0;
    for (const auto& request : scored.requests)
      for (std::size_t t = 0; t < request.scores.size(); ++t) {
        const auto flags = request.scores.flags[t];
        if (flags & refused) continue;
        ++tokens;
        exact += (flags & exact_match) != 0;
        filtered_count += (flags & filtered) != 0;
        cross_entropy -= request.scores.log_prob[t];
        if (!(flags & (filtered | no_noise))) margins += request.scores.margin[t];
      }
    const auto* profile = find_profile(scored.sampler);
    const auto stated = stated_logprobs(file, run.id, row.id, profile ? profile->order : ProcessingOrder::vllm);
    const double n = std::max<double>(1, static_cast<double>(tokens));
    providers.push_back({{"name", scored.name},
                         {"sampler", scored.sampler},
                         {"requests", scored.requests.size()},
                         {"tokens", tokens},
                         {"exact_match", exact / n},
                         {"mean_finite_margin", margins / n},
                         {"filtered_tokens", filtered_count},
                         {"cross_entropy", cross_entropy / n},
                         {"stated_logprobs", stated_json(stated)}});
  }
  if (options.json) {
    print_json({{"providers", providers}});
    return 0;
  }
  for (const auto& p : providers) {
    fmt::print(
        "{:<28} {:>8} tokens  exact {:>7.3f}%  mean margin {:.6f}  cross-entropy {:.4f}  excluded by the filter {}\n",
        p["name"].get<std::string>(), p["tokens"].get<std::size_t>(), 100 * p["exact_match"].get<double>(),
        p["mean_finite_margin"].get<double>(), p["cross_entropy"].get<double>(),
        p["filtered_tokens"].get<std::size_t>());
    const auto& stated = p["stated_logprobs"];
    if (stated["tokens"] > 0)
      fmt::print("{:<28} {} ({} tokens)\n", "", stated["text"].get<std::string>(), stated["tokens"].get<std::size_t>());
  }
  return 0;
}

}  // namespace

void add_decide_commands(Registry& registry) {
  const auto add = [&](const char* name, const char* help, const char* example,
                       int (*run)(const GlobalOptions&, const DecideArguments&)) {
    auto* command = registry.app.add_subcommand(name, help);
    auto arguments = std::make_shared<DecideArguments>();
    add_decision_options(*command, arguments->pipeline, arguments->detail);
    command->footer(example);
    command->callback([options = &registry.options, choose = registry.choose, arguments, run] {
      choose([=] { return run(*options, *arguments); });
    });
  };
  add("score", "means of the stored scores, before any calibration", "Example: difr-audit score --case audit.difr",
      run_score);
  add("calibrate", "make a calibration from the trusted logs of a case",
      "Example: difr-audit calibrate --case audit.difr", run_calibrate);
  add("decide", "calibrate and decide every provider of a recomputed case",
      "Example: difr-audit decide --case audit.difr --per-request", run_decide);
}

}  // namespace difr::app
