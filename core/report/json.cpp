#include <algorithm>
#include <span>

#include "core/report/chart.h"
#include "core/report/json_out.h"
#include "core/util/sha256.h"

namespace difr::report {
namespace {

std::string digest_of(std::span<const double> values) {
  return sha256_hex({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

Json numbers(std::span<const double> values) {
  Json out = Json::array();
  for (const double v : values) out.push_back(num(v));
  return out;
}

Json request_json(const ReportRequest& r, Redaction redaction) {
  const auto& s = r.summary;
  Json out = {{"id", str(s.external_id)},
              {"request_id", s.id},
              {"choice", s.choice},
              {"prompt_tokens", s.prompt_tokens},
              {"tokens", s.output_tokens},
              {"exact_match", num(s.exact_match)},
              {"score", num(s.mean_margin)},
              {"max_margin", num(s.max_margin)},
              {"cross_entropy", num(s.cross_entropy)},
              {"p_value", num(s.p_value)},
              {"q_value", num(s.q_value)},
              {"flagged", s.flagged},
              {"seed", s.seed ? Json(*s.seed) : Json(nullptr)},
              {"prompt_sha256", r.prompt_sha256},
              {"output_sha256", r.output_sha256}};
  if (redaction == Redaction::none) out["prompt_text"] = str(r.prompt_text);
  out["tokens_shown"] = r.tokens.size();
  out["tokens_total"] = r.tokens_total;
  Json tokens = Json::array();
  for (const auto& t : r.tokens) {
    Json token = {{"margin", num(t.margin)}, {"flags", t.flags}};
    if (redaction != Redaction::text) {
      token["id"] = t.id;
      token["reference_id"] = t.reference_id;
      token["text"] = str(t.text);
      if (!t.reference_text.empty()) token["reference_text"] = str(t.reference_text);
    }
    tokens.push_back(std::move(token));
  }
  out["tokens_detail"] = std::move(tokens);
  return out;
}

Json histogram_json(const ReportProvider& p, const ReportCalibration* calibration) {
  const Histogram h = score_counts(p, calibration);
  return {{"edges", numbers(h.edges)}, {"provider", h.provider}, {"calibration", h.calibration}};
}

Json provider_json(const ReportProvider& p, const ReportModel& model) {
  const auto& d = p.decision;
  Json out = {{"name", str(d.name)},
              {"requests", d.requests},
              {"requests_in_case", p.requests_total},
              {"tokens", d.tokens},
              {"sampler", str(d.sampler)},
              {"exact_match", num(d.exact_match)},
              {"mean_clipped_margin", num(d.mean_clipped_margin)},
              {"mean_clipped_margin_se", num(p.margin_standard_error)},
              {"clip", num(d.clip)},
              {"statistic", str(d.statistic)},
              {"score", num(d.score)},
              {"threshold", num(d.threshold)},
              {"p_value", num(d.p_value)},
              {"llr_score", num(d.llr_score)},
              {"llr_p_value", num(d.llr_p_value)},
              {"cross_entropy", num(d.cross_entropy)},
              {"filtered_tokens", d.filtered_tokens},
              {"edge_tokens", d.edge_tokens},
              {"refused_tokens", d.refused_tokens},
              {"verdict", to_string(d.verdict)},
              {"reason", str(d.reason)},
              {"flagged_requests", p.flagged},
              {"request_scores_sha256", digest_of(p.request_scores)},
              {"source", str(p.source)},
              {"declared",
               {{"model", str(p.config.model)},
                {"engine", str(p.config.engine)},
                {"engine_version", str(p.config.engine_version)},
                {"sampler", str(p.config.sampler)},
                {"dtype", str(p.config.dtype)},
                {"sampling", to_json(p.config.sampling)}}}};
  if (!p.detailed) return out;
  out["histogram"] = histogram_json(p, model.calibrations.empty() ? nullptr : &model.calibrations.back());
  Json requests = Json::array();
  for (const auto& r : p.requests) requests.push_back(request_json(r, model.redaction));
  out["requests_detail"] = std::move(requests);
  Json explanations = Json::array();
  for (const auto& e : p.explanations)
    explanations.push_back({{"kind", str(e.kind)}, {"text", str(e.text)}, {"log_likelihood", num(e.log_likelihood)}});
  out["explanations"] = std::move(explanations);
  return out;
}

}  // namespace

Json to_json(const SamplingParams& s) {
  Json bias = Json::array();
  for (const auto& [id, value] : s.logit_bias) bias.push_back({id, num(value)});
  return {{"temperature", num(s.temperature)},
          {"top_p", num(s.top_p)},
          {"top_k", s.top_k},
          {"min_p", num(s.min_p)},
          {"repetition_penalty", num(s.repetition_penalty)},
          {"frequency_penalty", num(s.frequency_penalty)},
          {"presence_penalty", num(s.presence_penalty)},
          {"min_tokens", s.min_tokens},
          {"logit_bias", std::move(bias)},
          {"allowed_token_ids", s.allowed_token_ids},
          {"stop_token_ids", s.stop_token_ids}};
}

Json to_json(const ReferenceEnvironment& r) {
  return {{"model", str(r.model_name)}, {"weights_digest", str(r.weights_digest)}, {"dtype", str(r.dtype)},
          {"device", str(r.device)},    {"engine", str(r.engine_build)},           {"variant", str(r.variant)},
          {"threads", r.threads},       {"batch_tokens", r.batch_tokens}};
}

Json to_json(const ReportSource& s) {
  return {{"path", str(s.row.path)},     {"sha256", str(s.row.sha256)}, {"size", s.row.size},
          {"format", str(s.row.format)}, {"accepted", s.row.accepted},  {"rejected", s.row.rejected},
          {"complete", s.row.complete},  {"issues", s.issues}};
}

Json to_json(const DecisionOptions& o) {
  return {{"alpha", num(o.alpha)},
          {"warn_alpha", num(o.warn_alpha)},
          {"transfer_tolerance", num(o.transfer_tolerance)},
          {"request_alpha", num(o.request_alpha)},
          {"confidence", num(o.confidence)},
          {"clip_quantile", num(o.clip_quantile)},
          {"resamples", o.resamples},
          {"seed", o.seed}};
}

Json to_json(const ReportLimits& l) {
  return {{"provider_rows", l.provider_rows},
          {"detailed_providers", l.detailed_providers},
          {"requests_per_provider", l.requests_per_provider},
          {"tokens_per_request", l.tokens_per_request},
          {"sources", l.sources},
          {"issues", l.issues}};
}

Json calibration_facts(const ReportCalibration& c) {
  Json providers = Json::array();
  for (const auto& p : c.providers) providers.push_back(str(p));
  return {{"name", str(c.name)},
          {"providers", std::move(providers)},
          {"environment", str(c.environment)},
          {"sampling", to_json(c.sampling)},
          {"requests", c.requests},
          {"tokens", c.tokens},
          {"clip", num(c.clip)},
          {"noise_sigma", num(c.noise_sigma)},
          {"sha256", c.sha256}};
}

Json report_tree(const ReportModel& model) {
  Json out = {{"schema_version", 1},
              {"kind", "difr-report"},
              {"title", str(model.title)},
              {"subject", str(model.subject)},
              {"auditor", str(model.auditor)},
              {"created_at", str(model.created_at)},
              {"software", str(model.software)},
              {"redaction", to_string(model.redaction)},
              {"limits", to_json(model.limits)},
              {"parameters", to_json(model.parameters)}};
  Json providers = Json::array();
  for (const auto& p : model.providers) providers.push_back(provider_json(p, model));
  out["providers"] = std::move(providers);
  Json undecided = Json::array();
  for (const auto& name : model.undecided) undecided.push_back(str(name));
  out["undecided"] = std::move(undecided);
  Json calibrations = Json::array();
  for (const auto& c : model.calibrations) {
    Json entry = calibration_facts(c);
    Json digests = Json::object();
    for (const auto& [statistic, scores] : c.request_scores) digests[clean_utf8(statistic)] = digest_of(scores);
    entry["request_scores_sha256"] = std::move(digests);
    calibrations.push_back(std::move(entry));
  }
  out["calibrations"] = std::move(calibrations);
  Json sources = Json::array();
  for (const auto& s : model.sources) sources.push_back(to_json(s));
  out["sources"] = std::move(sources);
  Json issues = Json::array();
  for (const auto& i : model.issues) {
    issues.push_back({{"source", str(i.source)},
                      {"record", i.issue.record},
                      {"byte_offset", i.issue.byte_offset},
                      {"rejected", i.issue.rejected},
                      {"kind", str(i.issue.kind)},
                      {"message", str(i.issue.message)},
                      {"remedy", str(i.issue.remedy)}});
  }
  out["issues"] = std::move(issues);
  out["issues_total"] = model.issues_total;
  out["reference"] = to_json(model.reference);
  out["run"] = {{"created_at", str(model.run_created_at)},
                {"state", str(model.run_state)},
                {"requests_done", model.run_requests_done},
                {"requests_total", model.run_requests_total}};
  return out;
}

}  // namespace difr::report

namespace difr {

const char* to_string(Redaction redaction) {
  switch (redaction) {
    case Redaction::none:
      return "none";
    case Redaction::prompts:
      return "prompts";
    case Redaction::text:
      break;
  }
  return "text";
}

std::string report_json(const ReportModel& model) {
  return report::report_tree(model).dump(1) + "\n";
}

}  // namespace difr
