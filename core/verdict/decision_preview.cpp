#include "core/verdict/decision_preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics/multiple_testing.h"
#include "core/util/error.h"
#include "core/verdict/case_pipeline.h"

namespace difr {
namespace {

/// The provider whose requests are hardest to flag; null when one alone can be flagged everywhere.
const ProviderPreview* hardest_to_flag(const DecisionPreview& preview) {
  const ProviderPreview* hardest = nullptr;
  const auto hardness = [](const ProviderPreview& row) {
    return row.limit.together == 0 ? std::numeric_limits<std::size_t>::max() : row.limit.together;
  };
  for (const ProviderPreview& row : preview.providers)
    if (row.decision.tokens > 0 && hardness(row) > (hardest ? hardness(*hardest) : 1)) hardest = &row;
  return hardest;
}

std::vector<std::string> unsupported(const DecisionPreview& preview) {
  std::vector<std::string> out;
  std::string unreachable;
  for (const ProviderPreview& row : preview.providers)
    if (row.decision.tokens > 0 && !row.decision.threshold)
      unreachable += (unreachable.empty() ? "" : ", ") + row.decision.name;
  if (!unreachable.empty())
    out.push_back(fmt::format(
        "A false-alarm rate of {:g} % is out of reach for {}: {} trusted requests against so few give no p-value that "
        "low. Such a provider stays undetermined, whatever its scores.",
        100 * preview.options.alpha, unreachable, preview.calibration_requests));
  const ProviderPreview* hardest = hardest_to_flag(preview);
  if (!hardest) return out;
  const FlagLimit& limit = hardest->limit;
  if (limit.together == 0)
    out.push_back(fmt::format(
        "No request of {} can be flagged at {:g} %: {} trusted requests give no p-value below {:.2g}, and even all of "
        "its requests together would not pass Benjamini-Hochberg. {} trusted requests would let a single one be "
        "flagged.",
        hardest->decision.name, 100 * preview.options.request_alpha, preview.calibration_requests, limit.smallest_p,
        limit.needed_for_one));
  else
    out.push_back(fmt::format(
        "A few odd requests go unflagged: {} trusted requests give no p-value below {:.2g}, so at {:g} % up to {} "
        "requests of one provider must stand out together. {} trusted requests would let a single one be flagged.",
        preview.calibration_requests, limit.smallest_p, 100 * preview.options.request_alpha, limit.together,
        limit.needed_for_one));
  return out;
}

}  // namespace

FlagLimit flag_limit(std::size_t trusted, std::size_t claimed, double level) {
  FlagLimit limit;
  const auto n = static_cast<double>(trusted);
  const auto m = static_cast<double>(claimed);
  limit.smallest_p = 1 / (n + 1);
  // k requests at the smallest p are flagged together when p m / k <= level: in benjamini_hochberg's own arithmetic,
  // for 19 trusted requests at 5 % lie exactly on the edge.
  const auto passes = [m, level](double p, double k) { return p * m / k <= level; };
  double together = std::max(1.0, std::floor(m * limit.smallest_p / level) - 1);
  while (together <= m && !passes(limit.smallest_p, together)) ++together;
  limit.together = together <= m ? static_cast<std::size_t>(together) : 0;
  double needed = std::max(0.0, std::floor(m / level) - 2);
  while (!passes(1 / (needed + 1), 1)) ++needed;
  limit.needed_for_one = static_cast<std::size_t>(needed);
  return limit;
}

DecisionMaterial load_decision_material(const CaseFile& file, std::stop_token stop) {
  DecisionMaterial material;
  material.run = require_run(file);
  auto calibrations = file.calibrations();
  if (calibrations.empty())
    throw bad_input(file.path().string(), "holds no calibration", "import a trusted log as calibration and recompute");
  material.calibration = std::move(calibrations.back());
  ScoreOptions score;
  score.noise_sigma = material.calibration.noise_sigma;
  for (const ProviderRow& provider : file.providers()) {
    if (stop.stop_requested()) break;
    if (provider.role == ProviderRole::subject)
      material.subjects.push_back(load_scored_provider(file, material.run, provider, score));
  }
  return material;
}

DecisionPreview preview_decision(const DecisionMaterial& material, const DecisionOptions& options, std::stop_token stop,
                                 const std::function<void(std::size_t, std::size_t)>& progress) {
  DecisionPreview preview;
  preview.options = options;
  preview.calibration_requests = material.calibration.requests();
  std::vector<double> p_values;
  for (const ScoredProvider& subject : material.subjects) {
    if (progress) progress(preview.providers.size(), material.subjects.size());
    if (stop.stop_requested()) return preview;
    Decisions decided = decide(material.calibration, std::span(&subject, 1), options);
    ProviderPreview row;
    row.decision = std::move(decided.providers.front());
    row.flagged = static_cast<std::size_t>(std::ranges::count(decided.requests, true, &RequestDecision::flagged));
    const auto judged =
        std::ranges::count_if(decided.requests, [](const RequestDecision& request) { return request.tokens > 0; });
    row.limit = flag_limit(preview.calibration_requests, static_cast<std::size_t>(judged), options.request_alpha);
    p_values.push_back(row.decision.p_value.value_or(1));
    preview.providers.push_back(std::move(row));
  }
  const std::vector<double> q_values = benjamini_hochberg(p_values);
  for (std::size_t i = 0; i < q_values.size(); ++i) preview.providers[i].q_value = q_values[i];
  // Bonferroni: the tests share a calibration and are not independent.
  preview.any_false_alarm = std::min(1.0, options.alpha * static_cast<double>(preview.providers.size()));
  preview.cannot = unsupported(preview);
  return preview;
}

}  // namespace difr
