#pragma once
// One row per provider, the chosen ones' request scores against the calibration, and the verdict in words.

#include "views/pages/page.h"

class QLabel;
class QStackedLayout;

namespace difr::views {

class ProviderModel;
class ScoreChart;
class SortProxy;
class TableView;
class VerdictPanel;

class OverviewPage final : public Page {
  Q_OBJECT
 public:
  OverviewPage(const PageContext& context, QWidget* parent);
  void arrive(const Location& location) override;
  void refresh() override;

 private:
  void show(std::shared_ptr<const CaseOverview> overview);
  void show_selection();
  void open_requests(const QModelIndex& index);

  std::shared_ptr<const CaseOverview> overview_;
  std::int64_t wanted_provider_ = 0;
  ProviderModel* model_;
  SortProxy* sorted_;
  TableView* table_;
  ScoreChart* chart_;
  VerdictPanel* verdict_;
  QLabel* summary_;
  QLabel* basis_;
  QStackedLayout* stack_;
};

}  // namespace difr::views
