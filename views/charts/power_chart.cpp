#include "views/charts/power_chart.h"

#include <QAreaSeries>
#include <QCategoryAxis>
#include <QLegend>
#include <QLegendMarker>
#include <QLineSeries>
#include <QMouseEvent>
#include <QToolTip>
#include <QValueAxis>
#include <algorithm>
#include <cmath>

#include "views/models/format.h"
#include "views/theme/palette.h"

namespace difr::views {

QString power_measure_text(PowerMeasure measure) {
  switch (measure) {
    case PowerMeasure::detection:
      return PowerChart::tr("Detected at 1 % false alarms, by tokens");
    case PowerMeasure::auc:
      return PowerChart::tr("AUC by tokens");
    case PowerMeasure::partial_auc:
      return PowerChart::tr("Partial AUC (false alarms ≤ 1 %), by tokens");
    case PowerMeasure::roc:
      break;
  }
  return PowerChart::tr("ROC of single requests");
}

PowerChart::PowerChart(QWidget* parent) : ChartView(parent) {
  setAccessibleName(tr("Power against the number of tokens"));
  x_ = new QCategoryAxis(this);
  x_->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  y_ = new QValueAxis(this);
  chart()->addAxis(x_, Qt::AlignBottom);
  chart()->addAxis(y_, Qt::AlignLeft);
  draw();
}

void PowerChart::set_study(std::shared_ptr<const CalibrationStudy> study) {
  study_ = std::move(study);
  draw();
}

void PowerChart::set_measure(PowerMeasure measure) {
  measure_ = measure;
  draw();
}

void PowerChart::attach(QAbstractSeries* series) {
  chart()->addSeries(series);
  series->attachAxis(x_);
  series->attachAxis(y_);
}

void PowerChart::draw_power(const std::vector<PowerPoint>& points, const QString& name, int colour) {
  auto* line = new QLineSeries;
  line->setName(name);
  line->setPointsVisible(true);
  auto* low = new QLineSeries;
  auto* high = new QLineSeries;
  const bool banded = measure_ != PowerMeasure::detection;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PowerPoint& point = points[i];
    const double x = std::log10(static_cast<double>(point.tokens));
    const double y = measure_ == PowerMeasure::detection ? point.tpr_1
                     : measure_ == PowerMeasure::auc     ? point.auc
                                                         : point.partial_auc;
    const Interval band = measure_ == PowerMeasure::auc ? point.auc_band : point.partial_auc_band;
    line->append(x, 100 * y);
    if (i == tips_.size())
      tips_.emplace_back(x, tr("<b>%1 tokens</b>").arg(format_count(static_cast<qint64>(point.tokens))));
    QString& tip = tips_[i].second;
    tip += tr("<br>%1: %2").arg(name.toHtmlEscaped(), format_percent(y));
    if (!banded) continue;
    low->append(x, 100 * band.low);
    high->append(x, 100 * band.high);
    tip += tr(" (95 %: %1 to %2)").arg(format_percent(band.low), format_percent(band.high));
  }
  QAreaSeries* area = nullptr;
  if (banded) {
    area = new QAreaSeries(high, low);
    high->setParent(area);
    low->setParent(area);
    attach(area);
    for (QLegendMarker* marker : chart()->legend()->markers(area)) marker->setVisible(false);
  } else {
    delete low;
    delete high;
  }
  attach(line);
  curves_.push_back({line, area, colour});
}

void PowerChart::draw_roc(const RocCurve& roc) {
  auto* line = new QLineSeries;
  line->setName(tr("requests of %1").arg(QString::fromStdString(study_->power->provider)));
  for (std::size_t i = 0; i < roc.fpr.size(); ++i) line->append(100 * roc.fpr[i], 100 * roc.tpr[i]);
  attach(line);
  curves_.push_back({line, nullptr, 0});
}

void PowerChart::draw() {
  chart()->removeAllSeries();
  curves_.clear();
  chance_ = nullptr;
  tips_.clear();
  for (const QString& label : x_->categoriesLabels()) x_->remove(label);
  const bool roc = measure_ == PowerMeasure::roc;
  x_->setTitleText(roc ? tr("false alarms") : tr("tokens pooled"));
  y_->setTitleText(roc ? tr("detected") : measure_ == PowerMeasure::detection ? tr("pools detected") : tr("area"));
  y_->setLabelFormat(QStringLiteral("%.0f %%"));
  const double floor = measure_ == PowerMeasure::detection || roc ? 0 : 40;
  y_->setRange(floor, 102);
  y_->setTickType(QValueAxis::TicksDynamic);
  y_->setTickAnchor(0);
  y_->setTickInterval(floor > 0 ? 10 : 20);

  const PowerStudy* power = study_ && study_->power ? &*study_->power : nullptr;
  const bool drawable = power && (roc ? !power->roc.fpr.empty() : !power->margin.empty());
  set_hint(drawable ? QString()
           : power && !power->refused.empty()
               ? tr("No power by tokens for this provider: %1.").arg(QString::fromStdString(power->refused))
               : tr("Choose a provider to compare with."));
  y_->setVisible(drawable);
  x_->setVisible(drawable);
  if (!drawable) return restyle();

  double right = 100;
  if (!roc) {
    right = std::log10(static_cast<double>(power->margin.back().tokens)) + 0.05;
    for (const PowerPoint& point : power->margin)
      x_->append(format_count(static_cast<qint64>(point.tokens)), std::log10(static_cast<double>(point.tokens)));
  } else {
    for (const int percent : {0, 20, 40, 60, 80, 100}) x_->append(tr("%1 %").arg(percent), percent);
  }
  x_->setRange(0, right);
  chance_ = new QLineSeries;
  chance_->setName(tr("chance"));
  const double level = measure_ == PowerMeasure::detection ? 1 : 50;
  chance_->append(0, roc ? 0 : level);
  chance_->append(right, roc ? 100 : level);
  attach(chance_);
  if (roc) {
    draw_roc(power->roc);
  } else {
    draw_power(power->margin, tr("mean clipped margin"), 0);
    if (!power->gap.empty()) draw_power(power->gap, tr("signed-gap likelihood ratio"), 1);
  }
  restyle();
}

void PowerChart::restyle() {
  style_frame();
  x_->setGridLineVisible(true);
  for (const Curve& curve : curves_) {
    QColor ink = series_colour(curve.colour, dark());
    // Dashes as well as colour: the two statistics stay apart in print.
    curve.line->setPen(QPen(ink, 2.2, curve.colour == 0 ? Qt::SolidLine : Qt::DashLine));
    if (!curve.band) continue;
    ink.setAlphaF(0.16F);
    curve.band->setBrush(ink);
    curve.band->setPen(Qt::NoPen);
  }
  if (chance_) chance_->setPen(QPen(colours(palette()).reference, 1.3, Qt::DotLine));
}

void PowerChart::mouseMoveEvent(QMouseEvent* event) {
  ChartView::mouseMoveEvent(event);
  if (curves_.empty() || !chart()->plotArea().contains(event->position())) return QToolTip::hideText();
  const QPointF at = chart()->mapToValue(event->position(), curves_.front().line);
  if (measure_ == PowerMeasure::roc) {
    const auto points = curves_.front().line->points();
    const auto last = std::ranges::find_if(points, [&](const QPointF& p) { return p.x() > at.x(); });
    if (last == points.begin()) return;
    return QToolTip::showText(event->globalPosition().toPoint(),
                              tr("%1 detected at %2 false alarms")
                                  .arg(format_percent(std::prev(last)->y() / 100), format_percent(at.x() / 100)),
                              this);
  }
  const auto nearest =
      std::ranges::min_element(tips_, {}, [&](const auto& tip) { return std::abs(tip.first - at.x()); });
  QToolTip::showText(event->globalPosition().toPoint(), nearest->second, this);
}

}  // namespace difr::views
