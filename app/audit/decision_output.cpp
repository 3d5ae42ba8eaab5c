#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "app/audit/steps.h"

namespace difr::app {
namespace {

using Json = nlohmann::ordered_json;

Json provider_json(const ProviderDecision& p) {
  return Json{{"name", p.name},
              {"requests", p.requests},
              {"tokens", p.tokens},
              {"sampler", p.sampler},
              {"exact_match", number(p.exact_match)},
              {"mean_clipped_margin", number(p.mean_clipped_margin)},
              {"clip", number(p.clip)},
              {"statistic", p.statistic},
              {"score", number(p.score)},
              {"threshold", number(p.threshold)},
              {"p_value", number(p.p_value)},
              {"verdict", to_string(p.verdict)},
              {"reason", p.reason},
              {"llr_score", number(p.llr_score)},
              {"llr_p_value", number(p.llr_p_value)},
              {"cross_entropy", number(p.cross_entropy)},
              {"filtered_tokens", p.filtered_tokens},
              {"edge_tokens", p.edge_tokens},
              {"refused_tokens", p.refused_tokens}};
}

Json calibration_json(const CaseDecision& decision) {
  const auto& c = decision.calibration;
  const auto& s = c.sampling;
  return Json{{"id", c.id},
              {"name", c.name},
              {"providers", c.providers},
              {"environment", c.environment},
              {"weights_digest", decision.run.environment.weights_digest},
              {"requests", c.requests()},
              {"tokens", c.tokens()},
              {"sampling", {{"temperature", s.temperature}, {"top_p", s.top_p}, {"top_k", s.top_k}, {"min_p", s.min_p}}},
              {"clip", number(c.clip)},
              {"noise_sigma", number(c.noise_sigma)}};
}

Json requests_json(const CaseDecision& decision, std::int64_t provider_id) {
  Json rows = Json::array();
  for (const auto& r : decision.decisions.requests) {
    if (r.provider_id != provider_id) continue;
    rows.push_back({{"id", r.external_id},
                    {"tokens", r.tokens},
                    {"exact_match", number(r.exact_match)},
                    {"score", number(r.score)},
                    {"max_margin", number(r.max_margin)},
                    {"p_value", number(r.p_value)},
                    {"q_value", number(r.q_value)},
                    {"flagged", r.flagged}});
  }
  return rows;
}

template <class T>
Json numbers(const std::vector<T>& values) {
  Json out = Json::array();
  for (const auto v : values) out.push_back(Json(number(static_cast<double>(v))));
  return out;
}

Json flag_list(const TokenScores& scores, TokenFlag flag) {
  Json out = Json::array();
  for (const auto flags : scores.flags) out.push_back((flags & flag) != 0);
  return out;
}

/// One object per request; every member a list over its output tokens.
Json tokens_json(const CaseFile& file, const RunRow& run, const ProviderRow& provider, const ScoreOptions& score) {
  Json rows = Json::array();
  const auto scored = load_scored_provider(file, run, provider, score);
  for (const auto& request : scored.requests) {
    const auto claim = file.claim(request.request_id);
    const auto& s = request.scores;
    Json row{{"id", request.external_id}, {"choice", claim ? claim->choice : 0}, {"token", claim ? Json(claim->output) : Json(nullptr)}};
    row["reference_token"] = s.reference_token;
    row["exact_match"] = flag_list(s, exact_match);
    row["margin"] = numbers(s.margin);
    row["margin_hi"] = numbers(s.margin_hi);
    row["gap"] = numbers(s.gap);
    row["logprob"] = numbers(s.log_prob);
    row["logit_rank"] = s.logit_rank;
    row["gumbel_rank"] = s.gumbel_rank;
    row["filter_distance"] = numbers(s.filter_distance);
    row["filter_edge"] = flag_list(s, filter_edge);
    row["filtered"] = flag_list(s, filtered);
    row["interval"] = flag_list(s, interval);
    row["refused"] = flag_list(s, refused);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string optional_text(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : std::string("–");
}

void print_table(const CaseDecision& decision, const Detail& detail) {
  std::size_t width = 8;
  for (const auto& p : decision.decisions.providers) width = std::max(width, p.name.size());
  const auto& c = decision.calibration;
  fmt::print("Calibration: {} ({} requests, {} tokens; clip {:.4g}, noise sigma {:.3g})\n             {}\n\n", c.name, c.requests(),
             c.tokens(), c.clip, c.noise_sigma, c.environment);
  fmt::print("{:<{}}  {:<12} {:>8} {:>8} {:>11} {:>10} {:>10} {:>9} {:>9}\n", "provider", width, "verdict", "tokens", "exact",
             "mean margin", "score", "threshold", "p", "LLR p");
  for (const auto& p : decision.decisions.providers)
    fmt::print("{:<{}}  {:<12} {:>8} {:>7.2f}% {:>11.6f} {:>10.5g} {:>10} {:>9} {:>9}\n", p.name, width, to_string(p.verdict), p.tokens,
               100 * p.exact_match, p.mean_clipped_margin, p.score, optional_text(p.threshold, "{:.5g}"),
               optional_text(p.p_value, "{:.2g}"), optional_text(p.llr_p_value, "{:.2g}"));
  fmt::print("\n");
  for (const auto& p : decision.decisions.providers) fmt::print("{}: {}\n", p.name, p.reason);
  if (!detail.per_request) return;
  fmt::print("\n{:<{}}  {:<16} {:>6} {:>8} {:>10} {:>10} {:>8} {:>8}\n", "provider", width, "request", "tokens", "exact", "score",
             "max margin", "p", "q");
  for (const auto& p : decision.decisions.providers)
    for (const auto& r : decision.decisions.requests)
      if (r.provider_id == p.provider_id)
        fmt::print("{:<{}}  {:<16} {:>6} {:>7.1f}% {:>10.5f} {:>10.4g} {:>8.3g} {:>8.3g}{}\n", p.name, width, r.external_id, r.tokens,
                   100 * r.exact_match, r.score, r.max_margin, r.p_value, r.q_value, r.flagged ? "  flagged" : "");
}

}  // namespace

int print_decision(const CaseFile& file, const CaseDecision& decision, const PipelineOptions& pipeline, const Detail& detail,
                   const GlobalOptions& options) {
  const auto& providers = decision.decisions.providers;
  if (options.json) {
    ScoreOptions score = pipeline.score;
    score.noise_sigma = decision.calibration.noise_sigma;
    const auto rows = file.providers();
    Json out{{"providers", Json::array()}, {"calibration", calibration_json(decision)}};
    for (const auto& p : providers) {
      Json row = provider_json(p);
      if (detail.per_request) row["requests_detail"] = requests_json(decision, p.provider_id);
      if (detail.per_token) {
        const auto it = std::find_if(rows.begin(), rows.end(), [&](const ProviderRow& r) { return r.id == p.provider_id; });
        if (it != rows.end()) row["tokens_detail"] = tokens_json(file, decision.run, *it, score);
      }
      out["providers"].push_back(std::move(row));
    }
    print_json(std::move(out));
  } else {
    print_table(decision, detail);
  }
  const bool failed = std::any_of(providers.begin(), providers.end(), [](const auto& p) { return p.verdict == Outcome::fail; });
  return static_cast<int>(failed ? ExitCode::fail_verdict : ExitCode::ok);
}

void add_decision_options(CLI::App& command, PipelineOptions& pipeline, Detail& detail) {
  command.add_option("--alpha", pipeline.decision.alpha, "promised false-alarm rate of a fail verdict")->check(CLI::Range(1e-9, 0.5));
  command.add_option("--request-alpha", pipeline.decision.request_alpha, "Benjamini-Hochberg level over one provider's requests")
      ->check(CLI::Range(1e-9, 0.5));
  command.add_option("--confidence", pipeline.decision.confidence, "confidence of tolerance limits")->check(CLI::Range(0.5, 0.999999));
  command.add_option("--resamples", pipeline.decision.resamples, "resamples of permutation tests")->check(CLI::Range(99, 100'000'000));
  command.add_option("--resample-seed", pipeline.decision.seed, "seed of the resampling");
  command.add_flag("--per-request", detail.per_request, "add one row per request");
  command.add_flag("--per-token", detail.per_token, "add per-token values (JSON)");
}

}  // namespace difr::app
