#pragma once
// Margin of every output token: stems, marks where the reference disagrees, the clip; hover and keyboard selection.

#include <memory>

#include "views/charts/chart_view.h"
#include "views/data/case_source.h"

class QLineSeries;
class QScatterSeries;
class QValueAxis;

namespace difr::views {

class MarginChart final : public ChartView {
  Q_OBJECT
 public:
  explicit MarginChart(QWidget* parent = nullptr);
  void set_detail(std::shared_ptr<const RequestDetail> detail);
  void select(int position);
  [[nodiscard]] int selected() const { return selected_; }
  /// What is said of a position on hover: claimed token, reference's token, margin, gap, rank. Rich text.
  [[nodiscard]] static QString describe(const RequestDetail& detail, int position);

 signals:
  void selected_changed(int position);

 protected:
  void restyle() override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void drawForeground(QPainter* painter, const QRectF& rect) override;

 private:
  [[nodiscard]] int position_at(const QPointF& point) const;
  [[nodiscard]] double height_of(std::size_t t) const;
  void choose(int position);

  std::shared_ptr<const RequestDetail> detail_;
  QValueAxis* x_;
  QValueAxis* y_;
  QLineSeries* stems_;
  QScatterSeries* differs_;
  QScatterSeries* outside_;
  QLineSeries* clip_;
  double top_ = 1;
  int selected_ = -1;
  int hovered_ = -1;
};

}  // namespace difr::views
