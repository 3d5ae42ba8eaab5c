#include "views/pages/samplers_page.h"

#include <QAction>
#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSplitter>
#include <QStackedLayout>
#include <QVBoxLayout>

#include "views/models/format.h"
#include "views/models/sampler_model.h"
#include "views/theme/icons.h"
#include "views/widgets/card.h"
#include "views/widgets/empty_state.h"
#include "views/widgets/fact_panel.h"
#include "views/widgets/table_view.h"

namespace difr::views {

SamplersPage::SamplersPage(const PageContext& page_context, QWidget* parent) : Page(page_context, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(20, 16, 20, 16);
  column->setSpacing(6);
  auto* head = new QHBoxLayout;
  head->addWidget(make_label(tr("Samplers"), TextStyle::title));
  head->addStretch();
  count_ = make_label({}, TextStyle::body);
  set_muted(count_);
  head->addWidget(count_);
  column->addLayout(head);
  auto* what = make_label(tr("A seed says nothing without the sampler that used it. Tokens scored under the wrong one "
                             "look like those of another model, so a mismatch is first a question to this table."),
                          TextStyle::small);
  what->setWordWrap(true);
  set_muted(what);
  column->addWidget(what);
  column->addSpacing(4);

  auto* filter = new QHBoxLayout;
  filter->setSpacing(10);
  words_ = new QLineEdit;
  words_->setPlaceholderText(tr("Engine, version, noise source, provider…"));
  words_->setClearButtonEnabled(true);
  words_->addAction(icon(QStringLiteral("filter")), QLineEdit::LeadingPosition);
  words_->setAccessibleName(tr("Filter samplers"));
  reproducible_ = new QCheckBox(tr("&Reproducible only"));
  filter->addWidget(words_, 1);
  filter->addWidget(reproducible_);
  column->addLayout(filter);
  column->addSpacing(4);

  model_ = new SamplerModel(this);
  shown_ = new SamplerFilter(this);
  shown_->setSourceModel(model_);
  table_ = new TableView;
  table_->set_up(shown_, tr("Samplers"));
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->set_widths({26, 42, 11, 21, 34, 15, 34, 40});
  table_->setSortingEnabled(true);
  table_->sortByColumn(-1, Qt::AscendingOrder);  // registry order: families stay together
  auto* body = new QWidget;
  stack_ = new QStackedLayout(body);
  stack_->addWidget(table_);
  auto* none = new EmptyState(QStringLiteral("filter"));
  none->set_text(tr("No sampler matches"),
                 tr("An engine that is not listed is unknown to this version: its logs can still be compared by "
                    "cross-entropy, but not token by token."));
  none->add_button(tr("Clear the filter"), [this] {
    reproducible_->setChecked(false);
    words_->clear();
    words_->setFocus();
  });
  stack_->addWidget(none);

  facts_ = new FactPanel(tr("The chosen sampler"));
  facts_->setMinimumHeight(200);
  auto* split = make_splitter(Qt::Vertical);
  split->addWidget(body);
  split->addWidget(facts_);
  split->setSizes({360, 260});
  split->setStretchFactor(0, 1);
  column->addWidget(split, 1);

  connect(words_, &QLineEdit::textChanged, this, &SamplersPage::apply_filter);
  connect(words_, &QLineEdit::returnPressed, this, [this] { table_->setFocus(Qt::TabFocusReason); });
  connect(reproducible_, &QCheckBox::toggled, this, &SamplersPage::apply_filter);
  connect(table_, &TableView::current_row_changed, this, &SamplersPage::show_selected);
  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &SamplersPage::show_selected);
  apply_filter();
  refresh();
}

void SamplersPage::arrive(const Location&) {
  words_->setFocus(Qt::OtherFocusReason);
}

void SamplersPage::refresh() {
  if (!context().cases->is_open()) {
    model_->set_overview(nullptr);
    return show_selected();
  }
  read_overview([this](auto overview) {
    model_->set_overview(std::move(overview));
    show_selected();
  });
}

void SamplersPage::apply_filter() {
  shown_->set_filter(words_->text(), reproducible_->isChecked());
  const int rows = shown_->rowCount();
  stack_->setCurrentIndex(rows > 0 ? 0 : 1);
  count_->setText(tr("%1 of %2 samplers").arg(rows).arg(model_->rowCount()));
  if (rows > 0 && !table_->currentIndex().isValid()) table_->selectRow(0);
  show_selected();
}

void SamplersPage::show_selected() {
  const QModelIndex chosen = shown_->mapToSource(table_->currentIndex());
  const SamplerProfile* p = model_->at(chosen.row());
  if (!p) return facts_->show_facts({}, tr("Choose a sampler in the table."), {});
  QString verified = verification_text(p->verification);
  if (!p->verified_by.empty()) verified += QStringLiteral(": ") + from_utf8(p->verified_by);
  facts_->show_facts(from_utf8(p->title), {},
                     {{tr("Profile"), from_utf8(p->id)},
                      {tr("Versions"), from_utf8(p->versions)},
                      {tr("In this case"), model_->users(chosen.row()).join(QStringLiteral(", "))},
                      {tr("Verification"), verified},
                      {tr("Missing"), from_utf8(p->missing)},
                      {tr("A log must carry"), from_utf8(p->needs)},
                      {tr("Family"), family_text(p->family)},
                      {tr("Noise"), from_utf8(p->noise)},
                      {tr("Stream indexed by"), from_utf8(p->alignment)},
                      {tr("Noise belongs to"), p->column_is_rank ? tr("the rank among the processed logits, not the "
                                                                      "token id")
                                                                 : QString()},
                      {tr("Processing"), order_text(p->order)}});
}

}  // namespace difr::views
