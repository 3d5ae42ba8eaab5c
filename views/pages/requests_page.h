#pragma once
// All requests in a sortable, filterable table that pages through the case.

#include <QTimer>

#include "views/pages/page.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QStackedLayout;

namespace difr::views {

class RequestModel;
class TableView;

class RequestsPage final : public Page {
  Q_OBJECT
 public:
  RequestsPage(const PageContext& context, QWidget* parent);
  void arrive(const Location& location) override;
  void refresh() override;

 private:
  void load_providers();
  void apply_filter();
  void show_state();
  void open_request(const QModelIndex& index);

  RequestModel* model_;
  TableView* table_;
  QComboBox* provider_;
  QLineEdit* text_;
  QCheckBox* flagged_;
  QLabel* state_;
  QStackedLayout* stack_;
  QTimer typing_;
  std::int64_t wanted_provider_ = 0;
};

}  // namespace difr::views
