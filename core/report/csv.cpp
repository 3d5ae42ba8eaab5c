#include "core/report/csv.h"

#include <fmt/format.h>

#include <cmath>

#include "core/report/report_model.h"
#include "core/report/text.h"

namespace difr::report {

std::string csv_text(std::string_view bytes) {
  std::string text = visible(bytes);
  // A spreadsheet runs cells that start like a formula; a leading apostrophe makes them text.
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos)
    text.insert(text.begin(), '\'');
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string csv_number(double value) {
  if (std::isnan(value)) return "";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{}", value);
}

}  // namespace difr::report

namespace difr {

std::string report_csv(const ReportModel& model) {
  using report::csv_number;
  using report::csv_text;
  std::string out =
      "provider,verdict,requests,requests_in_case,tokens,sampler,exact_match,mean_clipped_margin,mean_clipped_margin_"
      "se,clip,statistic,score,threshold,p_value,"
      "llr_score,llr_p_value,cross_entropy,filtered_tokens,edge_tokens,refused_tokens,flagged_requests,source,"
      "reason\r\n";
  const auto optional = [](const std::optional<double>& v) { return v ? csv_number(*v) : std::string(); };
  for (const auto& p : model.providers) {
    const auto& d = p.decision;
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\r\n", csv_text(d.name),
                       to_string(d.verdict), d.requests, p.requests_total, d.tokens, csv_text(d.sampler),
                       csv_number(d.exact_match), csv_number(d.mean_clipped_margin),
                       csv_number(p.margin_standard_error), csv_number(d.clip), csv_text(d.statistic),
                       csv_number(d.score), optional(d.threshold), optional(d.p_value), optional(d.llr_score),
                       optional(d.llr_p_value), csv_number(d.cross_entropy), d.filtered_tokens, d.edge_tokens,
                       d.refused_tokens, p.flagged, csv_text(p.source), csv_text(d.reason));
  }
  return out;
}

}  // namespace difr
