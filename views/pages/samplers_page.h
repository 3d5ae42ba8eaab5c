#pragma once
// Every sampler the workbench knows: which it can reproduce, how that was verified, and what the others lack.

#include "views/pages/page.h"

class QCheckBox;
class QLabel;
class QLineEdit;
class QStackedLayout;

namespace difr::views {

class FactPanel;
class SamplerFilter;
class SamplerModel;
class TableView;

class SamplersPage final : public Page {
  Q_OBJECT
 public:
  SamplersPage(const PageContext& context, QWidget* parent);
  void arrive(const Location& location) override;
  void refresh() override;

 private:
  void apply_filter();
  void show_selected();

  SamplerModel* model_;
  SamplerFilter* shown_;
  TableView* table_;
  FactPanel* facts_;
  QLineEdit* words_;
  QCheckBox* reproducible_;
  QLabel* count_;
  QStackedLayout* stack_;
};

}  // namespace difr::views
