// Tables that break over pages with their header repeated, and the token heat.

#include <algorithm>

#include "core/report/pdf_canvas.h"
#include "core/report/text.h"

namespace difr::report {
namespace {

constexpr double cell_pad = 3, row_pad = 3.2;
constexpr double most_row_height = 260;  // a longer cell is ellipsised: a row must fit on a page

struct TableFrame {
  std::vector<double> x, width;
};

TableFrame frame_of(const Table& table) {
  double sum = 0;
  for (const auto& column : table.columns) sum += column.weight;
  TableFrame frame;
  double x = page::left;
  for (const auto& column : table.columns) {
    const double width = page::text_width * column.weight / sum;
    frame.x.push_back(x);
    frame.width.push_back(width);
    x += width;
  }
  return frame;
}

TextStyle style_of(const Column& column, Tone tone, bool header) {
  TextStyle style{column.mono && !header ? 6.3 : 6.9, header ? grey : colour_of(tone)};
  style.mono = column.mono && !header;
  style.bold = header || tone != Tone::neutral;
  style.align = column.right ? PANGO_ALIGN_RIGHT : PANGO_ALIGN_LEFT;
  style.line_spacing = 1.08;
  return style;
}

double draw_row(PdfCanvas& canvas, const Table& table, const TableFrame& frame, const std::vector<Cell>& row,
                bool header, bool measure) {
  std::vector<Layout> cells;
  double height = 0;
  const std::size_t n = std::min(row.size(), table.columns.size());
  for (std::size_t i = 0; i < n; ++i) {
    Layout cell = canvas.text(visible(row[i].text), style_of(table.columns[i], row[i].tone, header),
                              frame.width[i] - 2 * cell_pad);
    if (PdfCanvas::height(cell) > most_row_height) {
      pango_layout_set_height(cell.get(), static_cast<int>(most_row_height * PANGO_SCALE));
      pango_layout_set_ellipsize(cell.get(), PANGO_ELLIPSIZE_END);
    }
    height = std::max(height, PdfCanvas::height(cell));
    cells.push_back(std::move(cell));
  }
  if (measure) return height + 2 * row_pad;
  for (std::size_t i = 0; i < n; ++i) {
    const Colour colour = !row[i].link.empty() ? link_blue : header ? grey : colour_of(row[i].tone);
    canvas.begin_link(row[i].link);
    canvas.draw(cells[i], frame.x[i] + cell_pad, canvas.y() + row_pad, colour);
    canvas.end_link(row[i].link);
  }
  canvas.skip(height + 2 * row_pad);
  canvas.line(page::left, canvas.y(), page::left + page::text_width, canvas.y(), header ? black : rule,
              header ? 0.9 : 0.5);
  return height + 2 * row_pad;
}

}  // namespace

void draw_table(PdfCanvas& canvas, const Table& table) {
  const TableFrame frame = frame_of(table);
  std::vector<Cell> header;
  for (const auto& column : table.columns) header.push_back({column.title});
  const double header_height = draw_row(canvas, table, frame, header, true, true);
  bool open = false;
  for (const auto& row : table.rows) {
    const double height = draw_row(canvas, table, frame, row, false, true);
    const double wanted = height + (open ? 0 : header_height);
    if (canvas.y() + wanted > page::end) {
      canvas.new_page();
      open = false;
    }
    if (!open) draw_row(canvas, table, frame, header, true, false);
    open = true;
    draw_row(canvas, table, frame, row, false, false);
  }
  if (table.rows.empty()) draw_row(canvas, table, frame, header, true, false);
  canvas.skip(8);
}

void draw_facts(PdfCanvas& canvas, const Facts& facts) {
  constexpr double name_width = 138;
  for (const auto& row : facts.rows) {
    TextStyle value_style{row.mono ? 7.2 : 8.2, black};
    value_style.mono = row.mono;
    const Layout name = canvas.text(visible(row.name), {8.2, grey}, name_width - cell_pad);
    const Layout value = canvas.text(visible(row.value), value_style, page::text_width - name_width);
    const double height = std::max(PdfCanvas::height(name), PdfCanvas::height(value)) + 2 * 2.6;
    canvas.need(std::min(height, 400.0));
    canvas.draw(name, page::left, canvas.y() + 2.6, grey);
    canvas.draw(value, page::left + name_width, canvas.y() + 2.6, black);
    canvas.skip(height);
    canvas.line(page::left, canvas.y(), page::left + page::text_width, canvas.y(), rule, 0.4);
  }
  canvas.skip(8);
}

void draw_heat(PdfCanvas& canvas, const Heat& heat) {
  std::string all;
  PangoAttrList* attributes = pango_attr_list_new();
  const auto add = [&](PangoAttribute* attribute, std::size_t from) {
    attribute->start_index = static_cast<guint>(from);
    attribute->end_index = static_cast<guint>(all.size());
    pango_attr_list_insert(attributes, attribute);
  };
  const auto channel = [](double value) { return static_cast<guint16>(std::clamp(value, 0.0, 1.0) * 65535); };
  for (const auto& token : heat.tokens) {
    const std::size_t from = all.size();
    all += visible(token.text);
    if (token.share > 0) {  // paper is white: the vermilion is mixed with it here
      const double a = 0.10 + 0.65 * token.share;
      add(pango_attr_background_new(channel(1 - a * (1 - 0.835)), channel(1 - a * (1 - 0.369)), channel(1 - a)), from);
    }
    switch (token.state) {
      case HeatToken::State::filtered: {
        add(pango_attr_underline_new(PANGO_UNDERLINE_DOUBLE), from);
        const Colour c = colour_of(Ink::fail);
        add(pango_attr_underline_color_new(channel(c.r), channel(c.g), channel(c.b)), from);
        break;
      }
      case HeatToken::State::edge:
        add(pango_attr_underline_new(PANGO_UNDERLINE_SINGLE), from);
        break;
      case HeatToken::State::unscored:
        add(pango_attr_foreground_new(channel(grey.r), channel(grey.g), channel(grey.b)), from);
        add(pango_attr_style_new(PANGO_STYLE_ITALIC), from);
        break;
      case HeatToken::State::scored:
        break;
    }
  }
  TextStyle style{8.4, black};
  style.line_spacing = 1.4;
  const Layout layout = canvas.text(all, style, page::text_width - 16, attributes);
  pango_attr_list_unref(attributes);
  canvas.need(24);
  canvas.skip(2);
  canvas.flow(layout, page::left + 8, black);
  canvas.skip(8);
}

}  // namespace difr::report
