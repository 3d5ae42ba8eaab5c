#pragma once
// What would explain one provider's tokens? The competing explanations, ranked, and what the data cannot separate.

#include <map>

#include "views/pages/page.h"

class QComboBox;
class QLabel;
class QStackedLayout;

namespace difr::views {

class EmptyState;
class ExplanationModel;
class ExplanationPanel;
class GapChart;
class TableView;
class WorkState;

class DiagnosisPage final : public Page {
  Q_OBJECT
 public:
  DiagnosisPage(const PageContext& context, QWidget* parent);
  ~DiagnosisPage() override;
  void arrive(const Location& location) override;
  void refresh() override;
  [[nodiscard]] bool busy() const override { return token_ != 0; }

 private:
  enum class State { blank, missing, working, stopped, shown };
  [[nodiscard]] QWidget* make_content();
  void take_overview(std::shared_ptr<const CaseOverview> overview);
  void choose(std::int64_t provider_id);
  void begin();
  void stop();
  void show_diagnosis(std::shared_ptr<const Diagnosis> diagnosis);
  void show_explanation(int row);
  void set_state(State state);

  std::shared_ptr<const CaseOverview> overview_;
  std::shared_ptr<const Diagnosis> diagnosis_;
  /// Of this session, as long as run and calibration stay what they were.
  std::map<std::int64_t, std::shared_ptr<const Diagnosis>> known_;
  std::int64_t provider_id_ = 0;
  quint64 token_ = 0;  ///< of the analysis under way; 0: none

  QComboBox* provider_;
  QLabel* summary_;
  ExplanationModel* model_;
  TableView* table_;
  GapChart* chart_;
  ExplanationPanel* panel_;
  QLabel* pairs_;
  WorkState* work_;
  EmptyState* missing_;
  EmptyState* stopped_;
  QStackedLayout* stack_;
};

}  // namespace difr::views
