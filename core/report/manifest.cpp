#include "core/report/manifest.h"

#include <set>

#include "core/report/json_out.h"
#include "core/util/sha256.h"

namespace difr::report {
namespace {

Json manifest_tree(const ReportModel& model) {
  Json sources = Json::array();
  for (const auto& s : model.sources)
    sources.push_back({{"path", str(s.row.path)}, {"sha256", str(s.row.sha256)}, {"size", s.row.size}});
  std::set<std::string> samplers;
  for (const auto& p : model.providers) samplers.insert(clean_utf8(p.decision.sampler));
  Json calibrations = Json::array();
  for (const auto& c : model.calibrations) calibrations.push_back(calibration_facts(c));
  return {{"schema_version", 1},
          {"kind", "difr-report-manifest"},
          {"title", str(model.title)},
          {"created_at", str(model.created_at)},
          {"software", str(model.software)},
          {"redaction", to_string(model.redaction)},
          {"reference", to_json(model.reference)},
          {"sampler_profiles", samplers},
          {"calibrations", std::move(calibrations)},
          {"parameters", to_json(model.parameters)},
          {"audit_trail", {{"rows", model.trail_rows}, {"head", model.trail_head}}},
          {"logo_sha256", model.logo_png.empty() ? Json() : Json(sha256_hex(model.logo_png))},
          {"sources", std::move(sources)},
          {"report_json_sha256", sha256_hex(report_json(model))}};
}

}  // namespace

std::string manifest_json(const ReportModel& model) {
  return manifest_tree(model).dump();
}

std::string manifest_excerpt(const ReportModel& model) {
  Json tree = manifest_tree(model);
  auto& sources = tree["sources"];
  if (sources.size() > model.limits.sources) {
    const std::size_t all = sources.size();
    sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(model.limits.sources), sources.end());
    sources.push_back("cut: " + std::to_string(model.limits.sources) + " of " + std::to_string(all) + " shown");
  }
  return tree.dump(2);
}

}  // namespace difr::report
