#pragma once
// One house style for all charts, and what they share: theme changes, an empty hint, hover in data coordinates.

#include <QChartView>

class QAbstractAxis;

namespace difr::views {

class ChartView : public QChartView {
  Q_OBJECT
 public:
  explicit ChartView(QWidget* parent = nullptr);
  /// Shown in the middle while there is nothing to draw; empty text hides it.
  void set_hint(const QString& hint);

 protected:
  /// Colours series and decorations; called on creation of content and at every theme change.
  virtual void restyle() = 0;
  /// Axis, legend and background colours of the house.
  void style_frame();
  void style_axis(QAbstractAxis* axis, bool grid) const;
  [[nodiscard]] bool dark() const;
  void changeEvent(QEvent* event) override;
  void drawForeground(QPainter* painter, const QRectF& rect) override;

 private:
  QString hint_;
};

}  // namespace difr::views
