#include "views/pages/calibration_page.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "views/charts/power_chart.h"
#include "views/charts/score_chart.h"
#include "views/models/environment_model.h"
#include "views/models/format.h"
#include "views/models/promise_model.h"
#include "views/widgets/card.h"
#include "views/widgets/empty_state.h"
#include "views/widgets/table_view.h"

namespace difr::views {
namespace {

/// A card: a heading, a sentence, and what it is about.
std::pair<QWidget*, QVBoxLayout*> card(const QString& title, QLabel** sentence) {
  auto* box = new QFrame;
  make_card(box);
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(14, 10, 14, 8);
  column->setSpacing(4);
  column->addWidget(make_label(title, TextStyle::section));
  *sentence = make_label({}, TextStyle::small);
  (*sentence)->setWordWrap(true);
  set_muted(*sentence);
  column->addWidget(*sentence);
  return {box, column};
}

}  // namespace

CalibrationPage::CalibrationPage(const PageContext& page_context, QWidget* parent)
    : AnalysisPage(
          page_context,
          {page_id::calibration, tr("Calibration"), QStringLiteral("calibration"), tr("steps"), tr("Study again")},
          parent) {
  QWidget* content = make_content();
  set_content(content, promise_table_);
}

QWidget* CalibrationPage::make_promises() {
  const auto [box, column] = card(tr("What it can promise about a request"), &promise_text_);
  promises_ = new PromiseModel(this);
  promise_table_ = new TableView;
  promise_table_->set_up(promises_, tr("False-alarm promises"));
  promise_table_->setSelectionMode(QAbstractItemView::SingleSelection);
  promise_table_->set_widths({11, 9, 8, 20});
  connect(promise_table_, &TableView::current_row_changed, this, &CalibrationPage::show_scores);
  column->addWidget(promise_table_, 1);
  return box;
}

QWidget* CalibrationPage::make_power() {
  const auto [box, column] = card(tr("How many tokens it takes"), &power_text_);
  measure_ = new QComboBox;
  measure_->setAccessibleName(tr("Measure of power"));
  for (const PowerMeasure m :
       {PowerMeasure::detection, PowerMeasure::auc, PowerMeasure::partial_auc, PowerMeasure::roc})
    measure_->addItem(power_measure_text(m), static_cast<int>(m));
  power_ = new PowerChart;
  power_->setMinimumSize(320, 170);
  connect(measure_, &QComboBox::currentIndexChanged, this,
          [this] { power_->set_measure(static_cast<PowerMeasure>(measure_->currentData().toInt())); });
  auto* line = new QHBoxLayout;
  line->addWidget(measure_);
  line->addStretch();
  column->addLayout(line);
  column->addWidget(power_, 1);
  return box;
}

QWidget* CalibrationPage::make_environments() {
  const auto [box, column] = card(tr("Environments"), &environment_text_);
  environments_ = new EnvironmentModel(this);
  environment_table_ = new TableView;
  environment_table_->set_up(environments_, tr("Calibrations of this case"));
  environment_table_->set_widths({13, 7, 9, 8, 7, 7, 7, 40});
  column->addWidget(environment_table_, 1);
  return box;
}

QWidget* CalibrationPage::make_content() {
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  basis_ = make_label({}, TextStyle::body);
  basis_->setWordWrap(true);
  column->addWidget(basis_);
  noise_ = make_label({}, TextStyle::small);
  noise_->setWordWrap(true);
  set_muted(noise_);
  column->addWidget(noise_);
  column->addSpacing(6);
  scores_ = new ScoreChart;
  scores_->setMinimumSize(320, 170);
  auto* rows = make_splitter(Qt::Vertical);
  const auto row = [rows](QWidget* left, QWidget* right) {
    auto* pair = make_splitter(Qt::Horizontal);
    pair->addWidget(left);
    pair->addWidget(right);
    pair->setSizes({530, 520});
    rows->addWidget(pair);
  };
  row(scores_, make_promises());
  row(make_power(), make_environments());
  rows->setSizes({290, 330});
  column->addWidget(rows, 1);
  return content;
}

std::optional<AnalysisPage::Missing> CalibrationPage::missing(const CaseOverview& overview) const {
  if (!overview.calibration_name.isEmpty()) return std::nullopt;
  const bool trusted = std::ranges::any_of(
      overview.providers, [](const ProviderRow& row) { return row.role == ProviderRole::calibration; });
  if (!trusted)
    return Missing{tr("No trusted log in this case"),
                   tr("Thresholds rest on runs whose model, weights and sampling you know. Import such a log "
                      "as calibration, then recompute.")};
  return Missing{tr("No calibration yet"),
                 tr("The trusted logs are imported. Recompute the case: the calibration is made from their margins.")};
}

bool CalibrationPage::same_basis(const CaseOverview& before, const CaseOverview& now) const {
  const auto basis = [](const CaseOverview& o) {
    return std::tuple(o.run ? o.run->id : 0, o.run ? o.run->requests_done : 0, o.calibration_name,
                      o.calibration_requests, o.calibration_tokens, o.clip, o.noise_sigma);
  };
  return basis(before) == basis(now);
}

bool CalibrationPage::show_known(std::int64_t provider_id) {
  const auto found = known_.find(provider_id);
  if (found == known_.end()) return false;
  study_ = found->second;
  show_study();
  return true;
}

quint64 CalibrationPage::ask(std::int64_t provider_id) {
  return context().analyses->study_calibration(this, provider_id,
                                               [this, provider_id](tl::expected<Study, Problem> reply) {
                                                 if (!reply) return failed(reply.error());
                                                 known_[provider_id] = *reply;
                                                 answered(provider_id);
                                               });
}

AnalysisPage::Missing CalibrationPage::work_text(const QString& provider) const {
  return {tr("Comparing the calibration with %1").arg(provider),
          tr("Pools of tokens are drawn from both, to see how many of them it takes to tell them apart.")};
}

void CalibrationPage::forget() {
  known_.clear();
  study_.reset();
  promises_->set_study(nullptr);
  environments_->set_study(nullptr);
  power_->set_study(nullptr);
}

void CalibrationPage::show_study() {
  const CalibrationStudy& study = *study_;
  const auto count = [](std::size_t n) { return format_count(static_cast<qint64>(n)); };
  basis_->setText(tr("<b>%1</b>  ·  %2 trusted requests, %3 tokens  ·  Δ = %4, σ₀ = %5 logits")
                      .arg(QString::fromStdString(study.facts.name).toHtmlEscaped(), count(study.facts.requests),
                           count(study.facts.tokens), format_margin(study.facts.clip),
                           format_margin(study.facts.noise_sigma)));
  const QString noise =
      study.noise.misfit.empty()
          ? tr("Normal logit noise describes the trusted margins (%1 of %2 tokens differ), so the calibration carries "
               "over to other temperatures and filters.")
                .arg(count(study.noise.mismatches), count(study.facts.tokens))
          : tr("The calibration does not carry over to other sampling: %1.")
                .arg(QString::fromStdString(study.noise.misfit));
  noise_->setText(noise + QLatin1Char(' ') +
                  tr("Even against odd trusted requests: p = %1.").arg(format_p(study.hold_out.p_value)));

  promises_->set_study(study_);
  int best = 0;
  const TolerancePromise* next = nullptr;
  for (int row = 0; const TolerancePromise* promise = promises_->at(row); ++row) {
    if (promise->limit.limit) best = row;
    if (!promise->limit.limit && !next) next = promise;
  }
  QString text =
      tr("%1 trusted requests support at best %2 false alarms, at %3 % confidence.")
          .arg(count(study.request_scores.size()))
          .arg(study.promises.empty() ? dash() : format_rate_of(study.promises.front().limit.supported_alpha))
          .arg(100 * study.confidence);
  if (next)
    text +=
        QLatin1Char(' ') + tr("A promise of %1 needs %2.").arg(format_rate_of(next->alpha), count(next->limit.needed));
  promise_text_->setText(text);
  promise_table_->selectRow(best);

  environments_->set_study(study_);
  environment_text_->setText(
      study.environments.size() < 2
          ? tr("One environment: %1. If the provider may run on other hardware, calibrate on that too; a mixture would "
               "widen the honest band, so environments are kept apart.")
                .arg(QString::fromStdString(study.facts.environment))
      : std::isnan(study.mixture_threshold) ? tr("The calibrations differ in sampling and are not compared.")
                                            : tr("Kept apart. Pooled, they would put the threshold at %1 logits.")
                                                  .arg(format_margin(study.mixture_threshold)));

  power_->set_study(study_);
  if (study.power && !study.power->roc.fpr.empty())
    power_text_->setText(tr("%1: single requests have AUC %2, partial AUC %3 (false alarms ≤ 1 %)")
                             .arg(QString::fromStdString(study.power->provider))
                             .arg(study.power->roc_auc, 0, 'f', 3)
                             .arg(study.power->roc_partial_auc, 0, 'f', 3));
  else
    power_text_->clear();
  show_scores();
}

void CalibrationPage::show_scores() {
  if (!study_) return;
  std::vector<ScoreSeries> subjects;
  QString statistic = QString::fromLatin1(kClippedMargin);
  if (study_->power) {
    subjects.push_back({QString::fromStdString(study_->power->provider), study_->power->request_scores, {}});
    statistic = QString::fromStdString(study_->power->statistic);
  }
  const TolerancePromise* promise = promises_->at(promise_table_->currentIndex().row());
  scores_->set_data({tr("calibration"), study_->request_scores, {}}, subjects,
                    promise ? promise->limit.limit : std::nullopt, statistic);
}

}  // namespace difr::views
