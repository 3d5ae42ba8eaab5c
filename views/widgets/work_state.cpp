#include "views/widgets/work_state.h"

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>
#include <tuple>

#include "views/models/format.h"
#include "views/widgets/empty_state.h"

namespace difr::views {

WorkState::WorkState(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setSpacing(10);
  column->addStretch(2);
  std::tie(title_, explanation_) = add_message(column);
  column->addSpacing(4);
  bar_ = new QProgressBar;
  bar_->setFixedWidth(320);
  bar_->setTextVisible(false);
  bar_->setMaximumHeight(fontMetrics().height() / 2 + 2);
  bar_->setAccessibleName(tr("Progress of the analysis"));
  column->addWidget(bar_, 0, Qt::AlignHCenter);
  count_ = make_label({}, TextStyle::small);
  count_->setAlignment(Qt::AlignCenter);
  set_muted(count_);
  column->addWidget(count_);
  cancel_ = new QPushButton(tr("Cancel"));
  cancel_->setObjectName(QStringLiteral("cancel_analysis"));
  cancel_->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_Period));
  cancel_->setToolTip(tr("Stops this analysis (%1)").arg(cancel_->shortcut().toString(QKeySequence::NativeText)));
  connect(cancel_, &QPushButton::clicked, this, &WorkState::cancelled);
  column->addWidget(cancel_, 0, Qt::AlignHCenter);
  column->addStretch(3);
}

void WorkState::begin(const QString& title, const QString& explanation) {
  title_->setText(title);
  explanation_->setText(explanation);
  setAccessibleName(title);
  setAccessibleDescription(explanation);
  count_->setText(QStringLiteral(" "));
  bar_->setRange(0, 0);
}

void WorkState::set_progress(qint64 done, qint64 total, const QString& unit) {
  if (total <= 0) return;
  bar_->setRange(0, static_cast<int>(total));
  bar_->setValue(static_cast<int>(done));
  count_->setText(tr("%1 of %2 %3").arg(format_count(done), format_count(total), unit));
}

}  // namespace difr::views
