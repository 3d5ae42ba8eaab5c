#include "views/pages/analysis_page.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStackedLayout>
#include <QVBoxLayout>
#include <algorithm>

#include "views/widgets/empty_state.h"
#include "views/widgets/work_state.h"

namespace difr::views {

AnalysisPage::AnalysisPage(const PageContext& page_context, const Texts& texts, QWidget* parent)
    : Page(page_context, parent), texts_(texts) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(20, 16, 20, 16);
  column->setSpacing(6);
  auto* head = new QHBoxLayout;
  head->setSpacing(10);
  head->addWidget(make_label(texts.title, TextStyle::title));
  head->addStretch();
  provider_ = new QComboBox;
  provider_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  provider_->setMinimumWidth(fontMetrics().averageCharWidth() * 26);
  provider_->setAccessibleName(tr("Provider"));
  auto* label = make_label(tr("&Provider"), TextStyle::body);
  label->setBuddy(provider_);
  set_muted(label);
  head->addWidget(label);
  head->addWidget(provider_);
  column->addLayout(head);

  auto* body = new QWidget;
  stack_ = new QStackedLayout(body);
  stack_->addWidget(new QWidget);
  missing_ = new EmptyState(texts.icon);
  missing_->add_button(tr("Recompute…"), context().recompute);
  missing_->add_button(tr("Import trusted logs…"), context().import_trusted);
  stack_->addWidget(missing_);
  work_ = new WorkState;
  stack_->addWidget(work_);
  stopped_ = new EmptyState(QStringLiteral("cancel"));
  stopped_->add_button(texts.again, [this] { begin(); })->setObjectName(texts.page + QStringLiteral("_again"));
  stack_->addWidget(stopped_);
  column->addWidget(body, 1);

  connect(provider_, &QComboBox::activated, this, [this] {
    choose(provider_->currentData().toLongLong());
    context().navigation->refine({texts_.page, provider_id_, 0, -1});
  });
  connect(work_, &WorkState::cancelled, this, [this] {
    stop();
    stopped_->set_text(tr("The analysis was stopped"),
                       tr("Nothing is kept of it. It can be started again at any time."));
    set_state(State::stopped);
  });
  connect(context().analyses, &AnalysisService::progressed, this, [this](quint64 token, qint64 done, qint64 total) {
    if (token == token_) work_->set_progress(done, total, texts_.unit);
  });
}

void AnalysisPage::set_content(QWidget* content, QWidget* first_focus) {
  stack_->addWidget(content);
  first_focus_ = first_focus;
  refresh();
}

void AnalysisPage::arrive(const Location& location) {
  const bool other = location.provider_id != 0 && location.provider_id != provider_id_;
  if (other) provider_id_ = location.provider_id;
  // Work starts when the page is looked at, not when a case happens to be opened elsewhere.
  if (overview_ && (other || (token_ == 0 && stack_->currentIndex() == static_cast<int>(State::blank))))
    choose(provider_id_);
  (stack_->currentIndex() == static_cast<int>(State::shown) ? first_focus_ : provider_)->setFocus(Qt::OtherFocusReason);
}

void AnalysisPage::refresh() {
  if (!context().cases->is_open()) {
    stop();
    forget();
    overview_.reset();
    provider_->clear();
    return set_state(State::blank);
  }
  read_overview([this](auto overview) { take_overview(std::move(overview)); });
}

void AnalysisPage::take_overview(std::shared_ptr<const CaseOverview> now) {
  const bool stale = !overview_ || !same_basis(*overview_, *now);
  overview_ = std::move(now);
  provider_->clear();
  for (const ProviderRow& row : overview_->providers) {
    const QString name = QString::fromStdString(row.config.name);
    provider_->addItem(row.role == ProviderRole::calibration ? tr("%1 (trusted)").arg(name) : name,
                       QVariant::fromValue<qlonglong>(row.id));
  }
  if (std::ranges::find(overview_->providers, provider_id_, &ProviderRow::id) == overview_->providers.end()) {
    // A failed provider is the one with something to explain.
    const auto failed = std::ranges::find(overview_->decisions, Outcome::fail, &ProviderDecision::verdict);
    provider_id_ = failed != overview_->decisions.end() ? failed->provider_id
                   : overview_->providers.empty()       ? 0
                                                        : overview_->providers.front().id;
  }
  provider_->setCurrentIndex(provider_->findData(QVariant::fromValue<qlonglong>(provider_id_)));
  provider_->setEnabled(provider_->count() > 0);
  if (!stale) return;
  stop();
  forget();
  set_state(State::blank);
  if (isVisible()) choose(provider_id_);
}

void AnalysisPage::choose(std::int64_t provider_id) {
  stop();
  provider_id_ = provider_id;
  provider_->setCurrentIndex(provider_->findData(QVariant::fromValue<qlonglong>(provider_id)));
  if (const auto lack = missing(*overview_)) return show_missing(*lack);
  if (provider_id == 0) return set_state(State::blank);
  // Shown first: showing may end in another state.
  set_state(State::shown);
  if (!show_known(provider_id)) begin();
}

void AnalysisPage::begin() {
  stop();
  const Missing text = work_text(provider_->currentText());
  work_->begin(text.title, text.explanation);
  set_state(State::working);
  token_ = ask(provider_id_);
}

void AnalysisPage::stop() {
  if (token_ != 0) context().analyses->cancel(std::exchange(token_, 0));
}

void AnalysisPage::answered(std::int64_t provider_id) {
  token_ = 0;
  if (provider_id != provider_id_) return;
  set_state(State::shown);
  (void)show_known(provider_id);
}

void AnalysisPage::failed(const Problem& problem) {
  token_ = 0;
  context().report(problem);
  stopped_->set_text(tr("The analysis failed"), problem.message);
  set_state(State::stopped);
}

void AnalysisPage::show_missing(const Missing& missing) {
  missing_->set_text(missing.title, missing.explanation);
  set_state(State::missing);
}

void AnalysisPage::set_state(State state) {
  stack_->setCurrentIndex(static_cast<int>(state));
}

}  // namespace difr::views
