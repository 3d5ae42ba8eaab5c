#include "views/pages/diagnosis_page.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedLayout>
#include <QVBoxLayout>
#include <algorithm>

#include "views/charts/gap_chart.h"
#include "views/models/explanation_model.h"
#include "views/models/format.h"
#include "views/widgets/empty_state.h"
#include "views/widgets/explanation_panel.h"
#include "views/widgets/table_view.h"
#include "views/widgets/work_state.h"

namespace difr::views {
namespace {

/// Diagnoses rest on the run's evidence and on the calibration's noise; another of either makes them stale.
bool same_basis(const CaseOverview& a, const CaseOverview& b) {
  const auto run = [](const CaseOverview& o) {
    return o.run ? std::pair(o.run->id, o.run->requests_done) : std::pair(std::int64_t{0}, std::int64_t{0});
  };
  return run(a) == run(b) && a.noise_sigma == b.noise_sigma;
}

}  // namespace

DiagnosisPage::DiagnosisPage(const PageContext& page_context, QWidget* parent) : Page(page_context, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(20, 16, 20, 16);
  column->setSpacing(6);
  auto* head = new QHBoxLayout;
  head->setSpacing(10);
  head->addWidget(make_label(tr("Diagnosis"), TextStyle::title));
  head->addStretch();
  provider_ = new QComboBox;
  provider_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  provider_->setMinimumWidth(fontMetrics().averageCharWidth() * 26);
  provider_->setAccessibleName(tr("Provider to diagnose"));
  auto* label = make_label(tr("&Provider"), TextStyle::body);
  label->setBuddy(provider_);
  set_muted(label);
  head->addWidget(label);
  head->addWidget(provider_);
  column->addLayout(head);

  auto* body = new QWidget;
  stack_ = new QStackedLayout(body);
  stack_->addWidget(new QWidget);
  missing_ = new EmptyState(QStringLiteral("diagnosis"));
  missing_->add_button(tr("Recompute…"), context().recompute);
  stack_->addWidget(missing_);
  work_ = new WorkState;
  stack_->addWidget(work_);
  stopped_ = new EmptyState(QStringLiteral("cancel"));
  stopped_->add_button(tr("Diagnose again"), [this] { begin(); })->setObjectName(QStringLiteral("diagnose_again"));
  stack_->addWidget(stopped_);
  stack_->addWidget(make_content());
  column->addWidget(body, 1);

  connect(provider_, &QComboBox::activated, this, [this] {
    choose(provider_->currentData().toLongLong());
    context().navigation->refine({page_id::diagnosis, provider_id_, 0, -1});
  });
  connect(work_, &WorkState::cancelled, this, [this] {
    stop();
    stopped_->set_text(tr("The diagnosis was stopped"),
                       tr("Nothing is kept of it. It can be started again at any time."));
    set_state(State::stopped);
  });
  connect(context().analyses, &AnalysisService::progressed, this, [this](quint64 token, qint64 done, qint64 total) {
    if (token == token_) work_->set_progress(done, total, tr("explanations judged"));
  });
  refresh();
}

DiagnosisPage::~DiagnosisPage() = default;

QWidget* DiagnosisPage::make_content() {
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  summary_ = make_label({}, TextStyle::body);
  summary_->setWordWrap(true);
  column->addWidget(summary_);
  pairs_ = make_label({}, TextStyle::small);
  pairs_->setWordWrap(true);
  set_muted(pairs_);
  column->addWidget(pairs_);
  column->addSpacing(6);

  model_ = new ExplanationModel(this);
  table_ = new TableView;
  table_->set_up(model_, tr("Explanations, best first"));
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->set_widths({2, 20, 22, 9, 12, 5, 40});
  table_->setMinimumHeight(120);
  connect(table_, &TableView::current_row_changed, this, &DiagnosisPage::show_explanation);

  auto* split = new QSplitter(Qt::Vertical);
  split->setChildrenCollapsible(false);
  split->setHandleWidth(12);
  split->addWidget(table_);
  auto* lower = new QSplitter(Qt::Horizontal);
  lower->setChildrenCollapsible(false);
  lower->setHandleWidth(12);
  chart_ = new GapChart;
  chart_->setMinimumSize(340, 200);
  connect(chart_, &GapChart::chosen, this, [this](int bar) { table_->selectRow(bar); });
  panel_ = new ExplanationPanel;
  panel_->setMinimumWidth(300);
  lower->addWidget(chart_);
  lower->addWidget(panel_);
  lower->setSizes({560, 460});
  lower->setStretchFactor(0, 5);
  lower->setStretchFactor(1, 4);
  split->addWidget(lower);
  split->setSizes({310, 320});
  split->setStretchFactor(0, 2);
  split->setStretchFactor(1, 3);
  column->addWidget(split, 1);
  return content;
}

void DiagnosisPage::arrive(const Location& location) {
  if (location.provider_id != 0 && location.provider_id != provider_id_) {
    provider_id_ = location.provider_id;
    if (overview_) choose(provider_id_);
  }
  // Work starts when the page is looked at, not when a case happens to be opened elsewhere.
  if (overview_ && !diagnosis_ && token_ == 0) choose(provider_id_);
  (stack_->currentIndex() == static_cast<int>(State::shown) ? static_cast<QWidget*>(table_) : provider_)
      ->setFocus(Qt::OtherFocusReason);
}

void DiagnosisPage::refresh() {
  if (!context().cases->is_open()) {
    stop();
    known_.clear();
    overview_.reset();
    diagnosis_.reset();
    provider_->clear();
    return set_state(State::blank);
  }
  context().cases->load_overview(this, [this](tl::expected<std::shared_ptr<const CaseOverview>, Problem> reply) {
    if (reply)
      take_overview(*reply);
    else
      context().report(reply.error());
  });
}

void DiagnosisPage::take_overview(std::shared_ptr<const CaseOverview> overview) {
  const bool stale = !overview_ || !same_basis(*overview_, *overview);
  overview_ = std::move(overview);
  provider_->clear();
  for (const ProviderRow& row : overview_->providers) {
    const QString name = QString::fromStdString(row.config.name);
    provider_->addItem(row.role == ProviderRole::calibration ? tr("%1 (trusted)").arg(name) : name,
                       QVariant::fromValue<qlonglong>(row.id));
  }
  const auto known = [this](std::int64_t id) {
    return std::ranges::find(overview_->providers, id, &ProviderRow::id) != overview_->providers.end();
  };
  if (!known(provider_id_)) {
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
  known_.clear();
  diagnosis_.reset();
  set_state(State::blank);
  if (isVisible()) choose(provider_id_);
}

void DiagnosisPage::choose(std::int64_t provider_id) {
  stop();
  provider_id_ = provider_id;
  diagnosis_.reset();
  provider_->setCurrentIndex(provider_->findData(QVariant::fromValue<qlonglong>(provider_id)));
  if (!overview_->run || overview_->run->requests_done == 0) {
    missing_->set_text(tr("Nothing to diagnose yet"),
                       tr("Explanations are fitted to a trusted recomputation of the logs. Recompute the case on the "
                          "declared model first."));
    return set_state(State::missing);
  }
  if (const auto found = known_.find(provider_id); found != known_.end()) return show_diagnosis(found->second);
  if (provider_id != 0) begin();
}

void DiagnosisPage::begin() {
  stop();
  work_->begin(tr("Diagnosing %1").arg(provider_->currentText()),
               tr("Competing explanations are fitted to one half of the requests and judged on the other."));
  set_state(State::working);
  token_ = context().analyses->diagnose(
      this, provider_id_, [this, id = provider_id_](tl::expected<std::shared_ptr<const Diagnosis>, Problem> reply) {
        token_ = 0;
        if (!reply) {
          context().report(reply.error());
          stopped_->set_text(tr("The diagnosis failed"), reply.error().message);
          return set_state(State::stopped);
        }
        known_[id] = *reply;
        show_diagnosis(*reply);
      });
}

void DiagnosisPage::stop() {
  if (token_ != 0) context().analyses->cancel(std::exchange(token_, 0));
}

void DiagnosisPage::show_diagnosis(std::shared_ptr<const Diagnosis> diagnosis) {
  diagnosis_ = std::move(diagnosis);
  model_->set_diagnosis(diagnosis_);
  if (diagnosis_->explanations.empty()) {
    missing_->set_text(tr("No token of this provider can be judged"),
                       tr("The reference holds no evidence for its requests yet. Recompute it, then come back."));
    return set_state(State::missing);
  }
  const Explanation& first = diagnosis_->explanations.front();
  const std::vector<ExplanationKind> alike = inseparable_from(*diagnosis_, first.kind);
  summary_->setText(tr("Named first: <b>%1</b>  ·  %2 tokens looked at, %3 match under the declared seed and sampler")
                        .arg(explanation_title(first.kind).toHtmlEscaped(),
                             format_count(static_cast<qint64>(diagnosis_->tokens)),
                             format_percent(diagnosis_->exact_match)));
  QStringList pairs;
  for (const auto& [a, b] : diagnosis_->not_separable)
    pairs << QStringLiteral("%1 ↔ %2").arg(explanation_title(a), explanation_title(b));
  pairs_->setText(pairs.isEmpty()
                      ? tr("Every pair of explanations is more than %1 nats apart: these data separate them "
                           "all. The ranking describes tokens; it does not say why they came about.")
                            .arg(diagnosis_->separation)
                      : tr("Not separable by these data (within %1 nats): %2")
                            .arg(diagnosis_->separation)
                            .arg(pairs.join(QStringLiteral("   "))));
  std::vector<GapBar> bars;
  for (const Explanation& e : diagnosis_->explanations)
    bars.push_back({explanation_title(e.kind), nats_behind(*diagnosis_, e),
                    e.kind == first.kind || std::ranges::count(alike, e.kind) > 0});
  chart_->set_bars(bars, diagnosis_->separation);
  table_->selectRow(0);
  show_explanation(0);
  set_state(State::shown);
}

void DiagnosisPage::show_explanation(int row) {
  panel_->show_explanation(diagnosis_.get(), model_->at(row));
  chart_->select(row);
}

void DiagnosisPage::set_state(State state) {
  stack_->setCurrentIndex(static_cast<int>(state));
}

}  // namespace difr::views
