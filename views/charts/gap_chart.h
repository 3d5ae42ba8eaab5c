#pragma once
// How far each explanation lies behind the best one, in nats. Gaps run from nothing to thousands, so the axis is linear
// up to what counts as separable and logarithmic beyond.

#include <QString>
#include <vector>

#include "views/charts/chart_view.h"

class QBarCategoryAxis;
class QBarSet;
class QCategoryAxis;
class QLineSeries;

namespace difr::views {

struct GapBar {
  QString name;
  double nats = 0;         ///< behind the best, >= 0
  bool near_best = false;  ///< not separable from the explanation named first
};

class GapChart final : public ChartView {
  Q_OBJECT
 public:
  explicit GapChart(QWidget* parent = nullptr);
  /// `separation` > 0: nats below which two explanations cannot be told apart. Bars from top to bottom.
  void set_bars(const std::vector<GapBar>& bars, double separation);
  /// Marks one bar; -1 for none.
  void select(int bar);

 signals:
  void chosen(int bar);

 protected:
  void restyle() override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void drawForeground(QPainter* painter, const QRectF& rect) override;

 private:
  [[nodiscard]] int bar_at(QPointF point) const;

  std::vector<GapBar> bars_;
  int selected_ = -1;
  QCategoryAxis* x_;
  QBarCategoryAxis* y_;
  QBarSet* near_set_ = nullptr;
  QBarSet* far_set_ = nullptr;
  QLineSeries* rule_ = nullptr;
};

}  // namespace difr::views
