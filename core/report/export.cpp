#include "core/report/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/report/case_scores.h"
#include "core/report/csv.h"
#include "core/report/json_out.h"
#include "core/util/error.h"

namespace difr {
namespace {

using report::csv_number;
using report::csv_text;
using report::Json;

struct Row {
  const ProviderRow& provider;
  const Claim& claim;
  const RequestSummary& summary;
  const TokenScores& scores;  ///< empty when the request was not scored
};

double unless_unknown(std::int32_t rank) {
  return rank < 0 ? std::numeric_limits<double>::quiet_NaN() : rank;
}

std::string request_csv(const Row& r) {
  const auto& s = r.summary;
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\r\n", csv_text(r.provider.config.name),
                     csv_text(r.claim.external_id), r.claim.choice, s.prompt_tokens, s.output_tokens,
                     r.claim.seed ? std::to_string(*r.claim.seed) : "", csv_number(s.exact_match),
                     csv_number(s.mean_margin), csv_number(s.max_margin), csv_number(s.cross_entropy),
                     csv_number(s.p_value), csv_number(s.q_value), s.flagged ? 1 : 0);
}

std::string tokens_csv(const Row& r) {
  std::string out;
  const auto& s = r.scores;
  for (std::size_t t = 0; t < s.size(); ++t) {
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\r\n", csv_text(r.provider.config.name),
                       csv_text(r.claim.external_id), r.claim.choice, t, r.claim.output.at(t), s.reference_token[t],
                       s.flags[t] & exact_match ? 1 : 0, csv_number(s.margin[t]), csv_number(s.margin_hi[t]),
                       csv_number(s.gap[t]), csv_number(s.log_prob[t]), s.logit_rank[t], s.gumbel_rank[t],
                       csv_number(s.filter_distance[t]), csv_number(s.runner_up[t]), s.flags[t]);
  }
  return out;
}

Json request_object(const Row& r) {
  const auto& s = r.summary;
  return {{"provider", report::str(r.provider.config.name)},
          {"id", report::str(r.claim.external_id)},
          {"choice", r.claim.choice},
          {"prompt_tokens", s.prompt_tokens},
          {"tokens", s.output_tokens},
          {"seed", r.claim.seed ? Json(*r.claim.seed) : Json()},
          {"exact_match", report::num(s.exact_match)},
          {"mean_margin", report::num(s.mean_margin)},
          {"max_margin", report::num(s.max_margin)},
          {"cross_entropy", report::num(s.cross_entropy)},
          {"p_value", report::num(s.p_value)},
          {"q_value", report::num(s.q_value)},
          {"flagged", s.flagged}};
}

std::string tokens_json(const Row& r) {
  Json out = request_object(r);
  const auto numbers = [](const std::vector<float>& values) {
    Json array = Json::array();
    for (const float v : values) array.push_back(report::num(v));
    return array;
  };
  const auto& s = r.scores;
  out["token_ids"] = r.claim.output;
  out["reference_token_ids"] = s.reference_token;
  out["margin"] = numbers(s.margin);
  out["margin_hi"] = numbers(s.margin_hi);
  out["gap"] = numbers(s.gap);
  out["log_prob"] = numbers(s.log_prob);
  out["logit_rank"] = s.logit_rank;
  out["gumbel_rank"] = s.gumbel_rank;
  out["flags"] = s.flags;
  return out.dump() + "\n";
}

/// Python's json reads and writes bare NaN and Infinity.
std::string python_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

/// One sequence of the public layout. Tokens without a finite reference have no values there and are left out.
std::string difr_sequence(const Row& r) {
  std::string out = "[";
  const auto& s = r.scores;
  for (std::size_t t = 0; t < s.size(); ++t) {
    if (s.flags[t] & (refused | no_noise)) continue;
    const bool outside = s.flags[t] & filtered;
    const double margin = outside ? std::numeric_limits<double>::infinity() : s.margin[t];
    const double rank = outside
                            ? std::numeric_limits<double>::infinity()
                            : std::max(0.0, s.gumbel_rank[t] < 0 ? unless_unknown(s.logit_rank[t]) : s.gumbel_rank[t]);
    out += fmt::format(R"({}{{"exact_match": {}, "prob": {}, "margin": {}, "logit_rank": {}, "gumbel_rank": {}}})",
                       out.size() > 1 ? ", " : "", s.flags[t] & exact_match ? "true" : "false",
                       python_number(std::exp(static_cast<double>(s.log_prob[t]))), python_number(margin),
                       python_number(s.logit_rank[t]), python_number(rank));
  }
  return out + "]";
}

std::string difr_config(const ProviderRow& provider, const RunRow& run) {
  const auto& c = provider.config;
  const Json config = {{"provider", report::str(c.name)},
                       {"trusted_model_name", report::str(run.environment.model_name)},
                       {"claimed_model_name", report::str(c.model)},
                       {"weights_digest", report::str(run.environment.weights_digest)},
                       {"reference_dtype", report::str(run.environment.dtype)},
                       {"sampler", report::str(c.sampler)},
                       {"sampling_temperature", report::num(c.sampling.temperature)},
                       {"sampling_top_p", report::num(c.sampling.top_p)},
                       {"verification_top_p", report::num(c.sampling.top_p)},
                       {"top_k", c.sampling.top_k},
                       {"min_p", report::num(c.sampling.min_p)}};
  return config.dump();
}

class Exporter {
 public:
  Exporter(const CaseFile& file, ExportKind kind, const ExportSink& sink) : file_(file), kind_(kind), sink_(sink) {
    const auto run = file.latest_run();
    if (!run)
      throw bad_input(file.path().string(), "holds no recomputation, so there are no scores to export",
                      "run recompute first");
    run_ = *run;
    const auto calibrations = file.calibrations();
    if (!calibrations.empty()) noise_sigma_ = calibrations.back().noise_sigma;
    for (const auto& d : file.decisions()) samplers_[d.provider_id] = d.sampler;
  }

  std::int64_t run(const std::vector<ProviderRow>& providers) {
    if (kind_ == ExportKind::requests_csv)
      sink_(
          "provider,id,choice,prompt_tokens,tokens,seed,exact_match,mean_margin,max_margin,cross_entropy,p_value,q_"
          "value,flagged\r\n");
    if (kind_ == ExportKind::tokens_csv) {
      sink_(
          "provider,id,choice,position,token_id,reference_token_id,exact_match,margin,margin_hi,gap,log_prob,logit_"
          "rank,gumbel_rank,filter_distance,runner_up,flags\r\n");
    }
    if (kind_ == ExportKind::difr_results) sink_(R"({"scores": [)");
    for (const auto& provider : providers) one(provider);
    if (kind_ == ExportKind::difr_results) sink_(R"(], "config": )" + difr_config(providers.front(), run_) + "}\n");
    return written_;
  }

 private:
  void one(const ProviderRow& provider) {
    const auto decided = samplers_.find(provider.id);
    const std::string sampler = decided != samplers_.end()          ? decided->second
                                : provider.config.sampling.greedy() ? "greedy"
                                                                    : provider.config.sampler;
    file_.for_each_claim(provider.id, [&](Claim&& claim) {
      const auto summary = file_.request_summary(claim.id);
      const bool by_token = kind_ != ExportKind::requests_csv && kind_ != ExportKind::requests_json;
      const auto scores =
          by_token ? report::decided_scores(file_, run_.id, claim, sampler, noise_sigma_) : std::nullopt;
      if (!summary || (by_token && (!scores || scores->size() != claim.output.size()))) return true;
      sink_(text_of({provider, claim, *summary, scores ? *scores : TokenScores{}}));
      ++written_;
      return true;
    });
  }

  std::string text_of(const Row& row) const {
    switch (kind_) {
      case ExportKind::requests_csv:
        return request_csv(row);
      case ExportKind::requests_json:
        return request_object(row).dump() + "\n";
      case ExportKind::tokens_csv:
        return tokens_csv(row);
      case ExportKind::tokens_json:
        return tokens_json(row);
      case ExportKind::difr_results:
        break;
    }
    return (written_ > 0 ? ", " : "") + difr_sequence(row);
  }

  const CaseFile& file_;
  ExportKind kind_;
  const ExportSink& sink_;
  RunRow run_;
  double noise_sigma_ = 0;
  std::map<std::int64_t, std::string> samplers_;
  std::int64_t written_ = 0;
};

}  // namespace

std::int64_t export_scores(const CaseFile& file, ExportKind kind, const ExportOptions& options,
                           const ExportSink& sink) {
  std::vector<ProviderRow> providers;
  for (auto& row : file.providers()) {
    const bool named =
        std::find(options.provider_ids.begin(), options.provider_ids.end(), row.id) != options.provider_ids.end();
    if (options.provider_ids.empty() ? row.role == ProviderRole::subject : named) providers.push_back(std::move(row));
  }
  if (providers.empty())
    throw bad_input(file.path().string(), "holds no such provider", "list them with the decide command");
  if (kind == ExportKind::difr_results && providers.size() != 1) {
    throw Error(ExitCode::usage, "provider", "the DiFR results layout holds one provider a file", "name one provider");
  }
  return Exporter(file, kind, sink).run(providers);
}

}  // namespace difr
