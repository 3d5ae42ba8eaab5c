#pragma once
// Colour-blind-safe colours of the house (Okabe-Ito and a perceptually uniform heat ramp).

#include <QColor>

namespace difr::views {

/// Heat of a token: 0 = no margin (transparent over the page), 1 = at or above the clip.
[[nodiscard]] QColor heat(double share, bool dark);

}  // namespace difr::views
