#pragma once
// Pages, text and boxes on a PDF surface (cairo and pango); knows nothing of reports. Units are points.

#include <cairo-pdf.h>
#include <pango/pangocairo.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/report/chart.h"
#include "core/report/document.h"

namespace difr::report {

struct Colour {
  double r = 0, g = 0, b = 0;
};

namespace page {
constexpr double width = 595.276, height = 841.89;  // A4
constexpr double left = 54, right = 54, top = 66, bottom = 62;
constexpr double text_width = width - left - right;
constexpr double end = height - bottom;
}  // namespace page

constexpr Colour black{0.11, 0.13, 0.15}, grey{0.36, 0.4, 0.44}, rule{0.82, 0.85, 0.88}, soft{0.957, 0.965, 0.973},
    link_blue{0, 0.345, 0.56};
[[nodiscard]] Colour colour_of(Ink ink);
[[nodiscard]] Colour colour_of(Tone tone);

struct TextStyle {
  double size = 9.2;
  Colour colour = black;
  bool bold = false, italic = false, mono = false;
  PangoAlignment align = PANGO_ALIGN_LEFT;
  double line_spacing = 1.22;
};

struct GObjectUnref {
  void operator()(void* object) const { g_object_unref(object); }
};
using Layout = std::unique_ptr<PangoLayout, GObjectUnref>;

/// Where the headings ended up, for the table of contents of the second pass.
struct PageMap {
  std::map<std::string, int> page_of;
  int pages = 0;
};

class PdfCanvas {
 public:
  /// `known` are the pages found by the pass before; empty in the first.
  PdfCanvas(const Document& document, PageMap known);

  [[nodiscard]] cairo_t* cr() const { return cr_.get(); }
  [[nodiscard]] const PageMap& known() const { return known_; }

  /// Text is cleaned here; attributes given must refer to the cleaned text.
  [[nodiscard]] Layout text(std::string_view raw, const TextStyle& style, double width,
                            PangoAttrList* attributes = nullptr) const;
  [[nodiscard]] static double height(const Layout& layout);
  void draw(const Layout& layout, double x, double y, Colour colour) const;
  /// Draws line by line from the cursor, over as many pages as it takes.
  void flow(const Layout& layout, double x, Colour colour);

  void fill(double x, double y, double width, double height, Colour colour) const;
  void line(double x0, double y0, double x1, double y1, Colour colour, double width = 0.6) const;
  void chart(const Chart& chart, double x, double y, double scale) const;
  void image_png(std::string_view bytes, double right, double y, double max_width, double max_height) const;

  /// Starts a new page when less than `height` is left.
  void need(double height);
  void new_page();
  void skip(double height) { y_ += height; }
  double y() const { return y_; }
  void set_y(double y) { y_ = y; }

  /// A link target that the outline lists under its parent (level 1 or 2).
  void begin_target(const std::string& id, int level, const std::string& title);
  void end_target();
  void begin_link(const std::string& id);
  void end_link(const std::string& id);

  /// Ends the document. Throws difr::Error when cairo reports a fault.
  std::string finish(PageMap& found);

 private:
  void furniture();

  struct SurfaceDestroy {
    void operator()(cairo_surface_t* s) const { cairo_surface_destroy(s); }
  };
  struct CairoDestroy {
    void operator()(cairo_t* c) const { cairo_destroy(c); }
  };

  const Document& document_;
  PageMap known_, found_;
  std::set<std::string> targets_;
  std::string bytes_;
  std::unique_ptr<cairo_surface_t, SurfaceDestroy> surface_;
  std::unique_ptr<cairo_t, CairoDestroy> cr_;
  std::unique_ptr<PangoFontMap, GObjectUnref> fonts_;
  std::unique_ptr<PangoContext, GObjectUnref> context_;
  double y_ = page::top;
  int page_ = 1;
  int section_outline_ = 0;
};

void draw_table(PdfCanvas& canvas, const Table& table);
void draw_facts(PdfCanvas& canvas, const Facts& facts);
void draw_heat(PdfCanvas& canvas, const Heat& heat);

}  // namespace difr::report
