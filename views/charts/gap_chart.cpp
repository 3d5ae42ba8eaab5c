#include "views/charts/gap_chart.h"

#include <QBarCategoryAxis>
#include <QBarSet>
#include <QCategoryAxis>
#include <QHorizontalStackedBarSeries>
#include <QLineSeries>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "views/models/format.h"
#include "views/theme/palette.h"

namespace difr::views {

GapChart::GapChart(QWidget* parent) : ChartView(parent) {
  setAccessibleName(tr("Log-likelihood gaps of the explanations"));
  x_ = new QCategoryAxis(this);
  x_->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  x_->setTitleText(tr("nats behind the best explanation, held out"));
  y_ = new QBarCategoryAxis(this);
  chart()->addAxis(x_, Qt::AlignBottom);
  chart()->addAxis(y_, Qt::AlignLeft);
  restyle();
}

void GapChart::set_bars(const std::vector<GapBar>& bars, double separation) {
  bars_ = bars;
  selected_ = -1;
  chart()->removeAllSeries();
  near_set_ = far_set_ = nullptr;
  rule_ = nullptr;
  y_->clear();
  for (const QString& label : x_->categoriesLabels()) x_->remove(label);
  set_hint(bars_.empty() ? tr("The gaps between explanations appear here.") : QString());
  if (bars_.empty()) return restyle();

  double widest = separation * 4;
  for (const GapBar& bar : bars_)
    if (std::isfinite(bar.nats)) widest = std::max(widest, bar.nats);
  const auto position = [separation](double nats) { return std::asinh(nats / separation); };
  const double right = position(widest) * 1.04;

  near_set_ = new QBarSet(tr("not separable from the one named first"));
  far_set_ = new QBarSet(tr("explains less"));
  const int n = static_cast<int>(bars_.size());
  QStringList names;
  // A category axis counts from the bottom.
  for (int i = n - 1; i >= 0; --i) {
    const GapBar& bar = bars_[static_cast<std::size_t>(i)];
    // The best one has no gap; a sliver shows where its bar would be.
    const double length = std::max(position(std::min(bar.nats, widest)), right * 0.006);
    near_set_->append(bar.near_best ? length : 0);
    far_set_->append(bar.near_best ? 0 : length);
    names << bar.name;
  }
  auto* stack = new QHorizontalStackedBarSeries;
  stack->setBarWidth(0.62);
  stack->append(near_set_);
  stack->append(far_set_);
  chart()->addSeries(stack);
  y_->append(names);
  stack->attachAxis(x_);
  stack->attachAxis(y_);
  rule_ = new QLineSeries;
  rule_->setName(tr("%1 nats: too close to tell").arg(separation));
  rule_->append(position(separation), -0.5);
  rule_->append(position(separation), n - 0.5);
  chart()->addSeries(rule_);
  rule_->attachAxis(x_);
  rule_->attachAxis(y_);

  x_->setRange(0, right);
  x_->append(QStringLiteral("0"), 0);
  // Labels a factor of ten apart: closer ones run into each other in a narrow panel.
  for (double nats = 10; position(nats) < right; nats *= 10) x_->append(QString::number(nats, 'f', 0), position(nats));
  restyle();
}

void GapChart::select(int bar) {
  selected_ = bar >= 0 && bar < static_cast<int>(bars_.size()) ? bar : -1;
  setAccessibleDescription(selected_ < 0 ? QString()
                                         : tr("%1: %2 nats behind the best")
                                               .arg(bars_[static_cast<std::size_t>(selected_)].name,
                                                    format_nats(bars_[static_cast<std::size_t>(selected_)].nats)));
  viewport()->update();
}

int GapChart::bar_at(QPointF point) const {
  const QRectF plot = chart()->plotArea();
  if (bars_.empty() || point.y() < plot.top() || point.y() >= plot.bottom()) return -1;
  return static_cast<int>((point.y() - plot.top()) / plot.height() * static_cast<double>(bars_.size()));
}

void GapChart::restyle() {
  style_frame();
  y_->setGridLineVisible(false);
  x_->setGridLineVisible(true);
  const Colours& c = colours(palette());
  y_->setLabelsColor(c.text);
  const auto paint = [](QBarSet* set, const QColor& ink) {
    if (!set) return;
    set->setBrush(ink);
    set->setPen(Qt::NoPen);
  };
  paint(near_set_, c.accent);
  paint(far_set_, c.reference);
  if (rule_) rule_->setPen(QPen(c.text, 1.3, Qt::DashLine));
}

void GapChart::drawForeground(QPainter* painter, const QRectF& rect) {
  ChartView::drawForeground(painter, rect);
  if (selected_ < 0) return;
  const QRectF plot = chart()->plotArea();
  const double height = plot.height() / static_cast<double>(bars_.size());
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(QPen(colours(palette()).accent, 1.4));
  painter->setBrush(Qt::NoBrush);
  painter->drawRoundedRect(QRectF(4, plot.top() + selected_ * height, plot.right() - 4, height).adjusted(0, 1, 0, -1),
                           3, 3);
}

void GapChart::mousePressEvent(QMouseEvent* event) {
  ChartView::mousePressEvent(event);
  const int bar = bar_at(event->position());
  if (bar >= 0) emit chosen(bar);
}

void GapChart::mouseMoveEvent(QMouseEvent* event) {
  ChartView::mouseMoveEvent(event);
  const int bar = bar_at(event->position());
  if (bar < 0) return QToolTip::hideText();
  const GapBar& under = bars_[static_cast<std::size_t>(bar)];
  QToolTip::showText(
      event->globalPosition().toPoint(),
      tr("<b>%1</b><br>%2 nats behind the best").arg(under.name.toHtmlEscaped(), format_nats(under.nats)), this);
}

}  // namespace difr::views
