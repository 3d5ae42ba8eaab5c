#pragma once
// What to recompute, on which reference: model folder, precision, providers.

#include <QDialog>

#include "views/data/case_source.h"
#include "views/data/job_service.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QListWidget;
class QPushButton;

namespace difr::views {

class RecomputeDialog final : public QDialog {
  Q_OBJECT
 public:
  RecomputeDialog(CaseSource* cases, const QString& model_dir, QWidget* parent);
  [[nodiscard]] RecomputeRequest request() const;

 private:
  void check();

  QLineEdit* model_;
  QComboBox* dtype_;
  QListWidget* providers_;
  QPushButton* start_ = nullptr;
};

}  // namespace difr::views
