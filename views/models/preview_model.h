#pragma once
// Providers under the levels being tried, beside what is decided.

#include <memory>

#include "core/verdict/decision_preview.h"
#include "views/data/case_source.h"
#include "views/models/table_model.h"

namespace difr::views {

class PreviewModel final : public TableModel {
  Q_OBJECT
 public:
  enum Column { name, decided, would_be, flagged, p_value, q_value, score, threshold, llr_p_value, column_count };

  explicit PreviewModel(QObject* parent = nullptr);
  /// Null for either while it is not known; rows follow the preview.
  void set_preview(std::shared_ptr<const DecisionPreview> preview, std::shared_ptr<const CaseOverview> overview);
  [[nodiscard]] const ProviderPreview* at(int row) const;
  [[nodiscard]] const ProviderDecision* decision(int row) const;  ///< as decided; null: not yet
  [[nodiscard]] int row_of(std::int64_t provider_id) const;       ///< -1: not there
  [[nodiscard]] int changed() const;                              ///< verdicts that would change

 private:
  [[nodiscard]] int rows() const override;
  [[nodiscard]] QVariant cell(int row, int column, int role) const override;
  [[nodiscard]] QVariant display(int row, int column) const;
  [[nodiscard]] bool differs(int row) const;

  std::shared_ptr<const DecisionPreview> preview_;
  std::shared_ptr<const CaseOverview> overview_;
};

}  // namespace difr::views
