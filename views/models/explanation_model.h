#pragma once
// The competing explanations of one provider's tokens, in the order in which the diagnosis ranks them.

#include <memory>

#include "core/diagnosis/diagnose.h"
#include "views/models/table_model.h"

namespace difr::views {

class ExplanationModel final : public TableModel {
  Q_OBJECT
 public:
  enum Column { place, explanation, standing, behind, log_likelihood, fitted, parameters, column_count };

  explicit ExplanationModel(QObject* parent = nullptr);
  void set_diagnosis(std::shared_ptr<const Diagnosis> diagnosis);
  /// Null for a row that is not there.
  [[nodiscard]] const Explanation* at(int row) const;

 private:
  [[nodiscard]] int rows() const override;
  [[nodiscard]] QVariant cell(int row, int column, int role) const override;
  [[nodiscard]] QVariant display(int row, int column) const;
  /// Named first, or not to be told from the one named first.
  [[nodiscard]] bool near_best(int row) const;

  std::shared_ptr<const Diagnosis> diagnosis_;
};

/// A few words for tables and charts.
[[nodiscard]] QString explanation_title(ExplanationKind kind);
/// Fitted parameters with their intervals, on one line; empty when nothing was fitted.
[[nodiscard]] QString parameters_text(const Explanation& explanation);
/// One parameter: its name for people, and its value with the interval.
[[nodiscard]] std::pair<QString, QString> parameter_text(const FittedParameter& parameter);

}  // namespace difr::views
