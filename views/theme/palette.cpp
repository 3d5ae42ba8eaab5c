#include "views/theme/palette.h"

#include <algorithm>

namespace difr::views {

QColor heat(double share, bool dark) {
  share = std::clamp(share, 0.0, 1.0);
  QColor colour = dark ? QColor(230, 159, 0) : QColor(213, 94, 0);
  colour.setAlphaF(static_cast<float>(0.75 * share));
  return colour;
}

}  // namespace difr::views
