#include "views/widgets/verdict_panel.h"

#include <QEvent>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "views/models/format.h"
#include "views/models/provider_model.h"
#include "views/theme/icons.h"
#include "views/theme/palette.h"
#include "views/widgets/card.h"
#include "views/widgets/empty_state.h"

namespace difr::views {

VerdictPanel::VerdictPanel(QWidget* parent) : QFrame(parent) {
  make_card(this);
  auto* column = add_scrolling_column(this, tr("Verdict of the chosen provider"));
  column->setSpacing(8);

  name_ = make_label({}, TextStyle::small);
  set_muted(name_);
  column->addWidget(name_);
  auto* head = new QHBoxLayout;
  head->setSpacing(9);
  badge_ = new QLabel;
  head->addWidget(badge_);
  verdict_ = make_label({}, TextStyle::title);
  head->addWidget(verdict_, 1);
  column->addLayout(head);
  reason_ = make_label({}, TextStyle::body);
  reason_->setWordWrap(true);
  column->addWidget(reason_);
  column->addSpacing(4);
  numbers_ = add_facts(column, 5);
  column->addStretch();
  requests_ = new QPushButton(icon(QStringLiteral("requests")), tr("Show its requests"));
  connect(requests_, &QPushButton::clicked, this, &VerdictPanel::requests_wanted);
  diagnosis_ = new QPushButton(icon(QStringLiteral("diagnosis")), tr("What would explain it"));
  connect(diagnosis_, &QPushButton::clicked, this, &VerdictPanel::diagnosis_wanted);
  auto* ways = new QHBoxLayout;
  ways->addWidget(requests_);
  ways->addWidget(diagnosis_);
  ways->addStretch();
  column->addLayout(ways);
  show_provider(nullptr, nullptr);
}

void VerdictPanel::show_provider(const ProviderRow* provider, const ProviderDecision* decision) {
  clear_facts(numbers_);
  requests_->setVisible(provider);
  diagnosis_->setVisible(provider && decision);
  outcome_.reset();
  if (!provider) {
    name_->clear();
    verdict_->clear();
    reason_->setText(tr("Choose a provider in the table."));
    badge_->clear();
    return;
  }
  name_->setText(QString::fromStdString(provider->config.name));
  const auto line = [&](const QString& label, const QString& value, const QString& tip = {}) {
    add_fact(numbers_, label, value).first->setToolTip(tip);
  };
  if (decision) {
    outcome_ = decision->verdict;
    verdict_->setText(outcome_text(decision->verdict));
    reason_->setText(QString::fromStdString(decision->reason));
    if (!decision->statistic.empty()) line(tr("Statistic"), QString::fromStdString(decision->statistic));
    line(tr("Score"), format_margin(decision->score));
    line(tr("Threshold"),
         decision->threshold ? format_margin(*decision->threshold) : tr("not supported by the calibration"));
    line(tr("p-value"), format_p(decision->p_value));
    if (decision->llr_p_value)
      line(tr("Likelihood-ratio p"), format_p(decision->llr_p_value),
           tr("Signed-gap likelihood ratio, the second statistic"));
    line(tr("Exact match"), format_percent(decision->exact_match));
    line(tr("Mean clipped margin"), format_margin(decision->mean_clipped_margin));
    line(tr("Cross-entropy"), format_margin(decision->cross_entropy));
    line(tr("Tokens outside the filter"), format_count(static_cast<qint64>(decision->filtered_tokens)));
    if (decision->refused_tokens)
      line(tr("Tokens refused"), format_count(static_cast<qint64>(decision->refused_tokens)));
  } else {
    const bool trusted = provider->role == ProviderRole::calibration;
    verdict_->setText(trusted ? tr("calibration") : tr("not decided"));
    reason_->setText(trusted ? tr("This log is trusted: the thresholds rest on it.")
                             : tr("Recompute the case on a reference model to get a verdict."));
  }
  const ProviderConfig& config = provider->config;
  line(tr("Model"), QString::fromStdString(config.model));
  line(tr("Engine"), QStringLiteral("%1 %2").arg(QString::fromStdString(config.engine),
                                                 QString::fromStdString(config.engine_version)));
  QStringList sampling{tr("T = %1").arg(config.sampling.temperature)};
  if (config.sampling.top_p < 1) sampling << tr("top-p %1").arg(config.sampling.top_p);
  if (config.sampling.top_k > 0) sampling << tr("top-k %1").arg(config.sampling.top_k);
  if (config.sampling.min_p > 0) sampling << tr("min-p %1").arg(config.sampling.min_p);
  line(tr("Declared sampling"), sampling.join(QStringLiteral(", ")));
  restyle();
}

void VerdictPanel::restyle() {
  if (!verdict_) return;  // a palette change while the constructor is still at work
  QPalette ink = palette();
  badge_->setVisible(outcome_.has_value());
  if (outcome_) {
    badge_->setPixmap(verdict_icon(*outcome_).pixmap(QSize(26, 26), devicePixelRatioF()));
    const QColor colour = verdict_colour(*outcome_, is_dark(palette()));
    ink.setColor(QPalette::WindowText, colour);
    ink.setColor(QPalette::Text, colour);
  } else {
    badge_->clear();
  }
  verdict_->setPalette(ink);
}

void VerdictPanel::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) restyle();
}

}  // namespace difr::views
