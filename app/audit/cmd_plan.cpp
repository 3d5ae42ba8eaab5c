#include <fmt/core.h>

#include "app/audit/context.h"
#include "core/statistics/audit_plan.h"
#include "core/util/error.h"

namespace difr::app {
namespace {

struct PlanArguments {
  double fraction = 0;
  double power = 0;
  std::size_t samples = 0;
  std::size_t population = 0;
};

/// Without replacement a share of the population means a whole number of false requests; at least one.
std::size_t false_requests(const PlanArguments& a) {
  const auto count = static_cast<std::size_t>(a.fraction * static_cast<double>(a.population) + 0.5);
  return std::max<std::size_t>(1, count);
}

int run_plan(const GlobalOptions& options, const PlanArguments& a) {
  if ((a.samples > 0) == (a.power > 0)) throw Error(ExitCode::usage, "plan", "give either --samples or --power");
  nlohmann::ordered_json out{{"fraction", a.fraction}};
  if (a.population > 0) out["population"] = a.population;
  if (a.samples > 0) {
    if (a.population > 0 && a.samples > a.population)
      throw Error(ExitCode::usage, "--samples", "is larger than the population", "draw at most the whole population");
    const double p = a.population > 0 ? detection_probability_finite(a.population, false_requests(a), a.samples)
                                      : detection_probability(a.fraction, a.samples);
    out["samples"] = a.samples;
    out["detection_probability"] = p;
    if (!options.json)
      fmt::print("{} samples find at least one false request with probability {:.4f} when a share of {:g} is false\n", a.samples, p, a.fraction);
  } else {
    const auto n = a.population > 0 ? samples_for_detection_finite(a.population, false_requests(a), a.power)
                                    : samples_for_detection(a.fraction, a.power);
    out["power"] = a.power;
    out["samples"] = n;
    if (!options.json)
      fmt::print("{} samples are needed to find at least one false request with probability {:g} when a share of {:g} is false\n", n, a.power, a.fraction);
  }
  if (options.json) print_json(std::move(out));
  return 0;
}

}  // namespace

void add_plan_commands(Registry& registry) {
  auto* command = registry.app.add_subcommand("plan", "how many requests to check");
  auto arguments = std::make_shared<PlanArguments>();
  const CLI::Range open_unit(1e-12, 1 - 1e-12);
  command->add_option("--fraction", arguments->fraction, "share of requests that are false")->required()->check(open_unit);
  command->add_option("--power", arguments->power, "probability of finding at least one of them")->check(open_unit);
  command->add_option("--samples", arguments->samples, "requests checked")->check(CLI::Range(std::size_t{1}, std::size_t{1} << 60));
  command->add_option("--population", arguments->population, "requests there are, for drawing without replacement; 0: very many")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 60));
  command->footer("Example: difr-audit plan --fraction 0.001 --samples 3000");
  command->callback([options = &registry.options, choose = registry.choose, arguments] {
    choose([=] { return run_plan(*options, *arguments); });
  });
}

}  // namespace difr::app
