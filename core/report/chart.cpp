#include "core/report/chart.h"

#include <algorithm>
#include <cmath>

namespace difr::report {
namespace {

constexpr double font_size = 9;
constexpr double top_margin = 30, bottom_margin = 38, right_margin = 14;

/// Pixel frame of the plot area.
struct Frame {
  const Chart& chart;
  double left, right, top, bottom;

  [[nodiscard]] double x(double value) const { return map(value, chart.x_min, chart.x_max, left, right); }
  [[nodiscard]] double y(double value) const { return map(value, chart.y_min, chart.y_max, bottom, top); }

 private:
  static double map(double value, double from, double to, double a, double b) {
    const double span = to > from ? to - from : 1;
    return a + std::clamp((value - from) / span, 0.0, 1.0) * (b - a);
  }
};

Mark text_mark(double x, double y, std::string text, Mark::Anchor anchor, Ink ink = Ink::text,
               double size = font_size) {
  return {Mark::Kind::text, ink, {{x, y}}, size, false, anchor, std::move(text)};
}

Mark line_mark(std::vector<std::pair<double, double>> points, Ink ink, double width, bool dashed = false) {
  return {Mark::Kind::line, ink, std::move(points), width, dashed, Mark::Anchor::start, {}};
}

void add_axes(const Frame& f, std::vector<Mark>& out) {
  for (const Tick& tick : f.chart.y_ticks) {
    const double y = f.y(tick.value);
    out.push_back(line_mark({{f.left, y}, {f.right, y}}, Ink::grid, 0.6));
    out.push_back(text_mark(f.left - 6, y + 3, tick.label, Mark::Anchor::end));
  }
  for (const Tick& tick : f.chart.x_ticks) {
    const double x = f.x(tick.value);
    out.push_back(line_mark({{x, f.bottom}, {x, f.bottom + 4}}, Ink::axis, 0.8));
    out.push_back(text_mark(x, f.bottom + 14, tick.label, Mark::Anchor::middle));
  }
  out.push_back(line_mark({{f.left, f.bottom}, {f.right, f.bottom}}, Ink::axis, 1));
  out.push_back(text_mark((f.left + f.right) / 2, f.bottom + 30, f.chart.x_label, Mark::Anchor::middle, Ink::muted));
  out.push_back(text_mark(4, 12, f.chart.y_label, Mark::Anchor::start, Ink::muted));
}

void add_legend(const Frame& f, std::vector<Mark>& out) {
  // Widths are not measured here (the layout knows no font): a generous estimate keeps entries apart.
  double x = f.right;
  for (auto entry = f.chart.legend.rbegin(); entry != f.chart.legend.rend(); ++entry) {
    const auto chars = std::count_if(entry->label.begin(), entry->label.end(),
                                     [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    x -= static_cast<double>(chars) * font_size * 0.58 + 8;
    out.push_back(text_mark(x, 12, entry->label, Mark::Anchor::start));
    x -= 18;
    if (entry->filled) {
      out.push_back({Mark::Kind::rect, entry->ink, {{x, 5}, {x + 13, 13}}, 0, false, Mark::Anchor::start, {}});
    } else {
      out.push_back(line_mark({{x, 9}, {x + 13, 9}}, entry->ink, 1.8, entry->ink == Ink::threshold));
    }
    x -= 10;
  }
}

void add_thresholds(const Frame& f, std::vector<Mark>& out) {
  double label_y = f.top + 6;
  for (const Threshold& threshold : f.chart.thresholds) {
    const double x = f.x(threshold.x);
    out.push_back(line_mark({{x, f.top - 2}, {x, f.bottom}}, threshold.ink, 1.4, threshold.dashed));
    const bool flip = x > (f.left + f.right) / 2;
    out.push_back(text_mark(x + (flip ? -4 : 4), label_y, threshold.label,
                            flip ? Mark::Anchor::end : Mark::Anchor::start, threshold.ink));
    label_y += 12;  // lines may stand close together
  }
}

Mark::Kind symbol(Ink ink) {  // the shape carries the verdict too, for readers who cannot tell the colours apart
  if (ink == Ink::fail) return Mark::Kind::diamond;
  return ink == Ink::undetermined ? Mark::Kind::square : Mark::Kind::circle;
}

}  // namespace

std::vector<Mark> layout(const Chart& chart) {
  const Frame f{chart, chart.left_margin, chart.width - right_margin, top_margin, chart.height - bottom_margin};
  std::vector<Mark> out;
  add_axes(f, out);
  for (const Bar& bar : chart.bars) {
    if (bar.y <= 0) continue;
    out.push_back({Mark::Kind::rect,
                   Ink::bar,
                   {{f.x(bar.x0), f.y(bar.y)}, {f.x(bar.x1), f.bottom}},
                   0,
                   false,
                   Mark::Anchor::start,
                   {}});
  }
  for (const Line& line : chart.lines) {
    std::vector<std::pair<double, double>> points;
    points.reserve(line.points.size());
    for (const auto& [x, y] : line.points) points.emplace_back(f.x(x), f.y(y));
    out.push_back(line_mark(std::move(points), line.ink, 1.6, line.dashed));
  }
  add_thresholds(f, out);
  for (const Point& point : chart.points) {
    out.push_back({symbol(point.ink), point.ink, {{f.x(point.x), f.y(point.y)}}, 4, false, Mark::Anchor::start, {}});
  }
  add_legend(f, out);
  return out;
}

}  // namespace difr::report
