#pragma once
// The calibrations of a case, one environment a row, held against the newest.

#include <memory>

#include "core/verdict/calibration_study.h"
#include "views/models/table_model.h"

namespace difr::views {

class EnvironmentModel final : public TableModel {
  Q_OBJECT
 public:
  enum Column { name, drift, threshold, requests, tokens, clip, sigma, environment, column_count };

  explicit EnvironmentModel(QObject* parent = nullptr);
  void set_study(std::shared_ptr<const CalibrationStudy> study);

 private:
  [[nodiscard]] int rows() const override;
  [[nodiscard]] QVariant cell(int row, int column, int role) const override;
  [[nodiscard]] QVariant display(const EnvironmentFacts& facts, int column) const;

  std::shared_ptr<const CalibrationStudy> study_;
};

}  // namespace difr::views
