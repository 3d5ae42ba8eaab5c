#include "views/widgets/explanation_panel.h"

#include <QFormLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "views/models/explanation_model.h"
#include "views/models/format.h"
#include "views/widgets/card.h"
#include "views/widgets/empty_state.h"

namespace difr::views {

ExplanationPanel::ExplanationPanel(QWidget* parent) : QFrame(parent) {
  make_card(this);
  auto* column = add_scrolling_column(this, tr("The chosen explanation"));
  column->setSpacing(7);
  title_ = make_label({}, TextStyle::title);
  column->addWidget(title_);
  const auto paragraph = [&](TextStyle style) {
    auto* label = make_label({}, style);
    label->setWordWrap(true);
    column->addWidget(label);
    return label;
  };
  text_ = paragraph(TextStyle::body);
  parameters_ = add_facts(column, 5);
  const auto heading = [&](const QString& text) {
    column->addSpacing(4);
    auto* label = make_label(text, TextStyle::small);
    set_muted(label);
    column->addWidget(label);
    return label;
  };
  alike_title_ = heading(tr("These data cannot tell it from"));
  alike_ = paragraph(TextStyle::body);
  separates_title_ = heading(tr("What would tell it from its neighbours"));
  separates_ = paragraph(TextStyle::body);
  column->addStretch();
  show_explanation(nullptr, nullptr);
}

void ExplanationPanel::show_explanation(const Diagnosis* diagnosis, const Explanation* explanation) {
  clear_facts(parameters_);
  const bool known = diagnosis && explanation;
  for (QLabel* label : {title_, alike_title_, alike_, separates_title_, separates_}) label->setVisible(known);
  if (!known) return text_->setText(tr("Choose an explanation in the table."));
  title_->setText(explanation_title(explanation->kind));
  text_->setText(QString::fromStdString(explanation->text));
  const auto line = [&](const QString& label, const QString& value) {
    add_fact(parameters_, label, value).second->setWordWrap(true);
  };
  for (const FittedParameter& parameter : explanation->parameters) {
    const auto [name, value] = parameter_text(parameter);
    line(name, value);
  }
  line(tr("Behind the best"), tr("%1 nats over %2 tokens")
                                  .arg(format_nats(nats_behind(*diagnosis, *explanation)),
                                       format_count(static_cast<qint64>(diagnosis->tokens))));
  QStringList alike;
  for (const ExplanationKind kind : inseparable_from(*diagnosis, explanation->kind)) alike << explanation_title(kind);
  alike_->setText(alike.isEmpty()
                      ? tr("nothing else: every other explanation is more than %1 nats away").arg(diagnosis->separation)
                      : alike.join(QStringLiteral(", ")));
  separates_->setText(QString::fromStdString(explanation->separates));
  separates_title_->setVisible(!explanation->separates.empty());
}

}  // namespace difr::views
