#pragma once
// How well pools of so many tokens tell a provider from the trusted runs, and the ROC of its single requests.

#include <memory>
#include <utility>
#include <vector>

#include "core/verdict/calibration_study.h"
#include "views/charts/chart_view.h"

class QAreaSeries;
class QCategoryAxis;
class QLineSeries;
class QValueAxis;

namespace difr::views {

enum class PowerMeasure : std::uint8_t { detection, auc, partial_auc, roc };
[[nodiscard]] QString power_measure_text(PowerMeasure measure);

class PowerChart final : public ChartView {
  Q_OBJECT
 public:
  explicit PowerChart(QWidget* parent = nullptr);
  /// Null, or a study without pools, shows why there is nothing to draw.
  void set_study(std::shared_ptr<const CalibrationStudy> study);
  void set_measure(PowerMeasure measure);

 protected:
  void restyle() override;
  void mouseMoveEvent(QMouseEvent* event) override;

 private:
  struct Curve {
    QLineSeries* line;
    QAreaSeries* band;  ///< null without intervals
    int colour;
  };
  void draw();
  void draw_power(const std::vector<PowerPoint>& points, const QString& name, int colour);
  void draw_roc(const RocCurve& roc);
  void attach(QAbstractSeries* series);

  std::shared_ptr<const CalibrationStudy> study_;
  PowerMeasure measure_ = PowerMeasure::detection;
  QCategoryAxis* x_;
  QValueAxis* y_;
  std::vector<Curve> curves_;
  QLineSeries* chance_ = nullptr;
  std::vector<std::pair<double, QString>> tips_;  ///< by position on the x axis
};

}  // namespace difr::views
