#pragma once
// Charts as data. One layout turns a chart into drawing marks; the SVG and the cairo back end only draw marks, so that
// page and PDF show the same.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/report/report_model.h"

namespace difr::report {

/// Roles, not colours: each back end maps them to a colour-blind-safe palette (Okabe-Ito).
enum class Ink : std::uint8_t { grid, axis, text, muted, bar, trusted, threshold, pass, fail, undetermined };

struct Tick {
  double value = 0;
  std::string label;
};

struct Bar {
  double x0 = 0, x1 = 0, y = 0;
};

struct Line {
  std::vector<std::pair<double, double>> points;
  Ink ink = Ink::trusted;
  bool dashed = false;
};

/// A vertical line over the full height, labelled at its top.
struct Threshold {
  double x = 0;
  std::string label;
  Ink ink = Ink::threshold;
  bool dashed = true;
};

struct Point {
  double x = 0, y = 0;
  Ink ink = Ink::bar;
};

struct LegendEntry {
  std::string label;
  Ink ink = Ink::bar;
  bool filled = false;
};

/// Data coordinates are linear; a compressed axis is made by whoever fills in the ticks.
struct Chart {
  std::string description;  ///< read out by screen readers
  std::string x_label, y_label;
  double x_min = 0, x_max = 1, y_min = 0, y_max = 1;
  std::vector<Tick> x_ticks, y_ticks;
  std::vector<Bar> bars;
  std::vector<Line> lines;
  std::vector<Threshold> thresholds;
  std::vector<Point> points;
  std::vector<LegendEntry> legend;
  double width = 640, height = 230;
  double left_margin = 56;
};

/// What a back end draws, in chart units (points in the PDF, user units in the SVG), y down.
struct Mark {
  enum class Kind : std::uint8_t { line, rect, circle, diamond, square, text };
  enum class Anchor : std::uint8_t { start, middle, end };
  Kind kind = Kind::line;
  Ink ink = Ink::axis;
  std::vector<std::pair<double, double>> points;  ///< line: vertices; rect: two corners; others: the centre or baseline
  double width = 1;                               ///< of lines; radius of symbols; font size of text
  bool dashed = false;
  Anchor anchor = Anchor::start;
  std::string text;
};

[[nodiscard]] std::vector<Mark> layout(const Chart& chart);

/// Request scores of a provider (bars) against its calibration (stepped outline). Either may be empty.
[[nodiscard]] Chart score_histogram(const ReportProvider& provider, const ReportCalibration* calibration);

/// Score of each provider as a multiple of its own threshold; empty when none has one. At most `rows` providers.
[[nodiscard]] Chart verdict_chart(std::span<const ReportProvider> providers, std::size_t rows);

/// What a decision's score is measured in, for axes and tables.
[[nodiscard]] std::string score_unit(const ProviderDecision& decision);

/// Scores of the trusted requests in the statistic of the provider's decision; empty when there are none.
[[nodiscard]] std::span<const double> trusted_scores(const ReportProvider& provider,
                                                     const ReportCalibration* calibration);

/// Counts of a histogram, for the JSON too.
struct Histogram {
  std::vector<double> edges;  ///< bins + 1, ascending, in score units
  std::vector<std::size_t> provider, calibration;
  bool compressed = false;  ///< asinh-spaced bins
  double scale = 1;         ///< of the asinh
};
[[nodiscard]] Histogram histogram(std::span<const double> provider, std::span<const double> calibration, double mark);

/// The bins that score_histogram draws.
[[nodiscard]] Histogram score_counts(const ReportProvider& provider, const ReportCalibration* calibration);

[[nodiscard]] std::string render_svg(const Chart& chart);

}  // namespace difr::report
