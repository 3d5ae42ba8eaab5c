#pragma once
// Colours of the house: two palettes (light, dark), colour-blind-safe accents (Okabe-Ito), one heat ramp.

#include <QColor>
#include <QPalette>
#include <span>

#include "core/domain/verdict.h"

namespace difr::views {

/// Colours that QPalette has no role for. Contrast of text colours against `surface` is at least 4.5:1.
struct Colours {
  QColor window, surface, raised;  ///< page background, cards and tables, hover
  QColor text, muted, border, grid;
  QColor accent, on_accent;
  QColor pass, fail, undetermined;
  QColor reference;  ///< trusted data in charts
  QColor outside;    ///< tokens outside the filter
};

[[nodiscard]] bool is_dark(const QPalette& palette);
[[nodiscard]] const Colours& colours(bool dark);
[[nodiscard]] inline const Colours& colours(const QPalette& palette) {
  return colours(is_dark(palette));
}
[[nodiscard]] QPalette house_palette(bool dark);

/// Heat of a token: 0 = no margin (transparent over the page), 1 = at or above the clip.
[[nodiscard]] QColor heat(double share, bool dark);
/// Distinguishable by all common kinds of colour vision; wraps after seven.
[[nodiscard]] QColor series_colour(int index, bool dark);
[[nodiscard]] QColor verdict_colour(Outcome outcome, bool dark);

}  // namespace difr::views
