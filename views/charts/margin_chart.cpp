#include "views/charts/margin_chart.h"

#include <QKeyEvent>
#include <QLegendMarker>
#include <QLineSeries>
#include <QPainter>
#include <QScatterSeries>
#include <QToolTip>
#include <QValueAxis>
#include <algorithm>
#include <cmath>

#include "views/charts/bins.h"
#include "views/models/candidate_model.h"
#include "views/models/format.h"
#include "views/theme/palette.h"

namespace difr::views {
namespace {
constexpr std::size_t slices = 2000;  // more stems than pixels say nothing more
}

MarginChart::MarginChart(QWidget* parent) : ChartView(parent) {
  setAccessibleName(tr("Margin of each token"));
  setFocusPolicy(Qt::StrongFocus);
  x_ = new QValueAxis(this);
  x_->setTitleText(tr("output token"));
  x_->setLabelFormat(QStringLiteral("%.0f"));
  y_ = new QValueAxis(this);
  y_->setTitleText(tr("logits"));
  y_->setLabelFormat(QStringLiteral("%.2g"));
  chart()->addAxis(x_, Qt::AlignBottom);
  chart()->addAxis(y_, Qt::AlignLeft);
  stems_ = new QLineSeries(this);
  stems_->setName(tr("margin"));
  clip_ = new QLineSeries(this);
  clip_->setName(tr("clip Δ"));
  differs_ = new QScatterSeries(this);
  differs_->setName(tr("reference picks another token"));
  outside_ = new QScatterSeries(this);
  outside_->setName(tr("outside the filter (∞)"));
  outside_->setMarkerShape(QScatterSeries::MarkerShapeTriangle);
  for (QAbstractSeries* series : std::initializer_list<QAbstractSeries*>{stems_, clip_, differs_, outside_}) {
    chart()->addSeries(series);
    series->attachAxis(x_);
    series->attachAxis(y_);
  }
  set_detail(nullptr);
}

double MarginChart::height_of(std::size_t t) const {
  const float margin = detail_->scores->margin[t];
  return std::isfinite(margin) ? static_cast<double>(margin) : top_;
}

void MarginChart::set_detail(std::shared_ptr<const RequestDetail> detail) {
  detail_ = std::move(detail);
  selected_ = hovered_ = -1;
  QList<QPointF> stems, differs, outside;
  const bool scored = detail_ && detail_->scores && detail_->scores->size() > 0;
  set_hint(scored ? QString() : tr("Margins appear here once this request is recomputed."));
  double highest = 0;
  const std::size_t n = scored ? detail_->scores->size() : 0;
  if (scored) {
    const TokenScores& s = *detail_->scores;
    for (const float margin : s.margin)
      if (std::isfinite(margin)) highest = std::max(highest, static_cast<double>(margin));
    const double clip = detail_->clip;
    top_ = std::max({highest, std::min(clip, highest * 4), 0.01}) * 1.15;
    for (const std::size_t t : min_max_indices(s.margin, slices)) {
      if (std::isnan(s.margin[t])) continue;
      const auto x = static_cast<double>(t);
      stems << QPointF(x, 0) << QPointF(x, height_of(t)) << QPointF(x, 0);
      if (s.flags[t] & TokenFlag::filtered)
        outside << QPointF(x, top_ * 0.97);
      else if (!(s.flags[t] & TokenFlag::exact_match) && !(s.flags[t] & TokenFlag::refused))
        differs << QPointF(x, height_of(t));
    }
    y_->setRange(0, top_);
  } else {
    y_->setRange(0, 1);
  }
  x_->setRange(-0.5, std::max<double>(static_cast<double>(n) - 0.5, 0.5));
  x_->setTickType(QValueAxis::TicksDynamic);
  x_->setTickAnchor(0);
  const double rough = std::max(static_cast<double>(n) / 10.0, 1.0);
  const double decade = std::pow(10.0, std::floor(std::log10(rough)));
  x_->setTickInterval(decade * (rough / decade < 2 ? 2 : rough / decade < 5 ? 5 : 10));
  stems_->replace(stems);
  differs_->replace(differs);
  outside_->replace(outside);
  const bool clip_visible = scored && detail_->clip > 0 && detail_->clip < top_ && detail_->clip > 0.02 * top_;
  clip_->replace(clip_visible ? QList<QPointF>{{-0.5, detail_->clip}, {static_cast<double>(n), detail_->clip}}
                              : QList<QPointF>{});
  for (QAbstractSeries* series : chart()->series())
    for (QLegendMarker* marker : chart()->legend()->markers(series))
      marker->setVisible(static_cast<QXYSeries*>(series)->count() > 0 && series != stems_);
  restyle();
}

void MarginChart::restyle() {
  style_frame();
  const Colours& c = colours(palette());
  QColor stem = c.accent;
  stems_->setPen(QPen(stem, detail_ && detail_->scores && detail_->scores->size() > 400 ? 1.0 : 2.0));
  clip_->setPen(QPen(c.muted, 1.2, Qt::DashLine));
  differs_->setColor(c.fail);
  differs_->setBorderColor(c.surface);
  differs_->setMarkerSize(8.5);
  outside_->setColor(c.outside);
  outside_->setBorderColor(c.surface);
  outside_->setMarkerSize(12);
}

int MarginChart::position_at(const QPointF& point) const {
  if (!detail_ || !detail_->scores || detail_->scores->size() == 0 || !chart()->plotArea().contains(point)) return -1;
  const double x = chart()->mapToValue(point, stems_).x();
  return std::clamp(static_cast<int>(std::lround(x)), 0, static_cast<int>(detail_->scores->size()) - 1);
}

QString MarginChart::describe(const RequestDetail& detail, int position) {
  const auto t = static_cast<std::size_t>(std::max(position, 0));
  if (position < 0 || t >= detail.claim.output.size()) return {};
  const auto label = [&](TokenId id) { return token_label(detail.tokenizer.get(), id).toHtmlEscaped(); };
  QString html = tr("<b>Token %1</b>").arg(position);
  const auto line = [&](const QString& name, const QString& value) {
    html += QStringLiteral("<tr><td>%1&nbsp;&nbsp;</td><td><b>%2</b></td></tr>").arg(name, value);
  };
  html += QStringLiteral("<table>");
  line(tr("claimed"), label(detail.claim.output[t]));
  if (detail.scores && t < detail.scores->size()) {
    const TokenScores& s = *detail.scores;
    line(tr("reference"), label(s.reference_token[t]));
    const QString bound = s.flags[t] & TokenFlag::interval
                              ? tr("%1 to %2").arg(format_margin(s.margin[t]), format_margin(s.margin_hi[t]))
                              : format_margin(s.margin[t]);
    line(tr("margin"), bound);
    line(tr("gap"), format_margin(s.gap[t]));
    line(tr("logit rank"), QString::number(s.logit_rank[t] + 1));
    line(tr("probability"), format_probability(std::exp(static_cast<double>(s.log_prob[t]))));
    if (s.flags[t] & TokenFlag::filtered)
      line(tr("filter"), tr("outside, by %1 logits").arg(format_margin(s.filter_distance[t])));
    else if (s.flags[t] & TokenFlag::filter_edge)
      line(tr("filter"), tr("on its edge"));
    if (s.flags[t] & TokenFlag::refused) line(tr("row"), tr("refused: the reference's logits are not finite"));
    if (s.flags[t] & TokenFlag::no_noise) line(tr("seed"), tr("none declared"));
  }
  return html + QStringLiteral("</table>");
}

void MarginChart::mouseMoveEvent(QMouseEvent* event) {
  ChartView::mouseMoveEvent(event);
  const int position = position_at(event->position());
  if (position != hovered_) {
    hovered_ = position;
    viewport()->update();
  }
  if (position >= 0)
    QToolTip::showText(event->globalPosition().toPoint(), describe(*detail_, position), this);
  else
    QToolTip::hideText();
}

void MarginChart::leaveEvent(QEvent* event) {
  ChartView::leaveEvent(event);
  hovered_ = -1;
  viewport()->update();
}

void MarginChart::mousePressEvent(QMouseEvent* event) {
  setFocus(Qt::MouseFocusReason);
  choose(position_at(event->position()));
}

void MarginChart::keyPressEvent(QKeyEvent* event) {
  const int last = detail_ && detail_->scores ? static_cast<int>(detail_->scores->size()) - 1 : -1;
  if (last >= 0) switch (event->key()) {
      case Qt::Key_Left:
        return choose(std::max(selected_ - 1, 0));
      case Qt::Key_Right:
        return choose(std::min(selected_ + 1, last));
      case Qt::Key_Home:
        return choose(0);
      case Qt::Key_End:
        return choose(last);
      default:
        break;
    }
  ChartView::keyPressEvent(event);
}

void MarginChart::choose(int position) {
  if (position < 0 || position == selected_) return;
  select(position);
  emit selected_changed(position);
}

void MarginChart::select(int position) {
  selected_ = position;
  if (detail_ && position >= 0) setAccessibleDescription(tr("Token %1 selected").arg(position));
  viewport()->update();
}

void MarginChart::drawForeground(QPainter* painter, const QRectF& rect) {
  ChartView::drawForeground(painter, rect);
  const Colours& c = colours(palette());
  const QRectF plot = chart()->plotArea();
  const auto rule = [&](int position, const QPen& pen) {
    if (position < 0) return;
    const double x = chart()->mapToPosition(QPointF(position, 0), stems_).x();
    painter->setPen(pen);
    painter->drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
  };
  if (hovered_ != selected_) rule(hovered_, QPen(c.muted, 1, Qt::DotLine));
  QColor strong = c.accent;
  strong.setAlphaF(0.75F);
  rule(selected_, QPen(strong, 1.4));
}

}  // namespace difr::views
