#include "views/widgets/card.h"

#include <QFormLayout>
#include <QLabel>
#include <QScrollArea>
#include <QSplitter>
#include <QVBoxLayout>

#include "views/widgets/empty_state.h"

namespace difr::views {

void make_card(QFrame* frame) {
  frame->setFrameShape(QFrame::NoFrame);
  frame->setAutoFillBackground(true);
  frame->setBackgroundRole(QPalette::Base);
}

QVBoxLayout* add_scrolling_column(QFrame* card, const QString& name) {
  auto* outer = new QVBoxLayout(card);
  outer->setContentsMargins(0, 0, 0, 0);
  auto* scroll = new QScrollArea;
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setAccessibleName(name);
  outer->addWidget(scroll);
  auto* inner = new QWidget;
  inner->setBackgroundRole(QPalette::Base);
  scroll->setWidget(inner);
  auto* column = new QVBoxLayout(inner);
  column->setContentsMargins(18, 14, 18, 14);
  return column;
}

QFormLayout* add_facts(QVBoxLayout* column, int spacing) {
  auto* facts = new QFormLayout;
  facts->setHorizontalSpacing(18);
  facts->setVerticalSpacing(spacing);
  column->addLayout(facts);
  return facts;
}

std::pair<QLabel*, QLabel*> add_fact(QFormLayout* facts, const QString& name, const QString& value) {
  auto* left = make_label(name, TextStyle::body);
  set_muted(left);
  auto* right = make_label(value, TextStyle::body);
  facts->addRow(left, right);
  return {left, right};
}

void clear_facts(QFormLayout* facts) {
  while (facts->rowCount() > 0) facts->removeRow(0);
}

QSplitter* make_splitter(Qt::Orientation orientation) {
  auto* split = new QSplitter(orientation);
  split->setChildrenCollapsible(false);
  split->setHandleWidth(12);
  return split;
}

}  // namespace difr::views
