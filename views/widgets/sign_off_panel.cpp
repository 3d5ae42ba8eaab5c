#include "views/widgets/sign_off_panel.h"

#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "views/models/sign_off_model.h"
#include "views/widgets/card.h"
#include "views/widgets/empty_state.h"
#include "views/widgets/table_view.h"

namespace difr::views {

SignOffPanel::SignOffPanel(QWidget* parent) : QFrame(parent) {
  make_card(this);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(14, 10, 14, 10);
  row->setSpacing(18);

  auto* form = new QVBoxLayout;
  form->setSpacing(6);
  form->addWidget(make_label(tr("Sign-off"), TextStyle::section));
  subject_ = make_label({}, TextStyle::small);
  subject_->setWordWrap(true);
  set_muted(subject_);
  form->addWidget(subject_);
  author_ = new QLineEdit;
  author_->setPlaceholderText(tr("Who stands for it"));
  author_->setAccessibleName(tr("Who signs"));
  reason_ = new QLineEdit;
  reason_->setPlaceholderText(tr("Why the verdict is accepted"));
  reason_->setAccessibleName(tr("Reason of the sign-off"));
  auto* fields = new QFormLayout;
  fields->setHorizontalSpacing(12);
  fields->addRow(tr("&Name"), author_);
  fields->addRow(tr("Rea&son"), reason_);
  form->addLayout(fields);
  sign_ = new QPushButton(tr("Sign &off"));
  sign_->setObjectName(QStringLiteral("sign_off"));
  sign_->setToolTip(tr("Kept in the case with the numbers it rests on; the audit trail has a row of it"));
  form->addWidget(sign_, 0, Qt::AlignLeft);
  form->addStretch();
  row->addLayout(form, 5);

  auto* list = new QVBoxLayout;
  list->setSpacing(6);
  model_ = new SignOffModel(this);
  table_ = new TableView;
  table_->set_up(model_, tr("Sign-offs"));
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->set_widths({14, 12, 14, 22, 8});
  table_->setMinimumHeight(90);
  list->addWidget(table_, 1);
  withdraw_ = new QPushButton(tr("&Withdraw"));
  withdraw_->setToolTip(tr("Takes the chosen sign-off back; the audit trail keeps that it was given"));
  list->addWidget(withdraw_, 0, Qt::AlignRight);
  row->addLayout(list, 7);

  for (QLineEdit* field : {author_, reason_}) {
    connect(field, &QLineEdit::textChanged, this, &SignOffPanel::show_ready);
    connect(field, &QLineEdit::returnPressed, sign_, &QPushButton::click);
  }
  connect(sign_, &QPushButton::clicked, this, [this] { emit sign_wanted(author_->text(), reason_->text()); });
  connect(withdraw_, &QPushButton::clicked, this, [this] {
    if (const SignOff* chosen = model_->row(table_->currentIndex().row())) emit withdraw_wanted(chosen->finding_id);
  });
  connect(table_, &TableView::current_row_changed, this, &SignOffPanel::show_ready);
  show_ready();
}

void SignOffPanel::set_sign_offs(std::vector<SignOff> sign_offs) {
  if (author_->text().isEmpty() && !sign_offs.empty()) author_->setText(QString::fromStdString(sign_offs[0].author));
  model_->set_sign_offs(std::move(sign_offs));
  show_ready();
}

void SignOffPanel::set_subject(const QString& statement, bool ready) {
  subject_->setText(statement);
  ready_ = ready;
  show_ready();
}

void SignOffPanel::signed_off() {
  reason_->clear();
}

void SignOffPanel::show_ready() {
  sign_->setEnabled(ready_ && !author_->text().trimmed().isEmpty() && !reason_->text().trimmed().isEmpty());
  withdraw_->setEnabled(model_->row(table_->currentIndex().row()) != nullptr);
}

}  // namespace difr::views
