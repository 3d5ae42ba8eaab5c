#pragma once
// Which levels to decide by: what they promise, whom they would fail, what the calibration cannot support; and who
// stands for the verdicts.

#include <QTimer>

#include "views/pages/page.h"

class QLabel;
class QProgressBar;
class QPushButton;
class QStackedLayout;

namespace difr::views {

class EmptyState;
class FactPanel;
class LevelSlider;
class PreviewModel;
class SignOffPanel;
class SortProxy;
class TableView;

class DecisionPage final : public Page {
  Q_OBJECT
 public:
  DecisionPage(const PageContext& context, QWidget* parent);
  void arrive(const Location& location) override;
  void refresh() override;
  [[nodiscard]] bool busy() const override { return token_ != 0 || settle_.isActive(); }

 private:
  [[nodiscard]] QWidget* make_levels();
  [[nodiscard]] QWidget* make_providers();
  void take_overview(std::shared_ptr<const CaseOverview> overview);
  void levels_moved();
  void to_decided_levels();
  void ask();
  void stop();
  void show_preview();
  void show_consequences();
  void show_provider();
  void sign(const QString& author, const QString& reason);
  [[nodiscard]] DecisionOptions levels() const;
  [[nodiscard]] bool at_decided_levels() const;
  /// Row of the model that is chosen in the table; -1: none.
  [[nodiscard]] int chosen() const;

  std::shared_ptr<const CaseOverview> overview_;
  std::shared_ptr<const DecisionPreview> preview_;
  std::int64_t wanted_provider_ = 0;
  quint64 token_ = 0;
  QTimer settle_;  ///< a moving slider asks once it rests

  LevelSlider* alpha_;
  LevelSlider* request_alpha_;
  QLabel* cannot_;
  QWidget* caution_;  ///< the sign before it
  QLabel* state_;
  QProgressBar* progress_;
  QPushButton* decide_;
  QPushButton* back_;
  PreviewModel* model_;
  SortProxy* sorted_;
  TableView* table_;
  FactPanel* facts_;
  SignOffPanel* sign_off_;
  EmptyState* missing_;
  QStackedLayout* stack_;
};

}  // namespace difr::views
