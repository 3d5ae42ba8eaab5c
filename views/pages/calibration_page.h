#pragma once
// What the thresholds rest on: trusted scores, what so few of them can promise, how many tokens a provider needs to
// stand out, and how environments differ.

#include <map>

#include "views/pages/analysis_page.h"

class QComboBox;
class QLabel;

namespace difr::views {

class EnvironmentModel;
class PowerChart;
class PromiseModel;
class ScoreChart;
class TableView;

class CalibrationPage final : public AnalysisPage {
  Q_OBJECT
 public:
  CalibrationPage(const PageContext& context, QWidget* parent);

 protected:
  [[nodiscard]] std::optional<Missing> missing(const CaseOverview& overview) const override;
  [[nodiscard]] bool same_basis(const CaseOverview& before, const CaseOverview& now) const override;
  [[nodiscard]] bool show_known(std::int64_t provider_id) override;
  [[nodiscard]] quint64 ask(std::int64_t provider_id) override;
  [[nodiscard]] Missing work_text(const QString& provider) const override;
  void forget() override;

 private:
  using Study = std::shared_ptr<const CalibrationStudy>;
  [[nodiscard]] QWidget* make_content();
  [[nodiscard]] QWidget* make_promises();
  [[nodiscard]] QWidget* make_power();
  [[nodiscard]] QWidget* make_environments();
  void show_study();
  void show_scores();

  Study study_;
  std::map<std::int64_t, Study> known_;  ///< by the provider compared with

  QLabel* basis_;
  QLabel* noise_;
  QLabel* promise_text_;
  QLabel* environment_text_;
  QLabel* power_text_;
  QComboBox* measure_;
  PromiseModel* promises_;
  EnvironmentModel* environments_;
  TableView* promise_table_;
  TableView* environment_table_;
  ScoreChart* scores_;
  PowerChart* power_;
};

}  // namespace difr::views
