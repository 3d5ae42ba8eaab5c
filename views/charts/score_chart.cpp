#include "views/charts/score_chart.h"

#include <QAreaSeries>
#include <QCategoryAxis>
#include <QLegendMarker>
#include <QLineSeries>
#include <QMouseEvent>
#include <QToolTip>
#include <QValueAxis>
#include <algorithm>
#include <cmath>

#include "views/charts/bins.h"
#include "views/models/format.h"
#include "views/theme/palette.h"

namespace difr::views {

ScoreChart::ScoreChart(QWidget* parent) : ChartView(parent) {
  setAccessibleName(tr("Histogram of request scores against the calibration"));
  x_ = new QCategoryAxis(this);
  x_->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  y_ = new QValueAxis(this);
  y_->setLabelFormat(QStringLiteral("%.0f %%"));
  y_->setTitleText(tr("share of requests"));
  chart()->addAxis(x_, Qt::AlignBottom);
  chart()->addAxis(y_, Qt::AlignLeft);
  restyle();
}

void ScoreChart::add_histogram(const ScoreSeries& source, const ScoreBins& bins) {
  auto* top = new QLineSeries;
  auto* base = new QLineSeries;
  const std::vector<double> shares = bins.shares(source.scores);
  for (int b = 0; b < bins.count(); ++b) {
    const double percent = 100 * shares[static_cast<std::size_t>(b)];
    top->append(b, percent);
    top->append(b + 1, percent);
    auto& text = bin_texts_[b];
    if (percent > 0) text += tr("<br>%1: %2 %").arg(source.name.toHtmlEscaped()).arg(percent, 0, 'f', 1);
  }
  base->append(0, 0);
  base->append(bins.count(), 0);
  auto* area = new QAreaSeries(top, base);
  top->setParent(area);
  base->setParent(area);
  area->setName(source.name);
  chart()->addSeries(area);
  area->attachAxis(x_);
  area->attachAxis(y_);
  histograms_.push_back(area);
}

QLineSeries* ScoreChart::add_rule(double at, const QString& name) {
  auto* rule = new QLineSeries;
  rule->append(at, 0);
  rule->append(at, y_->max());
  rule->setName(name);
  chart()->addSeries(rule);
  rule->attachAxis(x_);
  rule->attachAxis(y_);
  return rule;
}

void ScoreChart::set_data(const ScoreSeries& trusted, const std::vector<ScoreSeries>& subjects,
                          std::optional<double> threshold, const QString& statistic) {
  chart()->removeAllSeries();
  histograms_.clear();
  bin_texts_.clear();
  threshold_line_ = nullptr;
  pooled_lines_.clear();
  for (const QString& label : x_->categoriesLabels()) x_->remove(label);

  double top = threshold.value_or(0);
  const auto widen = [&](const ScoreSeries& s) {
    for (const double score : s.scores)
      if (std::isfinite(score)) top = std::max(top, score);
  };
  widen(trusted);
  std::ranges::for_each(subjects, widen);
  const bool empty =
      trusted.scores.empty() && std::ranges::all_of(subjects, [](const auto& s) { return s.scores.empty(); });
  set_hint(empty ? tr("Request scores appear here once the case is recomputed.") : QString());
  if (empty) top = 0.1;

  // The mean margin of an honest request is around 1e-4 logits; ratios to an expectation live around 1.
  const bool logits = !statistic.contains(QLatin1String("expectation"));
  x_->setTitleText(statistic.isEmpty() ? tr("score per request")
                   : logits            ? tr("%1 per request (logits)").arg(statistic)
                                       : tr("%1, per request").arg(statistic));
  const ScoreBins bins(logits ? 1e-4 : 0.1, top, 6);
  for (int b = 0; b < bins.count(); ++b)
    bin_texts_ << tr("<b>%1 – %2</b>").arg(format_margin(bins.edge(b)), format_margin(bins.edge(b + 1)));
  has_trusted_ = !trusted.scores.empty();
  if (has_trusted_) add_histogram(trusted, bins);
  for (const ScoreSeries& subject : subjects) add_histogram(subject, bins);

  double highest = 10;
  for (const QAbstractSeries* series : histograms_)
    for (const QPointF& point : static_cast<const QAreaSeries*>(series)->upperSeries()->points())
      highest = std::max(highest, point.y());
  y_->setRange(0, highest * 1.08);
  y_->applyNiceNumbers();
  x_->setRange(0, bins.count());
  // Two labels a decade; 0 itself is the left end.
  for (double decade = bins.floor(); bins.position(decade) < bins.count() - 0.01; decade *= 10)
    for (const double edge : {decade, 3 * decade})
      if (bins.position(edge) < bins.count() - 0.01) x_->append(QString::number(edge, 'g', 3), bins.position(edge));

  for (std::size_t i = 0; i < subjects.size(); ++i)
    if (subjects[i].pooled && !subjects[i].scores.empty())
      pooled_lines_.emplace_back(
          add_rule(bins.position(*subjects[i].pooled), tr("pooled %1").arg(format_margin(*subjects[i].pooled))),
          static_cast<int>(i));
  if (threshold)
    threshold_line_ = add_rule(bins.position(*threshold), tr("threshold %1").arg(format_margin(*threshold)));
  restyle();
}

void ScoreChart::restyle() {
  style_frame();
  x_->setGridLineVisible(false);
  const Colours& c = colours(palette());
  int colour = 0;
  for (std::size_t i = 0; i < histograms_.size(); ++i) {
    auto* area = static_cast<QAreaSeries*>(histograms_[i]);
    const bool trusted = has_trusted_ && i == 0;
    QColor ink = trusted ? c.reference : series_colour(colour++, dark());
    area->setPen(QPen(ink, trusted ? 1.2 : 2));
    ink.setAlphaF(trusted ? 0.35F : 0.22F);
    area->setBrush(ink);
  }
  for (const auto& [line, index] : pooled_lines_) line->setPen(QPen(series_colour(index, dark()), 2));
  if (threshold_line_) threshold_line_->setPen(QPen(c.text, 1.5, Qt::DashLine));
}

void ScoreChart::mouseMoveEvent(QMouseEvent* event) {
  ChartView::mouseMoveEvent(event);
  if (histograms_.empty() || !chart()->plotArea().contains(event->position())) return QToolTip::hideText();
  const int bin = static_cast<int>(chart()->mapToValue(event->position(), histograms_.front()).x());
  if (bin >= 0 && bin < bin_texts_.size()) QToolTip::showText(event->globalPosition().toPoint(), bin_texts_[bin], this);
}

}  // namespace difr::views
