#include "views/charts/chart_view.h"

#include <QAbstractAxis>
#include <QEvent>
#include <QGraphicsLayout>
#include <QLegend>
#include <QPainter>

#include "views/theme/palette.h"

namespace difr::views {

ChartView::ChartView(QWidget* parent) : QChartView(parent) {
  setRenderHint(QPainter::Antialiasing);
  setFrameShape(QFrame::NoFrame);
  setMouseTracking(true);
  chart()->setAnimationOptions(QChart::NoAnimation);
  chart()->setMargins({4, 4, 10, 4});
  chart()->layout()->setContentsMargins(0, 0, 0, 0);
  chart()->setBackgroundRoundness(0);
  chart()->legend()->setAlignment(Qt::AlignTop);
  chart()->legend()->setMarkerShape(QLegend::MarkerShapeRectangle);
}

bool ChartView::dark() const {
  return is_dark(palette());
}

void ChartView::set_hint(const QString& hint) {
  hint_ = hint;
  viewport()->update();
}

void ChartView::style_frame() {
  const Colours& c = colours(palette());
  chart()->setBackgroundBrush(c.surface);
  chart()->setPlotAreaBackgroundVisible(false);
  chart()->legend()->setLabelColor(c.text);
  QFont legend_font = font();
  legend_font.setPointSizeF(legend_font.pointSizeF() * 0.92);
  chart()->legend()->setFont(legend_font);
  setBackgroundBrush(c.surface);
  for (QAbstractAxis* axis : chart()->axes()) style_axis(axis, axis->orientation() == Qt::Vertical);
}

void ChartView::style_axis(QAbstractAxis* axis, bool grid) const {
  const Colours& c = colours(palette());
  QFont small = font();
  small.setPointSizeF(small.pointSizeF() * 0.9);
  axis->setLabelsFont(small);
  axis->setLabelsColor(c.muted);
  axis->setTitleFont(small);
  axis->setTitleBrush(c.muted);
  axis->setLinePen(QPen(c.border, 1));
  axis->setGridLinePen(QPen(c.grid, 1));
  axis->setGridLineVisible(grid);
}

void ChartView::changeEvent(QEvent* event) {
  QChartView::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) restyle();
}

void ChartView::drawForeground(QPainter* painter, const QRectF& rect) {
  QChartView::drawForeground(painter, rect);
  if (hint_.isEmpty()) return;
  painter->save();
  painter->setPen(colours(palette()).muted);
  painter->setFont(font());
  painter->drawText(QRectF(viewport()->rect()).adjusted(24, 0, -24, 0), Qt::AlignCenter | Qt::TextWordWrap, hint_);
  painter->restore();
}

}  // namespace difr::views
