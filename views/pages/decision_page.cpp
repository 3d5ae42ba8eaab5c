#include "views/pages/decision_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QStackedLayout>
#include <QVBoxLayout>
#include <algorithm>

#include "core/util/error.h"
#include "core/verdict/sign_off.h"
#include "views/models/format.h"
#include "views/models/preview_model.h"
#include "views/models/provider_model.h"
#include "views/models/sort_proxy.h"
#include "views/widgets/card.h"
#include "views/widgets/empty_state.h"
#include "views/widgets/fact_panel.h"
#include "views/widgets/level_slider.h"
#include "views/widgets/sign_off_panel.h"
#include "views/widgets/table_view.h"

namespace difr::views {
namespace {
constexpr int rest_ms = 250;
}

DecisionPage::DecisionPage(const PageContext& page_context, QWidget* parent) : Page(page_context, parent) {
  auto* content = new QWidget(this);
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(20, 16, 20, 16);
  column->setSpacing(8);
  auto* head = new QHBoxLayout;
  head->setSpacing(10);
  head->addWidget(make_label(tr("Decision"), TextStyle::title));
  head->addStretch();
  state_ = make_label({}, TextStyle::body);
  set_muted(state_);
  head->addWidget(state_);
  progress_ = new QProgressBar;
  progress_->setFixedWidth(120);
  progress_->setMaximumHeight(fontMetrics().height() / 2 + 2);
  progress_->setTextVisible(false);
  progress_->setAccessibleName(tr("Progress of the preview"));
  head->addWidget(progress_);
  back_ = new QPushButton(tr("Back to the decided levels"));
  back_->setObjectName(QStringLiteral("decided_levels"));
  connect(back_, &QPushButton::clicked, this, &DecisionPage::to_decided_levels);
  head->addWidget(back_);
  decide_ = new QPushButton(tr("&Decide at these levels"));
  decide_->setObjectName(QStringLiteral("decide"));
  decide_->setToolTip(tr("Stores new verdicts for every provider; earlier ones stay in the case and in the trail"));
  connect(decide_, &QPushButton::clicked, this, [this] { context().jobs->decide(levels()); });
  head->addWidget(decide_);
  column->addLayout(head);
  column->addWidget(make_levels());

  auto* split = make_splitter(Qt::Vertical);
  split->addWidget(make_providers());
  sign_off_ = new SignOffPanel;
  connect(sign_off_, &SignOffPanel::sign_wanted, this, &DecisionPage::sign);
  connect(sign_off_, &SignOffPanel::withdraw_wanted, this, [this](qint64 id) {
    context().cases->remove_finding(this, id, [this](tl::expected<bool, Problem> reply) {
      if (!reply) context().report(reply.error());
    });
  });
  split->addWidget(sign_off_);
  split->setSizes({320, 170});
  split->setStretchFactor(0, 1);
  column->addWidget(split, 1);

  missing_ = new EmptyState(QStringLiteral("decision"));
  missing_->add_button(tr("Recompute…"), context().recompute);
  missing_->add_button(tr("Import trusted logs…"), context().import_trusted);
  stack_ = new QStackedLayout(this);
  stack_->addWidget(new QWidget(this));
  stack_->addWidget(missing_);
  stack_->addWidget(content);

  settle_.setSingleShot(true);
  settle_.setInterval(rest_ms);
  connect(&settle_, &QTimer::timeout, this, &DecisionPage::ask);
  connect(context().analyses, &AnalysisService::progressed, this, [this](quint64 token, qint64 done, qint64 total) {
    if (token != token_ || total <= 0) return;
    progress_->setRange(0, static_cast<int>(total));
    progress_->setValue(static_cast<int>(done));
  });
  refresh();
}

QWidget* DecisionPage::make_levels() {
  auto* card = new QFrame;
  make_card(card);
  auto* column = new QVBoxLayout(card);
  column->setContentsMargins(14, 10, 14, 10);
  column->setSpacing(6);
  auto* row = new QHBoxLayout;
  row->setSpacing(28);
  alpha_ = new LevelSlider(tr("F&alse alarms of a fail verdict, at most"),
                           tr("Share of honest providers of this size that may be failed (α)"),
                           {0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001});
  request_alpha_ = new LevelSlider(tr("False d&iscoveries among flagged requests, at most"),
                                   tr("Benjamini-Hochberg level over the requests of one provider"),
                                   {0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001});
  for (LevelSlider* slider : {alpha_, request_alpha_}) {
    row->addWidget(slider, 1);
    connect(slider, &LevelSlider::changed, this, &DecisionPage::levels_moved);
  }
  column->addLayout(row);
  cannot_ = make_label({}, TextStyle::body);
  cannot_->setWordWrap(true);
  cannot_->setAccessibleName(tr("What the calibration cannot support"));
  caution_ = make_icon(QStringLiteral("problems"), 18);
  auto* line = new QHBoxLayout;
  line->setSpacing(8);
  line->addWidget(caution_, 0, Qt::AlignTop);
  line->addWidget(cannot_, 1);
  column->addLayout(line);
  return card;
}

QWidget* DecisionPage::make_providers() {
  model_ = new PreviewModel(this);
  sorted_ = new SortProxy(this);
  sorted_->setSourceModel(model_);
  table_ = new TableView;
  table_->set_up(sorted_, tr("Providers at these levels"));
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->set_widths({18, 18, 18, 8, 8, 8, 9, 9, 9});
  table_->setSortingEnabled(true);
  table_->sortByColumn(PreviewModel::would_be, Qt::AscendingOrder);
  table_->setMinimumHeight(120);
  facts_ = new FactPanel(tr("The chosen provider at these levels"));
  facts_->setMinimumWidth(280);
  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &DecisionPage::show_provider);
  const auto open = [this](const QModelIndex& index) {
    if (index.isValid())
      context().navigation->go({page_id::requests, index.data(TableModel::id_role).toLongLong(), 0, -1});
  };
  connect(table_, &QTableView::activated, this, open);
  connect(table_, &QTableView::doubleClicked, this, open);
  auto* split = make_splitter(Qt::Horizontal);
  split->addWidget(table_);
  split->addWidget(facts_);
  split->setSizes({800, 260});
  split->setStretchFactor(0, 1);
  return split;
}

void DecisionPage::arrive(const Location& location) {
  if (location.provider_id != 0) {
    wanted_provider_ = location.provider_id;
    if (const int row = model_->row_of(wanted_provider_); row >= 0)
      table_->selectRow(sorted_->mapFromSource(model_->index(row, 0)).row());
  }
  if (overview_ && !preview_ && token_ == 0) take_overview(overview_);
  table_->setFocus(Qt::OtherFocusReason);
}

void DecisionPage::refresh() {
  if (!context().cases->is_open()) {
    stop();
    overview_.reset();
    preview_.reset();
    model_->set_preview(nullptr, nullptr);
    return stack_->setCurrentIndex(0);
  }
  read_overview([this](auto overview) { take_overview(std::move(overview)); });
}

void DecisionPage::take_overview(std::shared_ptr<const CaseOverview> overview) {
  const auto basis = [](const CaseOverview& o) {
    return std::tuple(o.run ? o.run->id : 0, o.run ? o.run->requests_done : 0, o.calibration_tokens, o.clip,
                      o.noise_sigma, o.providers.size(), o.decision_options.alpha, o.decision_options.request_alpha);
  };
  const bool stale = !overview_ || basis(*overview_) != basis(*overview);
  overview_ = std::move(overview);
  if (!overview_->run || overview_->run->requests_done == 0 || overview_->calibration_name.isEmpty()) {
    stop();
    missing_->set_text(tr("Nothing to decide yet"),
                       tr("A decision compares recomputed logs with trusted ones. Import at least one log as "
                          "calibration and the provider's logs, then recompute."));
    return stack_->setCurrentIndex(1);
  }
  stack_->setCurrentIndex(2);
  if (stale) {
    preview_.reset();
    alpha_->set_level(overview_->decision_options.alpha);
    request_alpha_->set_level(overview_->decision_options.request_alpha);
  }
  sign_off_->set_sign_offs(sign_offs(overview_->findings, overview_->decisions,
                                     overview_->calibration_name.toStdString(), overview_->decision_options));
  if (preview_)
    show_preview();
  else if (isVisible() && token_ == 0)
    ask();
}

DecisionOptions DecisionPage::levels() const {
  DecisionOptions options = overview_ ? overview_->decision_options : DecisionOptions{};
  options.alpha = alpha_->level();
  options.request_alpha = request_alpha_->level();
  return options;
}

bool DecisionPage::at_decided_levels() const {
  return overview_ && alpha_->level() == overview_->decision_options.alpha &&
         request_alpha_->level() == overview_->decision_options.request_alpha;
}

int DecisionPage::chosen() const {
  return sorted_->mapToSource(table_->currentIndex()).row();
}

void DecisionPage::levels_moved() {
  stop();
  settle_.start();
  show_consequences();
  show_provider();
}

void DecisionPage::to_decided_levels() {
  alpha_->set_level(overview_->decision_options.alpha);
  request_alpha_->set_level(overview_->decision_options.request_alpha);
  levels_moved();
}

void DecisionPage::ask() {
  stop();
  progress_->setRange(0, 0);
  token_ = context().analyses->preview_decision(
      this, levels(), [this](tl::expected<std::shared_ptr<const DecisionPreview>, Problem> reply) {
        token_ = 0;
        if (!reply) {
          context().report(reply.error());
          return show_consequences();
        }
        preview_ = *reply;
        show_preview();
      });
  show_consequences();
}

void DecisionPage::stop() {
  settle_.stop();
  if (token_ != 0) context().analyses->cancel(std::exchange(token_, 0));
}

void DecisionPage::show_preview() {
  const int row = chosen();
  const std::int64_t keep = wanted_provider_ != 0 ? wanted_provider_
                            : model_->at(row)     ? model_->at(row)->decision.provider_id
                                                  : 0;
  model_->set_preview(preview_, overview_);
  if (model_->rowCount() > 0) {
    const int at = model_->row_of(keep);
    table_->selectRow(at >= 0 ? sorted_->mapFromSource(model_->index(at, 0)).row() : 0);
  }
  show_consequences();
  show_provider();
}

void DecisionPage::show_consequences() {
  const bool waiting = busy();
  progress_->setVisible(waiting);
  back_->setVisible(!at_decided_levels());
  const bool undecided = preview_ && overview_ && overview_->decisions.size() < preview_->providers.size();
  decide_->setEnabled(!waiting && preview_ && !preview_->providers.empty() && (undecided || !at_decided_levels()));
  // While the sliders move the numbers below are still those of the levels before.
  table_->setEnabled(!waiting || !preview_);
  if (waiting || !preview_) {
    state_->setText(waiting ? tr("trying these levels…") : QString());
    alpha_->set_consequence({});
    request_alpha_->set_consequence({});
    cannot_->setText({});
    return caution_->setVisible(false);
  }
  const auto with = [&](Outcome outcome) {
    return std::ranges::count(preview_->providers, outcome, [](const auto& row) { return row.decision.verdict; });
  };
  std::size_t flagged = 0, requests = 0;
  for (const ProviderPreview& row : preview_->providers) {
    flagged += row.flagged;
    requests += row.decision.requests;
  }
  const int changed = model_->changed();
  state_->setText(at_decided_levels() ? tr("as decided")
                  : changed == 0      ? tr("no verdict would change")
                  : changed == 1      ? tr("1 verdict would change")
                                      : tr("%1 verdicts would change").arg(changed));
  alpha_->set_consequence(
      tr("%1 fail, %2 undetermined, %3 pass. Were all %4 providers honest, the chance of failing any is at most %5.")
          .arg(with(Outcome::fail))
          .arg(with(Outcome::undetermined))
          .arg(with(Outcome::pass))
          .arg(preview_->providers.size())
          .arg(format_rate_of(preview_->any_false_alarm)));
  request_alpha_->set_consequence(tr("%1 of %2 requests flagged, against %3 trusted ones.")
                                      .arg(format_count(static_cast<qint64>(flagged)),
                                           format_count(static_cast<qint64>(requests)),
                                           format_count(static_cast<qint64>(preview_->calibration_requests))));
  QStringList cannot;
  for (const std::string& sentence : preview_->cannot) cannot << QString::fromStdString(sentence);
  cannot_->setText(cannot.join(QLatin1Char('\n')));
  caution_->setVisible(!cannot.isEmpty());
}

void DecisionPage::show_provider() {
  const int row = chosen();
  const ProviderPreview* line = model_->at(row);
  if (!line) {
    facts_->show_facts({}, tr("Choose a provider in the table."), {});
    return sign_off_->set_subject(tr("Choose a provider in the table: its verdict can be signed."), false);
  }
  const ProviderDecision& d = line->decision;
  wanted_provider_ = d.provider_id;
  if (context().navigation->current().page == page_id::decision)
    context().navigation->refine({page_id::decision, d.provider_id, 0, -1});
  facts_->show_facts(tr("%1: %2").arg(QString::fromStdString(d.name), outcome_text(d.verdict)),
                     QString::fromStdString(d.reason),
                     {{tr("Statistic"), QString::fromStdString(d.statistic)},
                      {tr("Fewest flaggable"),
                       line->limit.together == 0
                           ? tr("none can be flagged")
                           : tr("%1 requests together").arg(format_count(static_cast<qint64>(line->limit.together)))},
                      {tr("For a single one"),
                       tr("%1 trusted requests").arg(format_count(static_cast<qint64>(line->limit.needed_for_one)))}});

  const ProviderDecision* stored = model_->decision(row);
  if (!stored) return sign_off_->set_subject(tr("This provider is not decided yet: decide first."), false);
  if (!at_decided_levels())
    return sign_off_->set_subject(tr("You are looking at other levels than those decided. Decide at them, or go back "
                                     "to the decided ones: only a stored verdict can be signed."),
                                  false);
  sign_off_->set_subject(QString::fromStdString(sign_off_statement(*stored, overview_->calibration_name.toStdString(),
                                                                   overview_->decision_options)),
                         true);
}

void DecisionPage::sign(const QString& author, const QString& reason) {
  const ProviderDecision* stored = model_->decision(chosen());
  if (!stored || !at_decided_levels()) return;
  Finding finding;
  try {
    finding = make_sign_off(*stored, overview_->calibration_name.toStdString(), overview_->decision_options,
                            author.toStdString(), reason.toStdString());
  } catch (const Error& error) {
    return context().report({Problem::Severity::warning, tr("Sign-off"), QString::fromUtf8(error.what()), {}});
  }
  context().cases->add_finding(this, finding, [this](tl::expected<std::int64_t, Problem> reply) {
    if (!reply) return context().report(reply.error());
    sign_off_->signed_off();
  });
}

}  // namespace difr::views
