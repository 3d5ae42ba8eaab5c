#pragma once
// Building blocks of the report's JSON. Private to core/report: nlohmann stays out of the public headers.

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/report/report_model.h"
#include "core/report/text.h"

namespace difr::report {

using Json = nlohmann::ordered_json;

/// JSON has no NaN or infinity: null and "inf", as in every JSON of the programs.
inline Json num(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}
inline Json num(const std::optional<double>& value) {
  return value ? num(*value) : Json(nullptr);
}
inline Json str(std::string_view bytes) {
  return clean_utf8(bytes);
}

[[nodiscard]] Json to_json(const SamplingParams& sampling);
[[nodiscard]] Json to_json(const ReferenceEnvironment& environment);
[[nodiscard]] Json to_json(const ReportSource& source);
[[nodiscard]] Json to_json(const DecisionOptions& options);
[[nodiscard]] Json to_json(const ReportLimits& limits);
[[nodiscard]] Json calibration_facts(const ReportCalibration& calibration);
[[nodiscard]] Json report_tree(const ReportModel& model);

}  // namespace difr::report
