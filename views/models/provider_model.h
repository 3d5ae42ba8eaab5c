#pragma once
// One row per provider configuration: what was decided and on what numbers.

#include "views/data/case_source.h"
#include "views/models/table_model.h"

namespace difr::views {

class ProviderModel final : public TableModel {
  Q_OBJECT
 public:
  enum Column {
    verdict,
    name,
    exact_match,
    mean_margin,
    score,
    threshold,
    p_value,
    llr_p_value,
    requests,
    tokens,
    sampler,
    reason,
    column_count
  };

  explicit ProviderModel(QObject* parent = nullptr);
  void set_overview(std::shared_ptr<const CaseOverview> overview);
  [[nodiscard]] int row_of(std::int64_t provider_id) const;
  [[nodiscard]] std::int64_t provider_id(int row) const;

 private:
  [[nodiscard]] int rows() const override { return static_cast<int>(lines_.size()); }
  [[nodiscard]] QVariant cell(int row, int column, int role) const override;

  struct Line {
    const ProviderRow* provider;
    const ProviderDecision* decision;  ///< null: not decided
  };
  [[nodiscard]] QVariant display(const Line& line, int column) const;
  [[nodiscard]] QVariant raw(const Line& line, int column) const;

  std::shared_ptr<const CaseOverview> overview_;
  std::vector<Line> lines_;
};

[[nodiscard]] QString outcome_text(Outcome outcome);
/// Order of verdicts in tables: findings first.
[[nodiscard]] int severity(Outcome outcome);

}  // namespace difr::views
