#include <cmath>

#include <fmt/format.h>

#include "core/report/document.h"
#include "core/report/manifest.h"
#include "core/report/text.h"

namespace difr::report {
namespace {

struct Tally {
  std::size_t pass = 0, fail = 0, undetermined = 0;
};

Tally tally(const ReportModel& model) {
  Tally t;
  for (const auto& p : model.providers) {
    switch (p.decision.verdict) {
      case Outcome::pass:
        ++t.pass;
        break;
      case Outcome::fail:
        ++t.fail;
        break;
      case Outcome::undetermined:
        ++t.undetermined;
        break;
    }
  }
  return t;
}

std::string reference_name(const ReferenceEnvironment& r) {
  std::string out = r.model_name.empty() ? "model not named" : shorten(visible(r.model_name), 80);
  if (!r.weights_digest.empty()) out += ", weights digest " + shorten(visible(r.weights_digest), 12);
  return out;
}

std::string coverage_sentence(const ReportModel& model) {
  std::size_t decided = 0, total = 0, tokens = 0, rejected = 0;
  for (const auto& p : model.providers)
    decided += p.decision.requests, total += p.requests_total, tokens += p.decision.tokens;
  for (const auto& s : model.sources) rejected += static_cast<std::size_t>(s.row.rejected);
  std::string text =
      fmt::format("The verdicts rest on {} with {}, recomputed token by token on a trusted reference ({}).",
                  plural(decided, "request", "requests"), plural(tokens, "output token", "output tokens"),
                  reference_name(model.reference));
  if (decided < total)
    text += fmt::format(" {} of {} requests in the case could not be scored and are not part of any verdict.",
                        count(total - decided), count(total));
  if (rejected > 0)
    text += fmt::format(" Left out because unreadable: {} of the logs, listed in the section on sources.",
                        plural(rejected, "record", "records"));
  return text;
}

/// One provider's result for a reader who will read no further.
std::string plain_result(const ReportProvider& p) {
  const auto& d = p.decision;
  if (d.verdict == Outcome::undetermined) return shorten(visible(d.reason), 600);
  std::string text =
      fmt::format("{} of its {} tokens are the ones that the reference picks", percent(d.exact_match), count(d.tokens));
  if (d.threshold && *d.threshold > 0) {
    const double ratio = d.score / *d.threshold;
    text += fmt::format("; its score is {} times the threshold", number(ratio, 3));
    if (ratio > 0.8 && ratio < 1.25) text += ", so close that a second sample is advisable";
  }
  if (d.p_value) text += fmt::format(" (p\u00a0{}{})", *d.p_value < 1e-4 ? "" : "=\u00a0", p_text(*d.p_value));
  return text + ".";
}

void add_findings(Document& document, const ReportModel& model, Outcome outcome, std::string_view lead) {
  constexpr std::size_t shown = 12;
  List list;
  std::size_t n = 0;
  for (const auto& p : model.providers) {
    if (p.decision.verdict != outcome) continue;
    if (++n <= shown) list.items.push_back({shorten(visible(p.decision.name), 80) + ".", plain_result(p)});
  }
  if (n == 0) return;
  document.add(Paragraph{std::string(lead)});
  document.add(std::move(list));
  if (n > shown)
    document.add(
        Paragraph{fmt::format("… and {} more; see the table of verdicts.", count(n - shown)), Paragraph::Style::note});
}

}  // namespace

Tone tone_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass:
      return Tone::pass;
    case Outcome::fail:
      return Tone::fail;
    case Outcome::undetermined:
      break;
  }
  return Tone::undetermined;
}

std::string verdict_text(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass:
      return "●\u00a0pass";
    case Outcome::fail:
      return "◆\u00a0fail";
    case Outcome::undetermined:
      break;
  }
  return "■\u00a0undetermined";
}

void add_summary(Document& document, const ReportModel& model) {
  document.add(Heading{1, "summary", "Summary"});
  const Tally t = tally(model);
  document.add(Scoreboard{{{count(t.pass), "● pass", Tone::pass},
                           {count(t.fail), "◆ fail", Tone::fail},
                           {count(t.undetermined), "■ undetermined", Tone::undetermined}}});
  const std::size_t n = model.providers.size();
  std::string lead =
      n == 1 ? "One provider configuration was examined: it " + std::string(t.pass   ? "passed."
                                                                            : t.fail ? "failed."
                                                                                     : "remains undetermined.")
             : fmt::format("Of {}, {} passed, {} failed and {} undetermined.",
                           plural(n, "provider configuration", "provider configurations"), count(t.pass), count(t.fail),
                           t.undetermined == 0   ? "none is"
                           : t.undetermined == 1 ? "1 is"
                                                 : count(t.undetermined) + " are");
  document.add(Paragraph{std::move(lead), Paragraph::Style::lead});
  document.add(Paragraph{
      "The question was whether each provider ran the model, the weights and the sampling that it declared. Every "
      "token in its logs was "
      "compared with what a trusted reference would have produced under the declared settings and the logged seed."});
  add_findings(document, model, Outcome::fail, "Outputs that the declared configuration does not explain:");
  add_findings(document, model, Outcome::undetermined, "No conclusion could be drawn for:");
  add_findings(document, model, Outcome::pass, "No more mismatch than trusted runs show:");
  document.add(Paragraph{coverage_sentence(model)});
  if (!model.undecided.empty()) {
    document.add(Paragraph{
        fmt::format("{} in the case without a decision: {}{}.",
                    model.undecided.size() == 1 ? "One provider is" : count(model.undecided.size()) + " providers are",
                    shorten(visible(model.undecided.front()), 60), model.undecided.size() > 1 ? " and others" : ""),
        Paragraph::Style::callout, Tone::undetermined});
  }
  document.add(
      Paragraph{"A fail says that the outputs differ from the declared configuration by more than the calibration "
                "allows. It does not say why: a different "
                "model, fewer bits, another sampler, a fault, or a wrong declaration can all look alike. A pass says "
                "that no such difference was "
                "found in this sample. See “What this does not show”.",
                Paragraph::Style::callout});
  constexpr std::size_t chart_rows = 30;
  Chart chart = verdict_chart(model.providers, chart_rows);
  if (!chart.points.empty()) {
    std::string caption = "Score of each provider as a multiple of its own threshold. ● pass, ◆ fail, ■ undetermined.";
    if (chart.points.size() < n)
      caption += fmt::format(" {} of {} providers are drawn (the first {} that have a threshold).",
                             count(chart.points.size()), count(n), chart_rows);
    document.add(Figure{std::move(chart), std::move(caption)});
  }
}

void add_verdict_table(Document& document, const ReportModel& model) {
  document.add(Heading{1, "verdicts", "Verdicts"});
  Table table;
  table.columns = {{"Provider", 70},
                   {"Requests", 44, true},
                   {"Tokens", 38, true},
                   {"Exact match", 42, true},
                   {"Mean clipped margin ± s.e.", 80, true},
                   {"Score", 40, true},
                   {"Threshold", 49, true},
                   {"p‑value", 46, true},
                   {"Verdict", 78}};
  for (const auto& p : model.providers) {
    if (table.rows.size() == model.limits.provider_rows) break;
    const auto& d = p.decision;
    const std::string unit = score_unit(d) == "logits" ? "" : "\u00a0×";
    std::string margin = number(d.mean_clipped_margin, 3);
    if (std::isfinite(p.margin_standard_error)) margin += "\u00a0±\u00a0" + number(p.margin_standard_error, 2);
    table.rows.push_back(
        {{shorten(d.name, 80), Tone::neutral, p.detailed ? fmt::format("provider-{}", d.provider_id) : ""},
         {d.requests == p.requests_total ? count(d.requests) : count(d.requests) + " of " + count(p.requests_total)},
         {count(d.tokens)},
         {percent(d.exact_match)},
         {margin},
         {number(d.score, 3) + unit},
         {d.threshold ? number(*d.threshold, 3) + unit : "–"},
         {d.p_value ? p_text(*d.p_value) : "–"},
         {verdict_text(d.verdict), tone_of(d.verdict)}});
  }
  const std::size_t shown = table.rows.size();
  document.add(std::move(table));
  std::string note =
      "Margins, scores and thresholds are in logits; those with × are multiples of what honest noise predicts, because "
      "the calibration was sampled otherwise. s.e.: standard error of the mean, with requests as clusters. “–”: not "
      "available, or the "
      "calibration is too small to support it.";
  if (shown < model.providers.size()) {
    note += fmt::format(
        " The table is cut: {} of {} providers are shown; the CSV that goes with this report holds all of them.",
        count(shown), count(model.providers.size()));
  }
  document.add(Paragraph{std::move(note), Paragraph::Style::note});
}

Document compose(const ReportModel& model) {
  Document document;
  document.title = model.title;
  document.subject = model.subject;
  document.byline = model.auditor;
  document.created_at = model.created_at;
  document.software = model.software;
  document.logo_png = model.logo_png;
  document.manifest = manifest_json(model);
  add_summary(document, model);
  add_verdict_table(document, model);
  add_providers(document, model);
  add_calibrations(document, model);
  add_sources(document, model);
  add_reference(document, model);
  add_method(document, model);
  add_limits(document, model);
  add_manifest(document, model);
  return document;
}

}  // namespace difr::report
