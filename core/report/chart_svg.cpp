#include <fmt/format.h>

#include <iterator>

#include "core/report/chart.h"
#include "core/report/text.h"

namespace difr::report {
namespace {

/// Colours come from the page's style sheet, so that light, dark and print each get their own.
const char* style_class(Ink ink) {
  switch (ink) {
    case Ink::grid:
      return "i-grid";
    case Ink::axis:
      return "i-axis";
    case Ink::text:
      return "i-text";
    case Ink::muted:
      return "i-muted";
    case Ink::bar:
      return "i-bar";
    case Ink::trusted:
      return "i-trusted";
    case Ink::threshold:
      return "i-threshold";
    case Ink::pass:
      return "i-pass";
    case Ink::fail:
      return "i-fail";
    case Ink::undetermined:
      break;
  }
  return "i-undetermined";
}

std::string path_of(const Mark& mark) {
  std::string d;
  for (std::size_t i = 0; i < mark.points.size(); ++i) {
    d += fmt::format("{}{:.2f} {:.2f}", i == 0 ? "M" : "L", mark.points[i].first, mark.points[i].second);
  }
  return d;
}

void append(std::string& out, const Mark& mark) {
  if (mark.points.empty()) return;
  const auto it = std::back_inserter(out);
  const char* ink = style_class(mark.ink);
  const auto [x, y] = mark.points.front();
  switch (mark.kind) {
    case Mark::Kind::line:
      fmt::format_to(it, R"(<path class="{} stroke" d="{}" stroke-width="{:.1f}"{}/>)", ink, path_of(mark), mark.width,
                     mark.dashed ? R"( stroke-dasharray="5 3")" : "");
      break;
    case Mark::Kind::rect: {
      const auto [x1, y1] = mark.points.back();
      fmt::format_to(it, R"(<rect class="{} fill" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>)", ink, x, y,
                     x1 - x, y1 - y);
      break;
    }
    case Mark::Kind::circle:
      fmt::format_to(it, R"(<circle class="{} fill" cx="{:.2f}" cy="{:.2f}" r="{:.1f}"/>)", ink, x, y, mark.width);
      break;
    case Mark::Kind::diamond: {
      const double r = mark.width * 1.3;
      fmt::format_to(it, R"(<path class="{} fill" d="M{:.2f} {:.2f}l{:.2f} {:.2f}l{:.2f} {:.2f}l{:.2f} {:.2f}z"/>)",
                     ink, x, y - r, r, r, -r, r, -r, -r);
      break;
    }
    case Mark::Kind::square:
      fmt::format_to(it, R"(<rect class="{} fill" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>)", ink,
                     x - mark.width, y - mark.width, 2 * mark.width, 2 * mark.width);
      break;
    case Mark::Kind::text: {
      const char* anchor = mark.anchor == Mark::Anchor::start    ? "start"
                           : mark.anchor == Mark::Anchor::middle ? "middle"
                                                                 : "end";
      fmt::format_to(it,
                     R"(<text class="{} label" x="{:.2f}" y="{:.2f}" font-size="{:.1f}" text-anchor="{}">{}</text>)",
                     ink, x, y, mark.width, anchor, escape_xml(visible(mark.text)));
      break;
    }
  }
  out += '\n';
}

}  // namespace

std::string render_svg(const Chart& chart) {
  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img" aria-label="{2}">)",
      chart.width, chart.height, escape_xml(visible(chart.description)));
  out += '\n';
  for (const Mark& mark : layout(chart)) append(out, mark);
  return out + "</svg>";
}

}  // namespace difr::report
