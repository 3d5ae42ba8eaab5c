#include "core/verdict/case_pipeline.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/sampling/profile.h"
#include "core/util/error.h"
#include "core/verdict/case_identify.h"

namespace difr {
namespace {

bool filters(const SamplingParams& sampling) {
  return !sampling.greedy() && (sampling.top_k > 0 || sampling.top_p < 1.0 || sampling.min_p > 0.0);
}

std::string environment_line(const ReferenceEnvironment& env) {
  return fmt::format("{} {} on {}, {}{}", env.model_name, env.dtype, env.device, env.engine_build,
                     env.variant.empty() ? "" : ", variant " + env.variant);
}

std::string caveat_of(std::size_t retokenised, std::size_t seedless, std::size_t missing, std::size_t total) {
  if (total == 0) return "no request of this provider has been recomputed";
  if (retokenised > 0)
    return fmt::format("{} of {} outputs were retokenised from text, so their token ids are not the engine's own", retokenised, total);
  if (seedless > 0)
    return fmt::format("{} of {} sampled requests carry no seed, so their sampling cannot be checked", seedless, total);
  if (missing > 0) return fmt::format("{} of {} requests have not been recomputed yet", missing, total);
  return {};
}

constexpr std::string_view kOptionsSetting = "decision.options";

void store_options(CaseFile& file, const DecisionOptions& o) {
  const nlohmann::json json{{"alpha", o.alpha},           {"warn_alpha", o.warn_alpha},       {"request_alpha", o.request_alpha},
                            {"confidence", o.confidence}, {"clip_quantile", o.clip_quantile}, {"transfer_tolerance", o.transfer_tolerance},
                            {"resamples", o.resamples},   {"seed", o.seed}};
  file.set_setting(kOptionsSetting, json.dump());
}

constexpr double kDeclaredFits = 0.6;  // chance matches some 20-30 %, heavily quantised weights still 85 %

double exact_share(const ScoredProvider& scored) {
  std::size_t tokens = 0, exact = 0;
  for (const auto& request : scored.requests)
    for (const auto flags : request.scores.flags) {
      if (flags & (TokenFlag::refused | TokenFlag::no_noise)) continue;
      ++tokens;
      exact += (flags & TokenFlag::exact_match) != 0;
    }
  return tokens ? static_cast<double>(exact) / static_cast<double>(tokens) : 0;
}

ScoredProvider score_under(const CaseFile& file, const RunRow& run, const ProviderRow& provider, const SamplerProfile* profile,
                           const ScoreOptions& score) {
  ScoredProvider scored;
  scored.provider_id = provider.id;
  scored.name = provider.config.name;
  scored.sampling = provider.config.sampling;
  scored.sampler = profile ? std::string(profile->id) : provider.config.sampler;
  std::size_t retokenised = 0, seedless = 0, missing = 0, total = 0;
  file.for_each_claim(provider.id, [&](Claim&& claim) {
    ++total;
    retokenised += claim.ids_origin == IdsOrigin::retokenised;
    seedless += !claim.seed && !claim.sampling.greedy();
    if (auto scores = claim_scores(file, run.id, claim, profile, score)) scored.requests.push_back({claim.id, claim.external_id, std::move(*scores)});
    else ++missing;
    return true;
  });
  scored.caveat = caveat_of(retokenised, seedless, missing, total);
  return scored;
}

}  // namespace

RunRow require_run(const CaseFile& file) {
  auto run = file.latest_run();
  if (!run || run->requests_done == 0)
    throw bad_input(file.path().string(), "holds no recomputation", "run `difr-audit recompute --case FILE --model DIR` first");
  return *run;
}

std::optional<TokenScores> claim_scores(const CaseFile& file, std::int64_t run_id, const Claim& claim, const SamplerProfile* profile,
                                        const ScoreOptions& score) {
  if (!profile) return file.scores(run_id, claim.id);
  if (!filters(claim.sampling))
    if (auto stored = file.scores(run_id, claim.id, profile->id)) return stored;
  const auto evidence = file.evidence(run_id, claim.id);
  if (!evidence) return std::nullopt;
  return score_evidence(claim, *evidence, *profile, score);
}

DecisionOptions stored_decision_options(const CaseFile& file) {
  DecisionOptions options;
  const auto text = file.setting(kOptionsSetting);
  if (!text) return options;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) throw bad_input(file.path().string(), "setting decision.options is not readable", "decide again");
  options.alpha = json.value("alpha", options.alpha);
  options.warn_alpha = json.value("warn_alpha", options.warn_alpha);
  options.request_alpha = json.value("request_alpha", options.request_alpha);
  options.confidence = json.value("confidence", options.confidence);
  options.clip_quantile = json.value("clip_quantile", options.clip_quantile);
  options.transfer_tolerance = json.value("transfer_tolerance", options.transfer_tolerance);
  options.resamples = json.value("resamples", options.resamples);
  options.seed = json.value("seed", options.seed);
  return options;
}

ScoredProvider load_scored_provider(const CaseFile& file, const RunRow& run, const ProviderRow& provider, const ScoreOptions& score) {
  const bool greedy = provider.config.sampling.greedy();
  const SamplerProfile* declared = find_profile(greedy ? "greedy" : provider.config.sampler);
  if (declared && !reproducible(*declared)) declared = nullptr;
  ScoredProvider scored = score_under(file, run, provider, declared, score);
  // Greedy decoding has no noise to mistake, and a declared sampler that explains the tokens needs no search.
  if (!scored.caveat.empty() || greedy || (declared && exact_share(scored) >= kDeclaredFits)) return scored;

  IdentifyOptions identify;
  if (score.noise_sigma > 0) identify.noise_sigma = score.noise_sigma;
  const Identification found = identify_provider(file, run, provider, identify);
  if (found.conclusion == Conclusion::unique && !found.candidates.empty()) {
    const auto& best = found.candidates.front();
    const SamplerProfile* profile = find_profile(best.profile);
    if (profile && profile != declared && best.match_rate > 0.5) {
      scored = score_under(file, run, provider, profile, score);
      if (declared)
        scored.caveat = fmt::format("the log declares the sampler {}, but its tokens follow {} ({:.1f} % of {} tokens match)", declared->id,
                                    profile->id, 100 * best.match_rate, best.tokens);
      return scored;
    }
  }
  if (!declared)
    scored.caveat = fmt::format("{}; no known sampler explains these tokens: {}",
                                provider.config.sampler.empty() ? "the log declares no sampler"
                                                                : "the declared sampler '" + provider.config.sampler + "' is not one this version can reproduce",
                                found.text);
  return scored;
}

Calibration calibrate_case(CaseFile& file, const RunRow& run, const PipelineOptions& options) {
  std::vector<ScoredProvider> trusted;
  for (const auto& provider : file.providers())
    if (provider.role == ProviderRole::calibration) trusted.push_back(load_scored_provider(file, run, provider, options.score));
  if (trusted.empty())
    throw bad_input(file.path().string(), "holds no calibration log", "import one with `--calibration LOG`");
  return make_calibration(options.calibration_name, trusted, environment_line(run.environment), options.decision);
}

CaseDecision decide_case(CaseFile& file, const PipelineOptions& options) {
  CaseDecision result;
  result.run = require_run(file);
  result.calibration = calibrate_case(file, result.run, options);
  ScoreOptions score = options.score;
  score.noise_sigma = result.calibration.noise_sigma;
  std::vector<ScoredProvider> subjects;
  for (const auto& provider : file.providers())
    if (provider.role == ProviderRole::subject) subjects.push_back(load_scored_provider(file, result.run, provider, score));
  result.decisions = decide(result.calibration, subjects, options.decision);
  result.calibration.id = file.store_calibration(result.run.id, result.calibration);
  store_options(file, options.decision);
  file.store_decisions(result.run.id, result.calibration.id, result.decisions.providers, result.decisions.requests);
  file.append_trail("difr-audit", "decide",
                    fmt::format("run {}, calibration {}, {} providers, alpha {}", result.run.id, result.calibration.id,
                                result.decisions.providers.size(), options.decision.alpha));
  return result;
}

}  // namespace difr
