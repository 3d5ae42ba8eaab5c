#pragma once
// What would explain one provider's tokens? The competing explanations, ranked, and what the data cannot separate.

#include <map>

#include "views/pages/analysis_page.h"

class QLabel;

namespace difr::views {

class ExplanationModel;
class ExplanationPanel;
class GapChart;
class TableView;

class DiagnosisPage final : public AnalysisPage {
  Q_OBJECT
 public:
  DiagnosisPage(const PageContext& context, QWidget* parent);

 protected:
  [[nodiscard]] std::optional<Missing> missing(const CaseOverview& overview) const override;
  [[nodiscard]] bool same_basis(const CaseOverview& before, const CaseOverview& now) const override;
  [[nodiscard]] bool show_known(std::int64_t provider_id) override;
  [[nodiscard]] quint64 ask(std::int64_t provider_id) override;
  [[nodiscard]] Missing work_text(const QString& provider) const override;
  void forget() override;

 private:
  [[nodiscard]] QWidget* make_content();
  void show_diagnosis();
  void show_explanation(int row);

  std::shared_ptr<const Diagnosis> diagnosis_;
  std::map<std::int64_t, std::shared_ptr<const Diagnosis>> known_;  ///< by provider

  QLabel* summary_;
  ExplanationModel* model_;
  TableView* table_;
  GapChart* chart_;
  ExplanationPanel* panel_;
  QLabel* pairs_;
};

}  // namespace difr::views
