#include "views/theme/palette.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace difr::views {

bool is_dark(const QPalette& palette) {
  return palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
}

const Colours& colours(bool dark) {
  static const Colours light{.window = QColor(0xF5F6F8),
                             .surface = QColor(0xFFFFFF),
                             .raised = QColor(0xEDF0F4),
                             .text = QColor(0x1A1F26),
                             .muted = QColor(0x56606C),
                             .border = QColor(0xD8DDE4),
                             .grid = QColor(0xE9ECF0),
                             .accent = QColor(0x0B66AD),
                             .on_accent = QColor(0xFFFFFF),
                             .pass = QColor(0x00775A),
                             .fail = QColor(0xB84A00),
                             .undetermined = QColor(0x6B5B00),
                             .reference = QColor(0x8A94A0),
                             .outside = QColor(0xA03A78)};
  static const Colours night{.window = QColor(0x15181C),
                             .surface = QColor(0x1C2025),
                             .raised = QColor(0x282D34),
                             .text = QColor(0xE4E8EC),
                             .muted = QColor(0x9CA6B1),
                             .border = QColor(0x333A43),
                             .grid = QColor(0x2A3038),
                             .accent = QColor(0x5FB4EC),
                             .on_accent = QColor(0x0C1116),
                             .pass = QColor(0x2FC398),
                             .fail = QColor(0xFF9147),
                             .undetermined = QColor(0xE5CF55),
                             .reference = QColor(0x87919C),
                             .outside = QColor(0xE28DBB)};
  return dark ? night : light;
}

QPalette house_palette(bool dark) {
  const Colours& c = colours(dark);
  QPalette p;
  p.setColor(QPalette::Window, c.window);
  p.setColor(QPalette::WindowText, c.text);
  p.setColor(QPalette::Base, c.surface);
  p.setColor(QPalette::AlternateBase, dark ? QColor(0x20252B) : QColor(0xFAFBFC));
  p.setColor(QPalette::Text, c.text);
  p.setColor(QPalette::PlaceholderText, c.muted);
  p.setColor(QPalette::Button, dark ? QColor(0x252A31) : QColor(0xFCFCFD));
  p.setColor(QPalette::ButtonText, c.text);
  p.setColor(QPalette::BrightText, c.fail);
  p.setColor(QPalette::ToolTipBase, dark ? QColor(0x2B3138) : QColor(0x22272E));
  p.setColor(QPalette::ToolTipText, QColor(0xF4F6F8));
  p.setColor(QPalette::Highlight, dark ? QColor(0x2C6AA0) : c.accent);
  p.setColor(QPalette::HighlightedText, QColor(Qt::white));
  p.setColor(QPalette::Link, c.accent);
  p.setColor(QPalette::LinkVisited, c.outside);
  p.setColor(QPalette::Light, dark ? QColor(0x343B44) : QColor(0xFFFFFF));
  p.setColor(QPalette::Midlight, c.raised);
  p.setColor(QPalette::Mid, c.border);
  p.setColor(QPalette::Dark, dark ? QColor(0x0E1013) : QColor(0xB4BCC6));
  p.setColor(QPalette::Shadow, QColor(Qt::black));
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    QColor faded = c.muted;
    faded.setAlphaF(0.6F);
    p.setColor(QPalette::Disabled, role, faded);
  }
  return p;
}

QColor heat(double share, bool dark) {
  share = std::isnan(share) ? 0.0 : std::clamp(share, 0.0, 1.0);
  QColor colour = dark ? QColor(255, 132, 36) : QColor(226, 92, 0);
  // The square root keeps small margins, the honest ones, visible at all.
  colour.setAlphaF(static_cast<float>((dark ? 0.52 : 0.66) * std::sqrt(share)));
  return colour;
}

QColor series_colour(int index, bool dark) {
  static const std::array light{QColor(0x0072B2), QColor(0xD55E00), QColor(0x009E73), QColor(0xCC79A7),
                                QColor(0xB8860B), QColor(0x56B4E9), QColor(0x5A3FA0)};
  static const std::array night{QColor(0x56B4E9), QColor(0xFF8A3D), QColor(0x2FC398), QColor(0xE28DBB),
                                QColor(0xE6C74C), QColor(0x8FC7FF), QColor(0xA998F0)};
  const auto& table = dark ? night : light;
  return table[static_cast<std::size_t>(std::max(index, 0)) % table.size()];
}

QColor verdict_colour(Outcome outcome, bool dark) {
  const Colours& c = colours(dark);
  switch (outcome) {
    case Outcome::pass:
      return c.pass;
    case Outcome::fail:
      return c.fail;
    case Outcome::undetermined:
      break;
  }
  return c.undetermined;
}

}  // namespace difr::views
