#pragma once
// Where tokens lie when a text is wrapped: words stay whole when they fit, every token has one rectangle.

#include <QRectF>
#include <QString>
#include <functional>
#include <vector>

namespace difr::views {

/// One token as shown. `share` in [0, 1] is the heat; NaN: not scored.
struct HeatToken {
  QString text;
  double share = 0;
  bool prompt = false;   ///< context, not judged
  bool differs = false;  ///< the reference picks another token
  bool outside = false;  ///< outside the declared filter
  bool breaks = false;   ///< a line ends after it
};

struct HeatLayout {
  std::vector<QRectF> rects;       ///< one per token, in content coordinates
  std::vector<std::size_t> lines;  ///< first token of each line
  double height = 0;

  /// Token under the point, -1 for none.
  [[nodiscard]] int at(QPointF point) const;
  [[nodiscard]] int line_of(int token) const;
};

/// `advance` gives a text's width. A blank at the start of a line takes no room there. A token wider than `width` gets
/// a line of its own and is cut there.
[[nodiscard]] HeatLayout layout_tokens(const std::vector<HeatToken>& tokens, double width, double line_height,
                                       const std::function<double(const QString&)>& advance);

}  // namespace difr::views
