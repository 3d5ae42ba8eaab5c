#pragma once
// Fusion with the room between things that the house wants. A style, not a style sheet: palettes keep working.

#include <QProxyStyle>

namespace difr::views {

class HouseStyle final : public QProxyStyle {
  Q_OBJECT
 public:
  HouseStyle();
  [[nodiscard]] int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override;
  [[nodiscard]] int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                              QStyleHintReturn* data) const override;
  void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                   const QWidget* widget) const override;
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override;
};

}  // namespace difr::views
