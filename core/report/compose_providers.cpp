#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/report/document.h"
#include "core/report/text.h"

namespace difr::report {
namespace {

const ReportCalibration* calibration_of(const ReportModel& model) {
  return model.calibrations.empty() ? nullptr : &model.calibrations.back();
}

Facts declared_facts(const ReportProvider& p) {
  const auto& c = p.config;
  Facts facts;
  const auto add = [&](std::string name, std::string value, bool mono = false) {
    if (!value.empty()) facts.rows.push_back({std::move(name), shorten(visible(value), 300), mono});
  };
  add("Log", p.source, true);
  add("Declared model", c.model);
  add("Declared engine", c.engine + (c.engine_version.empty() ? "" : " " + c.engine_version));
  add("Declared number format", c.dtype);
  add("Declared sampling", describe(c.sampling));
  std::string sampler = p.decision.sampler.empty() ? "none" : p.decision.sampler;
  if (!p.sampler_title.empty()) sampler += " (" + p.sampler_title + ")";
  if (!p.sampler_verification.empty()) sampler += "; verified by " + p.sampler_verification;
  add("Scored under sampler profile", sampler);
  return facts;
}

Facts result_facts(const ReportProvider& p) {
  const auto& d = p.decision;
  Facts facts;
  const auto add = [&](std::string name, std::string value) {
    facts.rows.push_back({std::move(name), std::move(value), false});
  };
  add("Score" + (d.statistic.empty() ? std::string() : " (" + shorten(visible(d.statistic), 80) + ")"),
      number(d.score) + (d.threshold ? "; threshold " + number(*d.threshold)
                                     : "; no threshold: the calibration cannot support the level asked for"));
  add("p-value", d.p_value ? p_text(*d.p_value) : "not available");
  std::string margin = number(d.mean_clipped_margin) + " logits";
  if (std::isfinite(p.margin_standard_error)) {
    margin += fmt::format("; 95 % interval {} to {} (requests as clusters)",
                          number(std::max(0.0, d.mean_clipped_margin - 1.96 * p.margin_standard_error)),
                          number(d.mean_clipped_margin + 1.96 * p.margin_standard_error));
  }
  add("Mean clipped margin", margin + "; clipped at " + number(d.clip));
  add("Exact match", percent(d.exact_match) + " of " + plural(d.tokens, "token", "tokens"));
  if (d.llr_score)
    add("Signed-gap likelihood ratio",
        number(*d.llr_score) + (d.llr_p_value ? "; p-value " + p_text(*d.llr_p_value) : ""));
  add("Cross-entropy", number(d.cross_entropy) + " nats per token");
  std::string set_aside;
  if (d.filtered_tokens) set_aside += plural(d.filtered_tokens, "token", "tokens") + " outside the declared filter. ";
  if (d.edge_tokens)
    set_aside += plural(d.edge_tokens, "token", "tokens") + " at the filter's edge, scored as admitted. ";
  if (d.refused_tokens)
    set_aside += plural(d.refused_tokens, "token", "tokens") + " without a finite reference, left out. ";
  if (!set_aside.empty()) add("Special tokens", set_aside);
  add("Requests", fmt::format("{} scored of {} in the case; {} flagged on their own", count(d.requests),
                              count(p.requests_total), count(p.flagged)));
  return facts;
}

std::string token_hint(const ReportToken& token, Redaction redaction) {
  std::string hint = "margin " + number(token.margin, 3);
  if (token.flags & filter_edge) hint += ", at the filter's edge";
  if (token.flags & filtered) hint += ", outside the declared filter";
  if (token.flags & interval) hint += " or more";
  if (redaction != Redaction::text && token.reference_id >= 0 && token.reference_id != token.id) {
    hint += ", reference: " + (token.reference_text.empty() ? "#" + std::to_string(token.reference_id)
                                                            : "“" + shorten(visible(token.reference_text), 40) + "”");
  }
  return hint;
}

Heat heat_of(const ReportRequest& request, double clip, Redaction redaction) {
  Heat heat;
  for (const ReportToken& token : request.tokens) {
    HeatToken cell;
    if (redaction == Redaction::text) {
      cell.text = "▢";
    } else {
      cell.text = token.text.empty() ? "#" + std::to_string(token.id) : shorten(visible(token.text), 60);
    }
    cell.share = clip > 0 && !std::isnan(token.margin) ? std::clamp(token.margin / clip, 0.0, 1.0) : 0;
    if (std::isnan(token.margin) || (token.flags & (refused | no_noise))) {
      cell.state = HeatToken::State::unscored;
    } else if (token.flags & filtered) {
      cell.state = HeatToken::State::filtered;
    } else if (token.flags & filter_edge) {
      cell.state = HeatToken::State::edge;
    }
    cell.hint = token_hint(token, redaction);
    heat.tokens.push_back(std::move(cell));
  }
  return heat;
}

void add_request(Document& document, const ReportModel& model, const ReportProvider& provider,
                 const ReportRequest& request) {
  const auto& s = request.summary;
  document.add(
      Heading{3,
              {},
              fmt::format("Request {}{}{}", shorten(visible(s.external_id), 60),
                          s.choice > 0 ? fmt::format(", choice {}", s.choice) : "", s.flagged ? " — flagged" : "")});
  document.add(
      Paragraph{fmt::format("{} ({} exact); mean clipped margin {}, largest margin {}; p-value {}, after correction "
                            "for many requests {}; seed {}.",
                            plural(static_cast<std::size_t>(std::max(0, s.output_tokens)), "token", "tokens"),
                            percent(s.exact_match), number(s.mean_margin), number(s.max_margin), p_text(s.p_value),
                            p_text(s.q_value), s.seed ? std::to_string(*s.seed) : "not logged"),
                Paragraph::Style::note});
  const auto hash = [](const std::string& hex) { return hex.empty() ? std::string("–") : hex; };
  document.add(Facts{{{"SHA-256 of the prompt's ids", hash(request.prompt_sha256), true},
                      {"SHA-256 of the output's ids", hash(request.output_sha256), true}}});
  if (model.redaction == Redaction::none && !request.prompt_text.empty()) {
    document.add(Paragraph{"Prompt: “" + shorten(visible(request.prompt_text), 600) + "”", Paragraph::Style::note});
  }
  document.add(heat_of(request, provider.decision.clip, model.redaction));
  if (request.tokens.size() < request.tokens_total) {
    document.add(Paragraph{fmt::format("Cut: the first {} of {} tokens are shown.", count(request.tokens.size()),
                                       count(request.tokens_total)),
                           Paragraph::Style::note});
  }
}

void add_provider(Document& document, const ReportModel& model, const ReportProvider& p) {
  const auto& d = p.decision;
  document.add(Heading{2, fmt::format("provider-{}", d.provider_id),
                       shorten(visible(d.name), 80) + " — " + to_string(d.verdict)});
  document.add(Paragraph{verdict_text(d.verdict) + ": " + shorten(visible(d.reason), 3000), Paragraph::Style::callout,
                         tone_of(d.verdict)});
  document.add(result_facts(p));
  if (!p.request_scores.empty()) {
    document.add(Figure{score_histogram(p, calibration_of(model)),
                        "Request scores (filled) and the calibration's (outline). The threshold is for the pooled "
                        "score, not for single requests."});
  }
  document.add(Heading{3, {}, "What was declared"});
  document.add(declared_facts(p));
  if (!p.explanations.empty()) {
    document.add(Heading{3, {}, "Explanations compared"});
    Table table{{{"Explanation", 1.4}, {"What was found", 3.6}, {"Log-likelihood", 1, true}}, {}};
    for (const auto& e : p.explanations)
      table.rows.push_back({{visible(e.kind)}, {shorten(visible(e.text), 400)}, {number(e.log_likelihood, 6)}});
    document.add(std::move(table));
  }
  if (p.requests.empty()) return;
  document.add(Paragraph{
      fmt::format("{} The darker a token, the larger its margin, up to the clip ({} logits). Tokens outside the "
                  "declared filter have a double line, tokens at its edge a single one.",
                  p.flagged == 0 ? "No request was flagged on its own; those with the highest scores are shown."
                                 : fmt::format("{} flagged; {} shown here.",
                                               p.flagged == 1 ? "1 request was" : count(p.flagged) + " requests were",
                                               count(p.requests.size())),
                  number(d.clip)),
      Paragraph::Style::normal});
  document.add(Heat{{{" 0 ", 0, HeatToken::State::scored, "margin 0"},
                     {" ¼ ", 0.25, HeatToken::State::scored, "a quarter of the clip"},
                     {" ½ ", 0.5, HeatToken::State::scored, "half the clip"},
                     {" ¾ ", 0.75, HeatToken::State::scored, "three quarters of the clip"},
                     {" clip or more ", 1, HeatToken::State::scored, "at or above the clip"}}});
  for (const auto& request : p.requests) add_request(document, model, p, request);
}

}  // namespace

void add_providers(Document& document, const ReportModel& model) {
  document.add(Heading{1, "providers", "Providers in detail"});
  const auto detailed = static_cast<std::size_t>(
      std::count_if(model.providers.begin(), model.providers.end(), [](const auto& p) { return p.detailed; }));
  if (detailed < model.providers.size()) {
    document.add(Paragraph{fmt::format("{} of {} providers are shown in detail: failed ones first, then undetermined "
                                       "ones, then the others. All are in the table and in the CSV.",
                                       count(detailed), count(model.providers.size())),
                           Paragraph::Style::note});
  }
  for (const Outcome outcome : {Outcome::fail, Outcome::undetermined, Outcome::pass}) {
    for (const auto& p : model.providers) {
      if (p.detailed && p.decision.verdict == outcome) add_provider(document, model, p);
    }
  }
}

}  // namespace difr::report
