#include "views/pages/jobs_page.h"

#include <QFontDatabase>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSplitter>
#include <QStackedLayout>
#include <QVBoxLayout>

#include "views/models/job_model.h"
#include "views/widgets/empty_state.h"
#include "views/widgets/progress_delegate.h"
#include "views/widgets/table_view.h"

namespace difr::views {

JobsPage::JobsPage(const PageContext& page_context, QWidget* parent) : Page(page_context, parent) {
  model_ = new JobModel(this);
  model_->set_service(context().jobs);

  auto* content = new QWidget(this);
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(20, 16, 20, 16);
  column->setSpacing(10);
  auto* head = new QHBoxLayout;
  head->addWidget(make_label(tr("Jobs"), TextStyle::title));
  head->addStretch();
  cancel_ = new QPushButton(tr("Cancel job"));
  cancel_->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_Period));
  cancel_->setToolTip(tr("Stops the selected job; finished batches are kept (%1)")
                          .arg(cancel_->shortcut().toString(QKeySequence::NativeText)));
  auto* clear = new QPushButton(tr("Clear finished"));
  head->addWidget(cancel_);
  head->addWidget(clear);
  column->addLayout(head);

  auto* split = new QSplitter(Qt::Vertical);
  split->setChildrenCollapsible(false);
  table_ = new TableView;
  table_->set_up(model_, tr("Jobs"));
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->set_widths({14, 34, 36, 18, 14, 10});
  table_->setItemDelegateForColumn(JobModel::progress, new ProgressDelegate(table_));
  table_->verticalHeader()->setDefaultSectionSize(table_->fontMetrics().height() + 22);
  split->addWidget(table_);
  auto* lower = new QWidget;
  auto* lower_column = new QVBoxLayout(lower);
  lower_column->setContentsMargins(0, 8, 0, 0);
  log_title_ = make_label(tr("Log"), TextStyle::section);
  lower_column->addWidget(log_title_);
  log_ = new QPlainTextEdit;
  log_->setReadOnly(true);
  log_->setMaximumBlockCount(5000);
  log_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  log_->setAccessibleName(tr("Log of the selected job"));
  log_->setFrameShape(QFrame::NoFrame);
  log_->setTabChangesFocus(true);
  lower_column->addWidget(log_);
  split->addWidget(lower);
  split->setStretchFactor(0, 3);
  split->setStretchFactor(1, 2);
  column->addWidget(split, 1);

  auto* empty = new EmptyState(QStringLiteral("jobs"));
  empty->set_text(tr("No jobs yet"), tr("Imports and recomputations appear here with their progress. Drop a log onto "
                                        "the window, or recompute what the case holds."));
  empty->add_button(tr("Recompute…"), context().recompute);
  empty->add_button(tr("Import logs…"), context().import);

  stack_ = new QStackedLayout(this);
  stack_->addWidget(empty);
  stack_->addWidget(content);

  connect(cancel_, &QPushButton::clicked, this, [this] {
    if (const JobInfo* job = model_->at(table_->currentIndex().row())) context().jobs->cancel(job->id);
  });
  connect(clear, &QPushButton::clicked, this, [this] { context().jobs->clear_finished(); });
  connect(table_, &TableView::current_row_changed, this, &JobsPage::show_selected);
  connect(model_, &QAbstractItemModel::dataChanged, this, &JobsPage::show_selected);
  const auto reset = [this] {
    stack_->setCurrentIndex(model_->rowCount() > 0 ? 1 : 0);
    const int row = std::max(model_->row_of(shown_job_), 0);
    if (model_->rowCount() > 0) table_->selectRow(row);
    show_selected();
  };
  connect(model_, &QAbstractItemModel::modelReset, this, reset);
  reset();
}

void JobsPage::arrive(const Location&) {
  if (model_->rowCount() > 0) table_->setFocus(Qt::OtherFocusReason);
}

void JobsPage::show_selected() {
  const JobInfo* job = model_->at(table_->currentIndex().row());
  cancel_->setEnabled(job && job->active() && job->state != JobState::cancelling);
  if (!job) {
    log_->clear();
    shown_job_ = 0;
    return;
  }
  if (job->id != shown_job_ || job->log.size() < shown_lines_) {
    log_->clear();
    shown_job_ = job->id;
    shown_lines_ = 0;
    log_title_->setText(tr("Log of “%1”").arg(job->title));
  }
  for (; shown_lines_ < job->log.size(); ++shown_lines_) log_->appendPlainText(job->log[shown_lines_]);
}

}  // namespace difr::views
