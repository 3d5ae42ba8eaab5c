// What the verdicts rest on: calibration, sources, reference, manifest.

#include <fmt/format.h>

#include <cmath>

#include "core/report/document.h"
#include "core/report/manifest.h"
#include "core/report/text.h"

namespace difr::report {
namespace {

std::string join(const std::vector<std::string>& parts, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < parts.size() && i < most; ++i) out += (i ? ", " : "") + shorten(visible(parts[i]), 80);
  if (parts.size() > most) out += fmt::format(" and {} more", count(parts.size() - most));
  return out;
}

}  // namespace

std::string describe(const SamplingParams& s) {
  std::string out = s.greedy() ? "greedy (temperature 0)" : "temperature " + setting(s.temperature);
  if (s.top_p < 1) out += ", top-p " + setting(s.top_p);
  if (s.top_k > 0) out += ", top-k " + std::to_string(s.top_k);
  if (s.min_p > 0) out += ", min-p " + setting(s.min_p);
  if (s.repetition_penalty != 1) out += ", repetition penalty " + setting(s.repetition_penalty);
  if (s.frequency_penalty != 0) out += ", frequency penalty " + setting(s.frequency_penalty);
  if (s.presence_penalty != 0) out += ", presence penalty " + setting(s.presence_penalty);
  if (s.min_tokens > 0) out += ", at least " + std::to_string(s.min_tokens) + " tokens";
  if (!s.logit_bias.empty()) out += ", logit bias on " + plural(s.logit_bias.size(), "token", "tokens");
  if (!s.allowed_token_ids.empty()) out += ", restricted to " + plural(s.allowed_token_ids.size(), "token", "tokens");
  return out;
}

void add_calibrations(Document& document, const ReportModel& model) {
  document.add(Heading{1, "calibration", "Calibration"});
  if (model.calibrations.empty()) {
    document.add(Paragraph{"The case holds no calibration: no threshold and no p-value could be given."});
    return;
  }
  document.add(
      Paragraph{"The calibration is the distribution of scores of runs that are trusted to be honest. It decides how "
                "much difference is ordinary. Everything in this "
                "report stands or falls with it."});
  for (const auto& c : model.calibrations) {
    document.add(Heading{2, fmt::format("calibration-{}", &c - model.calibrations.data()),
                         c.name.empty() ? "Calibration" : shorten(visible(c.name), 80)});
    Facts facts;
    facts.rows = {
        {"Trusted logs", c.providers.empty() ? "not named" : join(c.providers, 12)},
        {"Sampling of the trusted runs", describe(c.sampling)},
        {"Size", plural(c.requests, "request", "requests") + ", " + plural(c.tokens, "token", "tokens")},
        {"Clip of the margin", number(c.clip) + " logits"},
        {"Honest noise of a logit", number(c.noise_sigma) + " (standard deviation, fitted)"},
        {"Reference environment", c.environment.empty() ? "not recorded" : shorten(visible(c.environment), 300)},
        {"SHA-256 of its scores", c.sha256, true}};
    document.add(std::move(facts));
    if (c.requests > 0) {
      const double alpha = model.parameters.alpha, delta = 1 - model.parameters.confidence;
      const double needed = std::ceil(std::log(delta) / std::log1p(-alpha));
      document.add(
          Paragraph{fmt::format("With {} trusted requests the smallest p-value that one request can have is {}. A "
                                "distribution-free threshold for a false-alarm rate of {} per request with "
                                "confidence {} would need {} trusted requests.",
                                count(c.requests), number(1.0 / static_cast<double>(c.requests + 1)), setting(alpha),
                                setting(model.parameters.confidence),
                                std::isfinite(needed) && needed > 0 ? count(static_cast<std::size_t>(needed)) : "–"),
                    Paragraph::Style::note});
    }
  }
}

void add_sources(Document& document, const ReportModel& model) {
  document.add(Heading{1, "sources", "Sources and coverage"});
  document.add(Paragraph{
      "The files below are what the case was made from. The SHA-256 is of the bytes as they lay on disk at import."});
  Table table{{{"File", 2.2, false, true},
               {"SHA-256", 3.4, false, true},
               {"Bytes", 1, true},
               {"Accepted", 0.95, true},
               {"Rejected", 0.95, true}},
              {}};
  for (const auto& s : model.sources) {
    if (table.rows.size() == model.limits.sources) break;
    table.rows.push_back({{shorten(s.row.path, 160) + (s.row.complete ? "" : " (import not finished)")},
                          {s.row.sha256},
                          {count(static_cast<std::size_t>(std::max<std::int64_t>(0, s.row.size)))},
                          {count(static_cast<std::size_t>(std::max<std::int64_t>(0, s.row.accepted)))},
                          {count(static_cast<std::size_t>(std::max<std::int64_t>(0, s.row.rejected))),
                           s.row.rejected > 0 ? Tone::undetermined : Tone::neutral}});
  }
  const std::size_t shown = table.rows.size();
  document.add(std::move(table));
  if (shown < model.sources.size()) {
    document.add(Paragraph{fmt::format("Cut: {} of {} sources are shown; the report's JSON holds all of them.",
                                       count(shown), count(model.sources.size())),
                           Paragraph::Style::note});
  }
  if (model.issues_total == 0) {
    document.add(Paragraph{"No record was rejected or found remarkable at import."});
    return;
  }
  document.add(Heading{2, "issues", "Records rejected or remarkable"});
  Table issues{{{"File", 1.6, false, true}, {"Record", 0.8, true}, {"Finding", 1.6}, {"What and remedy", 4}}, {}};
  for (const auto& i : model.issues) {
    issues.rows.push_back({{shorten(i.source, 100)},
                           {i.issue.record < 0 ? "file" : std::to_string(i.issue.record)},
                           {i.issue.kind + (i.issue.rejected ? " (rejected)" : " (kept)")},
                           {shorten(i.issue.message + (i.issue.remedy.empty() ? "" : ". " + i.issue.remedy), 300)}});
  }
  document.add(std::move(issues));
  if (model.issues.size() < model.issues_total) {
    document.add(Paragraph{fmt::format("Cut: {} of {} findings are shown; the case file holds all of them.",
                                       count(model.issues.size()), count(model.issues_total)),
                           Paragraph::Style::note});
  }
}

void add_reference(Document& document, const ReportModel& model) {
  document.add(Heading{1, "reference", "Reference"});
  const auto& r = model.reference;
  const auto known = [](const std::string& s) {
    return s.empty() ? std::string("not recorded") : shorten(visible(s), 200);
  };
  Facts facts;
  facts.rows = {
      {"Model", known(r.model_name)},
      {"Weights digest (SHA-256)", known(r.weights_digest), true},
      {"Number format", known(r.dtype)},
      {"Device", known(r.device)},
      {"Engine", known(r.engine_build)},
      {"Variant of the weights", r.variant.empty() ? "as published" : visible(r.variant)},
      {"Threads; tokens per batch", fmt::format("{}; {}", r.threads, r.batch_tokens)},
      {"Recomputed", fmt::format("{} of {} requests; state: {}; started {}", model.run_requests_done,
                                 model.run_requests_total, known(model.run_state), known(model.run_created_at))},
      {"Program", model.software}};
  document.add(std::move(facts));
}

void add_manifest(Document& document, const ReportModel& model) {
  document.add(Heading{1, "manifest", "Appendix: manifest"});
  document.add(
      Paragraph{"Everything needed to check this report: hashes of the sources, weights digest, sampler profiles, "
                "calibration, versions, parameters, and the hash of "
                "the report's JSON, which holds every number. “difr-audit verify-report” re-checks it; with the case "
                "file it recomputes the report and names what differs."});
  document.add(Code{manifest_excerpt(model)});
}

}  // namespace difr::report
