// The cairo back end of the charts: the same marks as the SVG.

#include <numbers>

#include "core/report/pdf_canvas.h"

namespace difr::report {
namespace {

void trace(cairo_t* cr, const Mark& mark) {
  const auto [x, y] = mark.points.front();
  switch (mark.kind) {
    case Mark::Kind::line:
      cairo_move_to(cr, x, y);
      for (const auto& [px, py] : mark.points) cairo_line_to(cr, px, py);
      break;
    case Mark::Kind::rect:
      cairo_rectangle(cr, x, y, mark.points.back().first - x, mark.points.back().second - y);
      break;
    case Mark::Kind::circle:
      cairo_arc(cr, x, y, mark.width, 0, 2 * std::numbers::pi);
      break;
    case Mark::Kind::diamond: {
      const double r = mark.width * 1.3;
      cairo_move_to(cr, x, y - r);
      cairo_line_to(cr, x + r, y);
      cairo_line_to(cr, x, y + r);
      cairo_line_to(cr, x - r, y);
      cairo_close_path(cr);
      break;
    }
    case Mark::Kind::square:
      cairo_rectangle(cr, x - mark.width, y - mark.width, 2 * mark.width, 2 * mark.width);
      break;
    case Mark::Kind::text:
      break;
  }
}

}  // namespace

void PdfCanvas::chart(const Chart& chart, double x, double y, double scale) const {
  cairo_t* cr = cr_.get();
  cairo_save(cr);
  cairo_translate(cr, x, y);
  cairo_scale(cr, scale, scale);
  for (const Mark& mark : layout(chart)) {
    if (mark.points.empty()) continue;
    const Colour c = colour_of(mark.ink);
    if (mark.kind == Mark::Kind::text) {
      const Layout label = text(mark.text, {mark.width, c}, -1);
      pango_layout_set_width(label.get(), -1);
      PangoRectangle extents;
      pango_layout_get_extents(label.get(), nullptr, &extents);
      const double width = static_cast<double>(extents.width) / PANGO_SCALE;
      const double shift = mark.anchor == Mark::Anchor::start    ? 0
                           : mark.anchor == Mark::Anchor::middle ? width / 2
                                                                 : width;
      const double baseline = static_cast<double>(pango_layout_get_baseline(label.get())) / PANGO_SCALE;
      draw(label, mark.points.front().first - shift, mark.points.front().second - baseline, c);
      continue;
    }
    cairo_set_source_rgb(cr, c.r, c.g, c.b);
    cairo_new_path(cr);  // text leaves a current point behind
    trace(cr, mark);
    if (mark.kind == Mark::Kind::line) {
      const double dashes[] = {5, 3};
      cairo_set_dash(cr, dashes, mark.dashed ? 2 : 0, 0);
      cairo_set_line_width(cr, mark.width);
      cairo_stroke(cr);
    } else {
      cairo_fill(cr);
    }
  }
  cairo_set_dash(cr, nullptr, 0, 0);
  cairo_restore(cr);
}

}  // namespace difr::report
