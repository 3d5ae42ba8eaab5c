#include "views/pages/overview_page.h"

#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedLayout>
#include <QVBoxLayout>
#include <algorithm>

#include "views/charts/score_chart.h"
#include "views/models/format.h"
#include "views/models/provider_model.h"
#include "views/models/sort_proxy.h"
#include "views/widgets/card.h"
#include "views/widgets/empty_state.h"
#include "views/widgets/table_view.h"
#include "views/widgets/verdict_panel.h"

namespace difr::views {

OverviewPage::OverviewPage(const PageContext& page_context, QWidget* parent) : Page(page_context, parent) {
  auto* content = new QWidget(this);
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(20, 16, 20, 16);
  column->setSpacing(4);
  column->addWidget(make_label(tr("Overview"), TextStyle::title));
  summary_ = make_label({}, TextStyle::body);
  column->addWidget(summary_);
  basis_ = make_label({}, TextStyle::small);
  basis_->setWordWrap(true);
  set_muted(basis_);
  column->addWidget(basis_);
  column->addSpacing(8);

  model_ = new ProviderModel(this);
  sorted_ = new SortProxy(this);
  sorted_->setSourceModel(model_);
  table_ = new TableView;
  table_->set_up(sorted_, tr("Providers and verdicts"));
  table_->set_widths({13, 24, 10, 11, 9, 9, 8, 8, 8, 8, 19, 40});
  table_->setSortingEnabled(true);
  table_->sortByColumn(ProviderModel::verdict, Qt::AscendingOrder);
  table_->setMinimumHeight(120);

  auto* split = make_splitter(Qt::Vertical);
  split->addWidget(table_);
  auto* lower = make_splitter(Qt::Horizontal);
  chart_ = new ScoreChart;
  chart_->setMinimumSize(320, 180);
  verdict_ = new VerdictPanel;
  verdict_->setMinimumWidth(300);
  lower->addWidget(chart_);
  lower->addWidget(verdict_);
  lower->setSizes({560, 420});
  lower->setStretchFactor(0, 5);
  lower->setStretchFactor(1, 3);
  split->addWidget(lower);
  split->setSizes({376, 290});
  split->setStretchFactor(0, 1);
  split->setStretchFactor(1, 1);
  column->addWidget(split, 1);

  auto* empty = new EmptyState(QStringLiteral("import"));
  empty->set_text(
      tr("This case holds no logs yet"),
      tr("Drop provider logs onto the window. One log should come from a run you trust: thresholds rest on it."));
  empty->add_button(tr("Import logs…"), context().import);

  stack_ = new QStackedLayout(this);
  stack_->addWidget(new QWidget(this));  // nothing known yet: blank for the few milliseconds of the first read
  stack_->addWidget(empty);
  stack_->addWidget(content);

  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &OverviewPage::show_selection);
  connect(table_, &QTableView::activated, this, &OverviewPage::open_requests);
  connect(table_, &QTableView::doubleClicked, this, &OverviewPage::open_requests);
  connect(verdict_, &VerdictPanel::requests_wanted, this, [this] { open_requests(table_->currentIndex()); });
  connect(verdict_, &VerdictPanel::diagnosis_wanted, this, [this] {
    context().navigation->go({page_id::diagnosis, wanted_provider_, 0, -1});
  });
  refresh();
}

void OverviewPage::arrive(const Location& location) {
  if (location.provider_id != 0) {
    wanted_provider_ = location.provider_id;
    const int row = model_->row_of(location.provider_id);
    if (row >= 0) table_->selectRow(sorted_->mapFromSource(model_->index(row, 0)).row());
  }
  table_->setFocus(Qt::OtherFocusReason);
}

void OverviewPage::refresh() {
  if (!context().cases->is_open()) return show(nullptr);
  read_overview([this](auto overview) { show(std::move(overview)); });
}

void OverviewPage::show(std::shared_ptr<const CaseOverview> overview) {
  const QModelIndex current = table_->currentIndex();
  const std::int64_t keep = current.isValid() ? current.data(TableModel::id_role).toLongLong() : wanted_provider_;
  overview_ = std::move(overview);
  model_->set_overview(overview_);
  if (!overview_) return stack_->setCurrentIndex(0);
  stack_->setCurrentIndex(overview_->providers.empty() ? 1 : 2);

  std::size_t tokens = 0, requests = 0, subjects = 0;
  for (const ProviderRow& provider : overview_->providers) {
    if (provider.role == ProviderRole::calibration) continue;
    ++subjects;
    tokens += static_cast<std::size_t>(provider.output_tokens);
    requests += static_cast<std::size_t>(provider.requests);
  }
  const auto with = [&](Outcome outcome) {
    return std::ranges::count(overview_->decisions, outcome, &ProviderDecision::verdict);
  };
  summary_->setText((subjects == 1 ? tr("1 provider") : tr("%1 providers").arg(subjects)) + QStringLiteral("  ·  ") +
                    (overview_->decisions.empty() ? tr("nothing decided yet")
                                                  : tr("%1 fail, %2 undetermined, %3 pass")
                                                        .arg(with(Outcome::fail))
                                                        .arg(with(Outcome::undetermined))
                                                        .arg(with(Outcome::pass))) +
                    QStringLiteral("  ·  ") +
                    tr("%1 requests, %2 output tokens")
                        .arg(format_count(static_cast<qint64>(requests)), format_count(static_cast<qint64>(tokens))));
  QStringList basis;
  if (!overview_->calibration_name.isEmpty())
    basis << tr("Calibration “%1”: %2 requests, %3 tokens, Δ = %4, σ₀ = %5 logits")
                 .arg(overview_->calibration_name, format_count(static_cast<qint64>(overview_->calibration_requests)),
                      format_count(static_cast<qint64>(overview_->calibration_tokens)), format_margin(overview_->clip),
                      format_margin(overview_->noise_sigma));
  else
    basis << tr("No calibration yet: import a trusted log as calibration and recompute");
  if (overview_->run) {
    const ReferenceEnvironment& e = overview_->run->environment;
    basis << tr("Reference %1, %2 on %3")
                 .arg(QString::fromStdString(e.model_name), QString::fromStdString(e.dtype),
                      QString::fromStdString(e.device));
  }
  basis_->setText(basis.join(QStringLiteral("  ·  ")));

  const int row = std::max(keep != 0 ? sorted_->mapFromSource(model_->index(model_->row_of(keep), 0)).row() : 0, 0);
  if (model_->rowCount() > 0) table_->selectRow(row);
  show_selection();
}

void OverviewPage::show_selection() {
  if (!overview_) return;
  const auto scores_of = [&](std::int64_t id) {
    const auto found = std::ranges::find(overview_->scores, id, &ProviderScores::provider_id);
    return found == overview_->scores.end() ? std::vector<double>{} : found->scores;
  };
  std::vector<ScoreSeries> subjects;
  const ProviderRow* shown = nullptr;
  const ProviderDecision* decision = nullptr;
  constexpr std::size_t drawable = 5;  // more outlines over each other cannot be told apart
  QModelIndexList rows = table_->selectionModel()->selectedRows();
  std::ranges::sort(rows, {}, &QModelIndex::row);
  const auto provider_of = [&](const QModelIndex& index) {
    const auto found =
        std::ranges::find(overview_->providers, index.data(TableModel::id_role).toLongLong(), &ProviderRow::id);
    return found == overview_->providers.end() ? nullptr : &*found;
  };
  for (const QModelIndex& index : rows) {
    const ProviderRow* provider = provider_of(index);
    if (provider && (!shown || index.row() == table_->currentIndex().row())) {
      shown = provider;
      decision = overview_->decision_of(provider->id);
    }
  }
  const std::string statistic = decision ? decision->statistic : std::string();
  for (const QModelIndex& index : rows) {
    const ProviderRow* provider = provider_of(index);
    const ProviderDecision* own = provider ? overview_->decision_of(provider->id) : nullptr;
    // Scores in another unit have no place on this axis.
    if (own && own->statistic == statistic && subjects.size() < drawable)
      subjects.push_back({QString::fromStdString(own->name), scores_of(provider->id), own->score});
  }
  ScoreSeries trusted{tr("calibration"), {}, {}};
  if (const auto found = overview_->trusted_scores.find(statistic); found != overview_->trusted_scores.end())
    trusted.scores = found->second;
  chart_->set_data(trusted, subjects, decision ? decision->threshold : std::nullopt, QString::fromStdString(statistic));
  verdict_->show_provider(shown, decision);
  if (shown) {
    wanted_provider_ = shown->id;
    if (context().navigation->current().page == page_id::overview)
      context().navigation->refine({page_id::overview, shown->id, 0, -1});
  }
}

void OverviewPage::open_requests(const QModelIndex& index) {
  if (index.isValid())
    context().navigation->go({page_id::requests, index.data(TableModel::id_role).toLongLong(), 0, -1});
}

}  // namespace difr::views
