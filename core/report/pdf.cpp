// Document to PDF: two passes, the first to learn on which pages the headings land.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/report/document.h"
#include "core/report/pdf_canvas.h"
#include "core/report/text.h"
#include "core/util/write_file.h"

namespace difr::report {
namespace {

PangoAttrList* bold_until(std::size_t end) {
  PangoAttrList* attributes = pango_attr_list_new();
  PangoAttribute* bold = pango_attr_weight_new(PANGO_WEIGHT_BOLD);
  bold->start_index = 0;
  bold->end_index = static_cast<guint>(end);
  pango_attr_list_insert(attributes, bold);
  return attributes;
}

class PdfWriter {
 public:
  explicit PdfWriter(PdfCanvas& canvas) : canvas_(canvas) {}

  void cover(const Document& document) {
    if (!document.logo_png.empty()) canvas_.image_png(document.logo_png, page::width - page::right, 60, 150, 60);
    canvas_.set_y(150);
    TextStyle title{24, black};
    title.bold = true;
    title.line_spacing = 1.1F;
    canvas_.flow(canvas_.text(visible(document.title), title, page::text_width), page::left, black);
    canvas_.skip(8);
    if (!document.subject.empty())
      canvas_.flow(canvas_.text(visible(document.subject), {13, black}, page::text_width), page::left, black);
    canvas_.skip(6);
    const std::string byline =
        document.byline + (document.byline.empty() || document.created_at.empty() ? "" : " · ") + document.created_at;
    canvas_.flow(canvas_.text(visible(byline), {9.5, grey}, page::text_width), page::left, grey);
    canvas_.skip(26);
    canvas_.line(page::left, canvas_.y(), page::width - page::right, canvas_.y(), black, 1.4);
    canvas_.skip(24);
    contents(document);
    canvas_.new_page();
  }

  void operator()(const Heading& h) {
    const bool provider = h.id.starts_with("provider-");
    canvas_.need(h.id == "providers"  ? 440
                 : h.id == "verdicts" ? 190
                 : h.level == 1       ? 150
                 : provider           ? 330
                 : h.level == 2       ? 110
                                      : 120);
    canvas_.skip(canvas_.y() <= page::top ? 0 : h.level == 1 ? 20 : h.level == 2 ? 14 : 8);
    TextStyle style{h.level == 1 ? 16.0 : h.level == 2 ? 12.0 : 9.6, black};
    style.bold = true;
    const Layout layout = canvas_.text(visible(h.text), style, page::text_width);
    if (h.level == 1 && canvas_.y() > page::top)
      canvas_.line(page::left, canvas_.y() - 6, page::width - page::right, canvas_.y() - 6, rule, 0.8);
    if (!h.id.empty()) canvas_.begin_target(h.id, h.level, h.text);
    canvas_.draw(layout, page::left, canvas_.y(), black);
    if (!h.id.empty()) canvas_.end_target();
    canvas_.skip(PdfCanvas::height(layout) + (h.level == 1 ? 7 : 4));
  }

  void operator()(const Paragraph& p) {
    if (p.style == Paragraph::Style::callout) return callout(p);
    TextStyle style;
    if (p.style == Paragraph::Style::lead) style.size = 12;
    if (p.style == Paragraph::Style::note) style.size = 7.6, style.colour = grey;
    canvas_.flow(canvas_.text(visible(p.text), style, page::text_width), page::left, style.colour);
    canvas_.skip(p.style == Paragraph::Style::note ? 5 : 7);
  }

  void operator()(const List& list) {
    for (const auto& item : list.items) {
      const std::string lead = visible(item.lead);
      PangoAttrList* attributes = bold_until(lead.size());
      const Layout layout = canvas_.text(lead + (lead.empty() ? "" : " ") + visible(item.text), TextStyle{},
                                         page::text_width - 14, attributes);
      pango_attr_list_unref(attributes);
      canvas_.need(std::min(PdfCanvas::height(layout), 60.0));
      canvas_.draw(canvas_.text("•", TextStyle{}, 12), page::left + 2, canvas_.y() + 1, grey);
      canvas_.flow(layout, page::left + 14, black);
      canvas_.skip(4);
    }
    canvas_.skip(4);
  }

  void operator()(const Scoreboard& board) {
    constexpr double gap = 10, height = 42;
    const auto n = static_cast<double>(board.entries.size());
    const double width = (page::text_width - gap * (n - 1)) / n;
    canvas_.need(height + 12);
    double x = page::left;
    for (const auto& e : board.entries) {
      const Colour colour = colour_of(e.tone);
      canvas_.fill(x, canvas_.y(), width, height, soft);
      canvas_.fill(x, canvas_.y(), width, 3, colour);
      TextStyle figure{17, black};
      figure.bold = true;
      const Layout number = canvas_.text(visible(e.figure), figure, width);
      canvas_.draw(number, x + 10, canvas_.y() + 11, black);
      PangoRectangle extents;
      pango_layout_get_extents(number.get(), nullptr, &extents);
      canvas_.draw(canvas_.text(visible(e.label), {9.5, colour}, width),
                   x + 18 + static_cast<double>(extents.width) / PANGO_SCALE, canvas_.y() + 18, colour);
      x += width + gap;
    }
    canvas_.skip(height + 12);
  }

  void operator()(const Table& table) { draw_table(canvas_, table); }
  void operator()(const Facts& facts) { draw_facts(canvas_, facts); }
  void operator()(const Heat& heat) { draw_heat(canvas_, heat); }

  void operator()(const Figure& figure) {
    constexpr double scale = 0.88;
    Chart chart = figure.chart;
    chart.width = page::text_width / scale;
    canvas_.need(chart.height * scale + 24);
    canvas_.chart(chart, page::left, canvas_.y(), scale);
    canvas_.skip(chart.height * scale + 2);
    (*this)(Paragraph{figure.caption, Paragraph::Style::note});
    canvas_.skip(4);
  }

  void operator()(const Code& code) {
    TextStyle style{6.6, black};
    style.mono = true;
    canvas_.flow(canvas_.text(clean_utf8(code.text), style, page::text_width), page::left, black);
    canvas_.skip(8);
  }

 private:
  void callout(const Paragraph& p) {
    const Layout layout = canvas_.text(visible(p.text), TextStyle{}, page::text_width - 26);
    const double height = PdfCanvas::height(layout) + 14;
    if (height > 500) {  // does not fit a box: plain text breaks over pages
      canvas_.flow(layout, page::left + 13, black);
      return canvas_.skip(8);
    }
    canvas_.need(height + 6);
    canvas_.fill(page::left, canvas_.y(), page::text_width, height, soft);
    canvas_.fill(page::left, canvas_.y(), 3.5, height, p.tone == Tone::neutral ? grey : colour_of(p.tone));
    canvas_.draw(layout, page::left + 14, canvas_.y() + 7, black);
    canvas_.skip(height + 9);
  }

  void contents(const Document& document) {
    for (const auto& block : document.blocks) {
      const auto* h = std::get_if<Heading>(&block);
      if (!h || h->id.empty() || h->level > 2) continue;
      const double indent = h->level == 1 ? 0 : 14;
      TextStyle style{h->level == 1 ? 10.0 : 8.8, h->level == 1 ? black : grey};
      TextStyle right = style;
      right.align = PANGO_ALIGN_RIGHT;
      const auto found = canvas_.known().page_of.find(h->id);
      const Layout title = canvas_.text(visible(h->text), style, page::text_width - indent - 40);
      pango_layout_set_height(title.get(), -1);
      pango_layout_set_ellipsize(title.get(), PANGO_ELLIPSIZE_END);
      canvas_.skip(h->level == 1 ? 3 : 0);
      canvas_.need(16);
      canvas_.begin_link(h->id);
      canvas_.draw(title, page::left + indent, canvas_.y(), style.colour);
      canvas_.draw(canvas_.text(found == canvas_.known().page_of.end() ? "" : std::to_string(found->second), right, 36),
                   page::width - page::right - 36, canvas_.y(), style.colour);
      canvas_.end_link(h->id);
      canvas_.skip(PdfCanvas::height(title) + 2.5);
    }
  }

  PdfCanvas& canvas_;
};

std::string one_pass(const Document& document, const PageMap& known, PageMap& found) {
  PdfCanvas canvas(document, known);
  PdfWriter writer(canvas);
  writer.cover(document);
  for (const auto& block : document.blocks) std::visit(writer, block);
  return canvas.finish(found);
}

}  // namespace

std::string render_pdf(const Document& document) {
  PageMap pages, final_pages;
  one_pass(document, {}, pages);
  return one_pass(document, pages, final_pages);
}

}  // namespace difr::report

namespace difr {

std::string render_pdf(const ReportModel& model) {
  return report::render_pdf(report::compose(model));
}

void write_pdf(const ReportModel& model, const std::filesystem::path& path) {
  write_file(path, render_pdf(model));
}

}  // namespace difr
