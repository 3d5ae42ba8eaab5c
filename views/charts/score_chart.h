#pragma once
// Histogram of request scores: the chosen providers against the trusted calibration, with the threshold.

#include <QString>
#include <optional>
#include <vector>

#include "views/charts/chart_view.h"

class QCategoryAxis;
class QLineSeries;
class QValueAxis;

namespace difr::views {

class ScoreBins;

struct ScoreSeries {
  QString name;
  std::vector<double> scores;
  std::optional<double> pooled;  ///< the provider's own score over all its tokens
};

class ScoreChart final : public ChartView {
  Q_OBJECT
 public:
  explicit ScoreChart(QWidget* parent = nullptr);
  /// `threshold` is drawn as a vertical line when present; `statistic` names the unit of all of them.
  void set_data(const ScoreSeries& trusted, const std::vector<ScoreSeries>& subjects, std::optional<double> threshold,
                const QString& statistic);

 protected:
  void restyle() override;
  void mouseMoveEvent(QMouseEvent* event) override;

 private:
  QLineSeries* add_rule(double at, const QString& name);
  void add_histogram(const ScoreSeries& source, const ScoreBins& bins);

  QCategoryAxis* x_;
  QValueAxis* y_;
  QLineSeries* threshold_line_ = nullptr;
  std::vector<QAbstractSeries*> histograms_;                ///< trusted first
  std::vector<std::pair<QLineSeries*, int>> pooled_lines_;  ///< with the index of their subject
  bool has_trusted_ = false;
  QStringList bin_texts_;
};

}  // namespace difr::views
