#include "core/report/pdf_canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/report/text.h"
#include "core/util/error.h"

namespace difr::report {
namespace {

cairo_status_t append_bytes(void* closure, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

struct PngReader {
  std::string_view bytes;
  std::size_t at = 0;
};

cairo_status_t read_png(void* closure, unsigned char* data, unsigned int length) {
  auto* reader = static_cast<PngReader*>(closure);
  if (reader->bytes.size() - reader->at < length) return CAIRO_STATUS_READ_ERROR;
  std::memcpy(data, reader->bytes.data() + reader->at, length);
  reader->at += length;
  return CAIRO_STATUS_SUCCESS;
}

void set_source(cairo_t* cr, Colour c) {
  cairo_set_source_rgb(cr, c.r, c.g, c.b);
}

}  // namespace

Colour colour_of(Ink ink) {
  switch (ink) {
    case Ink::grid:
      return {0.835, 0.855, 0.878};
    case Ink::axis:
    case Ink::muted:
      return grey;
    case Ink::text:
    case Ink::trusted:
      return black;
    case Ink::bar:
      return {0.337, 0.706, 0.914};
    case Ink::threshold:
    case Ink::fail:
      return {0.702, 0.278, 0};
    case Ink::pass:
      return {0, 0.451, 0.353};
    case Ink::undetermined:
      break;
  }
  return {0.416, 0.318, 0.639};
}

Colour colour_of(Tone tone) {
  switch (tone) {
    case Tone::pass:
      return colour_of(Ink::pass);
    case Tone::fail:
      return colour_of(Ink::fail);
    case Tone::undetermined:
      return colour_of(Ink::undetermined);
    case Tone::muted:
      return grey;
    case Tone::neutral:
      break;
  }
  return black;
}

PdfCanvas::PdfCanvas(const Document& document, PageMap known) : document_(document), known_(std::move(known)) {
  surface_.reset(cairo_pdf_surface_create_for_stream(&append_bytes, &bytes_, page::width, page::height));
  cr_.reset(cairo_create(surface_.get()));
  fonts_.reset(pango_cairo_font_map_new());
  context_.reset(pango_font_map_create_context(fonts_.get()));
  // Without hinting, text measures the same at every zoom and on every screen configuration.
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  pango_cairo_context_set_font_options(context_.get(), options);
  cairo_font_options_destroy(options);
  pango_context_set_round_glyph_positions(context_.get(), FALSE);  // rounding to whole points spaces letters unevenly
  pango_context_set_language(context_.get(), pango_language_from_string("en"));

  const auto metadata = [&](cairo_pdf_metadata_t key, const std::string& value) {
    cairo_pdf_surface_set_metadata(surface_.get(), key, visible(value).c_str());
  };
  metadata(CAIRO_PDF_METADATA_TITLE, document.title);
  metadata(CAIRO_PDF_METADATA_AUTHOR, document.byline);
  metadata(CAIRO_PDF_METADATA_SUBJECT, document.subject);
  metadata(CAIRO_PDF_METADATA_CREATOR, document.software);
  // Cairo would write the present time: same case, same bytes asks for the report's own date.
  const std::string date = document.created_at.empty() ? "2000-01-01T00:00:00Z" : document.created_at;
  metadata(CAIRO_PDF_METADATA_CREATE_DATE, date);
  metadata(CAIRO_PDF_METADATA_MOD_DATE, date);

  for (const auto& block : document.blocks) {
    if (const auto* h = std::get_if<Heading>(&block); h && !h->id.empty()) targets_.insert(h->id);
  }
}

Layout PdfCanvas::text(std::string_view raw, const TextStyle& style, double width, PangoAttrList* attributes) const {
  Layout layout(pango_layout_new(context_.get()));
  PangoFontDescription* font = pango_font_description_new();
  pango_font_description_set_family(font, style.mono ? "DejaVu Sans Mono" : "DejaVu Sans");
  pango_font_description_set_absolute_size(font, style.size * PANGO_SCALE);
  if (style.bold) pango_font_description_set_weight(font, PANGO_WEIGHT_BOLD);
  if (style.italic) pango_font_description_set_style(font, PANGO_STYLE_ITALIC);
  pango_layout_set_font_description(layout.get(), font);
  pango_font_description_free(font);
  pango_layout_set_width(layout.get(), static_cast<int>(width * PANGO_SCALE));
  pango_layout_set_wrap(layout.get(), PANGO_WRAP_WORD_CHAR);
  pango_layout_set_alignment(layout.get(), style.align);
  pango_layout_set_auto_dir(layout.get(), FALSE);
  pango_layout_set_line_spacing(layout.get(), static_cast<float>(style.line_spacing));
  const std::string clean = clean_utf8(raw);
  pango_layout_set_text(layout.get(), clean.data(), static_cast<int>(clean.size()));
  PangoAttrList* all = attributes ? pango_attr_list_copy(attributes) : pango_attr_list_new();
  pango_attr_list_insert(all, pango_attr_insert_hyphens_new(FALSE));  // hashes and names are not words
  pango_layout_set_attributes(layout.get(), all);
  pango_attr_list_unref(all);
  return layout;
}

double PdfCanvas::height(const Layout& layout) {
  PangoRectangle extents;
  pango_layout_get_extents(layout.get(), nullptr, &extents);
  return static_cast<double>(extents.height) / PANGO_SCALE;
}

void PdfCanvas::draw(const Layout& layout, double x, double y, Colour colour) const {
  set_source(cr_.get(), colour);
  cairo_move_to(cr_.get(), x, y);
  pango_cairo_show_layout(cr_.get(), layout.get());
}

void PdfCanvas::flow(const Layout& layout, double x, Colour colour) {
  PangoLayoutIter* iter = pango_layout_get_iter(layout.get());
  do {
    PangoRectangle logical;
    pango_layout_iter_get_line_extents(iter, nullptr, &logical);
    const double natural = static_cast<double>(logical.height) / PANGO_SCALE;
    const double line_height = natural * static_cast<double>(pango_layout_get_line_spacing(layout.get()));
    need(line_height);
    set_source(cr_.get(), colour);
    const double baseline = static_cast<double>(pango_layout_iter_get_baseline(iter) - logical.y) / PANGO_SCALE +
                            (line_height - natural) / 2;
    cairo_move_to(cr_.get(), x + static_cast<double>(logical.x) / PANGO_SCALE, y_ + baseline);
    pango_cairo_show_layout_line(cr_.get(), pango_layout_iter_get_line_readonly(iter));
    y_ += line_height;
  } while (pango_layout_iter_next_line(iter));
  pango_layout_iter_free(iter);
}

void PdfCanvas::fill(double x, double y, double width, double height, Colour colour) const {
  set_source(cr_.get(), colour);
  cairo_rectangle(cr_.get(), x, y, width, height);
  cairo_fill(cr_.get());
}

void PdfCanvas::line(double x0, double y0, double x1, double y1, Colour colour, double width) const {
  set_source(cr_.get(), colour);
  cairo_set_line_width(cr_.get(), width);
  cairo_move_to(cr_.get(), x0, y0);
  cairo_line_to(cr_.get(), x1, y1);
  cairo_stroke(cr_.get());
}

void PdfCanvas::image_png(std::string_view bytes, double right, double y, double max_width, double max_height) const {
  PngReader reader{bytes};
  const std::unique_ptr<cairo_surface_t, SurfaceDestroy> image(
      cairo_image_surface_create_from_png_stream(&read_png, &reader));
  if (cairo_surface_status(image.get()) != CAIRO_STATUS_SUCCESS) {
    throw bad_input("logo", "the PNG cannot be decoded", "give an intact PNG file");
  }
  const double w = cairo_image_surface_get_width(image.get()), h = cairo_image_surface_get_height(image.get());
  const double scale = std::min({max_width / w, max_height / h, 1.0});
  cairo_save(cr_.get());
  cairo_translate(cr_.get(), right - w * scale, y);
  cairo_scale(cr_.get(), scale, scale);
  cairo_set_source_surface(cr_.get(), image.get(), 0, 0);
  cairo_paint(cr_.get());
  cairo_restore(cr_.get());
}

void PdfCanvas::furniture() {
  const TextStyle small{7.2, grey};
  TextStyle small_right = small;
  small_right.align = PANGO_ALIGN_RIGHT;
  const auto one_line = [&](const std::string& raw, const TextStyle& style, double width) {
    Layout layout = text(visible(raw), style, width);
    pango_layout_set_height(layout.get(), -1);
    pango_layout_set_ellipsize(layout.get(), PANGO_ELLIPSIZE_END);
    return layout;
  };
  const double half = page::text_width / 2;
  if (page_ > 1) {
    draw(one_line(document_.title, small, half), page::left, 36, grey);
    draw(one_line(document_.subject, small_right, half), page::left + half, 36, grey);
    line(page::left, 49, page::width - page::right, 49, rule);
  }
  const double foot = page::height - 40;
  line(page::left, foot - 6, page::width - page::right, foot - 6, rule);
  const std::string made = document_.created_at + (document_.created_at.empty() ? "" : " · ") + document_.software;
  draw(one_line(made, small, half * 1.4), page::left, foot, grey);
  draw(one_line(fmt::format("Page {} of {}", page_, known_.pages), small_right, half * 0.6), page::left + half * 1.4,
       foot, grey);
}

void PdfCanvas::need(double wanted) {
  if (y_ + wanted > page::end && y_ > page::top) new_page();
}

void PdfCanvas::new_page() {
  furniture();
  cairo_show_page(cr_.get());
  ++page_;
  y_ = page::top;
}

void PdfCanvas::begin_target(const std::string& id, int level, const std::string& title) {
  found_.page_of[id] = page_;
  const std::string dest = fmt::format("dest='{}'", id);
  if (level <= 2) {
    const int parent = level == 1 ? CAIRO_PDF_OUTLINE_ROOT : section_outline_;
    const int entry = cairo_pdf_surface_add_outline(surface_.get(), parent, visible(title).c_str(), dest.c_str(),
                                                    static_cast<cairo_pdf_outline_flags_t>(0));
    if (level == 1) section_outline_ = entry;
  }
  cairo_tag_begin(cr_.get(), CAIRO_TAG_DEST, fmt::format("name='{}'", id).c_str());
}

void PdfCanvas::end_target() {
  cairo_tag_end(cr_.get(), CAIRO_TAG_DEST);
}

void PdfCanvas::begin_link(const std::string& id) {
  if (targets_.contains(id)) cairo_tag_begin(cr_.get(), CAIRO_TAG_LINK, fmt::format("dest='{}'", id).c_str());
}

void PdfCanvas::end_link(const std::string& id) {
  if (targets_.contains(id)) cairo_tag_end(cr_.get(), CAIRO_TAG_LINK);
}

std::string PdfCanvas::finish(PageMap& found) {
  furniture();
  cairo_show_page(cr_.get());
  found_.pages = page_;
  const cairo_status_t drawing = cairo_status(cr_.get());
  cr_.reset();
  cairo_surface_finish(surface_.get());
  const cairo_status_t status = drawing != CAIRO_STATUS_SUCCESS ? drawing : cairo_surface_status(surface_.get());
  if (status != CAIRO_STATUS_SUCCESS) throw environment_error("PDF", cairo_status_to_string(status));
  found = std::move(found_);
  return std::move(bytes_);
}

}  // namespace difr::report
