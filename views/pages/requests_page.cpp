#include "views/pages/requests_page.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QStackedLayout>
#include <QVBoxLayout>

#include "views/models/format.h"
#include "views/models/request_model.h"
#include "views/theme/icons.h"
#include "views/widgets/empty_state.h"
#include "views/widgets/table_view.h"

namespace difr::views {

RequestsPage::RequestsPage(const PageContext& page_context, QWidget* parent) : Page(page_context, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(20, 16, 20, 16);
  column->setSpacing(10);
  auto* head = new QHBoxLayout;
  head->addWidget(make_label(tr("Requests"), TextStyle::title));
  head->addStretch();
  state_ = make_label({}, TextStyle::body);
  set_muted(state_);
  head->addWidget(state_);
  column->addLayout(head);

  auto* filter = new QHBoxLayout;
  filter->setSpacing(10);
  provider_ = new QComboBox;
  provider_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  provider_->setMinimumWidth(fontMetrics().averageCharWidth() * 26);
  provider_->setAccessibleName(tr("Provider"));
  provider_->addItem(tr("All providers"), 0);
  text_ = new QLineEdit;
  text_->setPlaceholderText(tr("Request id contains…"));
  text_->setClearButtonEnabled(true);
  text_->addAction(icon(QStringLiteral("filter")), QLineEdit::LeadingPosition);
  text_->setAccessibleName(tr("Filter by request id"));
  flagged_ = new QCheckBox(tr("&Flagged only"));
  filter->addWidget(provider_);
  filter->addWidget(text_, 1);
  filter->addWidget(flagged_);
  column->addLayout(filter);

  model_ = new RequestModel(this);
  table_ = new TableView;
  table_->set_up(model_, tr("Requests"));
  table_->set_widths({11, 19, 7, 6, 9, 9, 9, 9, 6, 6, 11});
  table_->horizontalHeader()->setSortIndicatorShown(true);
  table_->horizontalHeader()->setSortIndicatorClearable(true);
  table_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  table_->setSortingEnabled(true);

  auto* body = new QWidget;
  stack_ = new QStackedLayout(body);
  stack_->addWidget(table_);
  auto* none = new EmptyState(QStringLiteral("filter"));
  none->set_text(tr("No request matches"), tr("Loosen the filter, or import more logs."));
  none->add_button(tr("Clear the filter"), [this] {
    provider_->setCurrentIndex(0);
    text_->clear();
    flagged_->setChecked(false);
    apply_filter();
  });
  stack_->addWidget(none);
  column->addWidget(body, 1);

  typing_.setSingleShot(true);
  typing_.setInterval(180);
  connect(&typing_, &QTimer::timeout, this, &RequestsPage::apply_filter);
  connect(text_, &QLineEdit::textEdited, this, [this] { typing_.start(); });
  connect(text_, &QLineEdit::returnPressed, this, [this] {
    apply_filter();
    table_->setFocus(Qt::TabFocusReason);
  });
  connect(text_, &QLineEdit::textChanged, this, [this](const QString& text) {
    if (text.isEmpty()) typing_.start(0);
  });
  connect(flagged_, &QCheckBox::toggled, this, &RequestsPage::apply_filter);
  connect(provider_, &QComboBox::activated, this, [this] {
    wanted_provider_ = provider_->currentData().toLongLong();
    context().navigation->go({page_id::requests, wanted_provider_, 0, -1});
    apply_filter();
  });
  connect(table_, &QTableView::activated, this, &RequestsPage::open_request);
  connect(table_, &QTableView::doubleClicked, this, &RequestsPage::open_request);
  connect(model_, &RequestModel::total_changed, this, &RequestsPage::show_state);
  connect(model_, &RequestModel::loading_changed, this, &RequestsPage::show_state);
  connect(model_, &RequestModel::failed, this, [this](const Problem& problem) { context().report(problem); });
  connect(context().cases, &QObject::destroyed, model_, [this] { model_->set_source(nullptr); });
  model_->set_source(context().cases);
  load_providers();
}

void RequestsPage::arrive(const Location& location) {
  wanted_provider_ = location.provider_id;
  const int row = provider_->findData(QVariant::fromValue<qlonglong>(wanted_provider_));
  if (row >= 0) provider_->setCurrentIndex(row);
  apply_filter();
  table_->setFocus(Qt::OtherFocusReason);
}

void RequestsPage::refresh() {
  load_providers();
  model_->reload();
}

void RequestsPage::load_providers() {
  if (!context().cases->is_open()) return;
  read_overview([this](const auto& overview) {
    provider_->clear();
    provider_->addItem(tr("All providers"), QVariant::fromValue<qlonglong>(0));
    for (const ProviderRow& row : overview->providers)
      provider_->addItem(QString::fromStdString(row.config.name), QVariant::fromValue<qlonglong>(row.id));
    provider_->setCurrentIndex(std::max(provider_->findData(QVariant::fromValue<qlonglong>(wanted_provider_)), 0));
  });
}

void RequestsPage::apply_filter() {
  RequestQuery query = model_->query();
  query.provider_ids.clear();
  if (wanted_provider_ != 0) query.provider_ids.push_back(wanted_provider_);
  query.external_id_contains = text_->text().trimmed().toStdString();
  query.flagged_only = flagged_->isChecked();
  const RequestQuery& now = model_->query();
  const bool same = query.provider_ids == now.provider_ids && query.external_id_contains == now.external_id_contains &&
                    query.flagged_only == now.flagged_only;
  if (!same) model_->set_query(query);
}

void RequestsPage::show_state() {
  const bool empty = model_->rowCount() == 0 && !model_->loading() && model_->total().value_or(1) == 0;
  stack_->setCurrentIndex(empty ? 1 : 0);
  if (model_->total())
    state_->setText(tr("%1 requests").arg(format_count(*model_->total())));
  else
    state_->setText(model_->loading() ? tr("loading…") : tr("counting…"));
}

void RequestsPage::open_request(const QModelIndex& index) {
  const RequestSummary* request = model_->at(index.row());
  if (request) context().navigation->go({page_id::request, request->provider_id, request->id, -1});
}

}  // namespace difr::views
