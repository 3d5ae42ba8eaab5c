#pragma once
// What a calibration can promise about single requests: one row per false-alarm rate.

#include <memory>

#include "core/verdict/calibration_study.h"
#include "views/models/table_model.h"

namespace difr::views {

class PromiseModel final : public TableModel {
  Q_OBJECT
 public:
  enum Column { alpha, limit, needed, supported, column_count };

  explicit PromiseModel(QObject* parent = nullptr);
  void set_study(std::shared_ptr<const CalibrationStudy> study);
  [[nodiscard]] const TolerancePromise* at(int row) const;

 private:
  [[nodiscard]] int rows() const override;
  [[nodiscard]] QVariant cell(int row, int column, int role) const override;
  [[nodiscard]] QVariant display(int row, int column) const;

  std::shared_ptr<const CalibrationStudy> study_;
};

}  // namespace difr::views
