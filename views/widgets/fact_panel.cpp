#include "views/widgets/fact_panel.h"

#include <QFormLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "views/widgets/card.h"
#include "views/widgets/empty_state.h"

namespace difr::views {

FactPanel::FactPanel(const QString& name, QWidget* parent) : QFrame(parent) {
  make_card(this);
  auto* column = add_scrolling_column(this, name);
  column->setSpacing(8);
  title_ = make_label({}, TextStyle::section);
  title_->setWordWrap(true);
  column->addWidget(title_);
  text_ = make_label({}, TextStyle::body);
  text_->setWordWrap(true);
  column->addWidget(text_);
  facts_ = add_facts(column, 6);
  column->addStretch();
}

void FactPanel::show_facts(const QString& title, const QString& text,
                           const std::vector<std::pair<QString, QString>>& facts) {
  title_->setText(title);
  title_->setVisible(!title.isEmpty());
  text_->setText(text);
  text_->setVisible(!text.isEmpty());
  clear_facts(facts_);
  for (const auto& [label, value] : facts)
    if (!value.isEmpty()) add_fact(facts_, label, value).second->setWordWrap(true);
}

}  // namespace difr::views
