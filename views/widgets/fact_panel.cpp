#include "views/widgets/fact_panel.h"

#include <QFormLayout>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

#include "views/widgets/empty_state.h"

namespace difr::views {

FactPanel::FactPanel(const QString& name, QWidget* parent) : QFrame(parent) {
  setFrameShape(NoFrame);
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Base);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  auto* scroll = new QScrollArea;
  scroll->setFrameShape(NoFrame);
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setAccessibleName(name);
  outer->addWidget(scroll);
  auto* inner = new QWidget;
  inner->setBackgroundRole(QPalette::Base);
  scroll->setWidget(inner);
  auto* column = new QVBoxLayout(inner);
  column->setContentsMargins(18, 14, 18, 14);
  column->setSpacing(8);
  title_ = make_label({}, TextStyle::section);
  title_->setWordWrap(true);
  column->addWidget(title_);
  text_ = make_label({}, TextStyle::body);
  text_->setWordWrap(true);
  column->addWidget(text_);
  facts_ = new QFormLayout;
  facts_->setHorizontalSpacing(18);
  facts_->setVerticalSpacing(6);
  column->addLayout(facts_);
  column->addStretch();
}

void FactPanel::show_facts(const QString& title, const QString& text,
                           const std::vector<std::pair<QString, QString>>& facts) {
  title_->setText(title);
  title_->setVisible(!title.isEmpty());
  text_->setText(text);
  text_->setVisible(!text.isEmpty());
  while (facts_->rowCount() > 0) facts_->removeRow(0);
  for (const auto& [label, value] : facts) {
    if (value.isEmpty()) continue;
    auto* left = make_label(label, TextStyle::body);
    set_muted(left);
    auto* right = make_label(value, TextStyle::body);
    right->setWordWrap(true);
    facts_->addRow(left, right);
  }
}

}  // namespace difr::views
