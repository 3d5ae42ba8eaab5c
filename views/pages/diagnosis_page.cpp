#include "views/pages/diagnosis_page.h"

#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>

#include "views/charts/gap_chart.h"
#include "views/models/explanation_model.h"
#include "views/models/format.h"
#include "views/widgets/card.h"
#include "views/widgets/empty_state.h"
#include "views/widgets/explanation_panel.h"
#include "views/widgets/table_view.h"

namespace difr::views {

DiagnosisPage::DiagnosisPage(const PageContext& page_context, QWidget* parent)
    : AnalysisPage(page_context,
                   {page_id::diagnosis, tr("Diagnosis"), QStringLiteral("diagnosis"), tr("explanations judged"),
                    tr("Diagnose again")},
                   parent) {
  QWidget* content = make_content();
  set_content(content, table_);
}

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

  auto* split = make_splitter(Qt::Vertical);
  split->addWidget(table_);
  auto* lower = make_splitter(Qt::Horizontal);
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

std::optional<AnalysisPage::Missing> DiagnosisPage::missing(const CaseOverview& overview) const {
  if (overview.run && overview.run->requests_done > 0) return std::nullopt;
  return Missing{tr("Nothing to diagnose yet"), tr("Explanations are fitted to a trusted recomputation of the logs. "
                                                   "Recompute the case on the declared model first.")};
}

/// Diagnoses rest on the run's evidence and on the calibration's noise; another of either makes them stale.
bool DiagnosisPage::same_basis(const CaseOverview& before, const CaseOverview& now) const {
  const auto run = [](const CaseOverview& o) {
    return o.run ? std::pair(o.run->id, o.run->requests_done) : std::pair(std::int64_t{0}, std::int64_t{0});
  };
  return run(before) == run(now) && before.noise_sigma == now.noise_sigma;
}

bool DiagnosisPage::show_known(std::int64_t provider_id) {
  const auto found = known_.find(provider_id);
  if (found == known_.end()) return false;
  diagnosis_ = found->second;
  show_diagnosis();
  return true;
}

quint64 DiagnosisPage::ask(std::int64_t provider_id) {
  return context().analyses->diagnose(
      this, provider_id, [this, provider_id](tl::expected<std::shared_ptr<const Diagnosis>, Problem> reply) {
        if (!reply) return failed(reply.error());
        known_[provider_id] = *reply;
        answered(provider_id);
      });
}

AnalysisPage::Missing DiagnosisPage::work_text(const QString& provider) const {
  return {tr("Diagnosing %1").arg(provider),
          tr("Competing explanations are fitted to one half of the requests and judged on the other.")};
}

void DiagnosisPage::forget() {
  known_.clear();
  diagnosis_.reset();
  model_->set_diagnosis(nullptr);
}

void DiagnosisPage::show_diagnosis() {
  model_->set_diagnosis(diagnosis_);
  if (diagnosis_->explanations.empty()) {
    return show_missing({tr("No token of this provider can be judged"),
                         tr("The reference holds no evidence for its requests yet. Recompute it, then come back.")});
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
}

void DiagnosisPage::show_explanation(int row) {
  panel_->show_explanation(diagnosis_.get(), model_->at(row));
  chart_->select(row);
}

}  // namespace difr::views
