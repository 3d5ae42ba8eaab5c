#pragma once
// Imports and recomputations: progress, rate, time left, cancel, log.

#include "views/pages/page.h"

class QLabel;
class QPlainTextEdit;
class QPushButton;
class QStackedLayout;

namespace difr::views {

class JobModel;
class TableView;

class JobsPage final : public Page {
  Q_OBJECT
 public:
  JobsPage(const PageContext& context, QWidget* parent);
  void arrive(const Location& location) override;
  void refresh() override {}

 private:
  void show_selected();

  JobModel* model_;
  TableView* table_;
  QPlainTextEdit* log_;
  QLabel* log_title_;
  QPushButton* cancel_;
  QStackedLayout* stack_;
  quint64 shown_job_ = 0;
  qsizetype shown_lines_ = 0;
};

}  // namespace difr::views
