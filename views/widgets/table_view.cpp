#include "views/widgets/table_view.h"

#include <QAction>
#include <QClipboard>
#include <QEvent>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <algorithm>

#include "views/models/table_model.h"
#include "views/theme/icons.h"

namespace difr::views {

TableView::TableView(QWidget* parent) : QTableView(parent) {
  setSelectionBehavior(SelectRows);
  setSelectionMode(ExtendedSelection);
  setAlternatingRowColors(true);
  setShowGrid(false);
  setWordWrap(false);
  setTabKeyNavigation(false);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollMode(ScrollPerPixel);
  setContextMenuPolicy(Qt::ActionsContextMenu);
  verticalHeader()->hide();
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setSectionsMovable(true);
  horizontalHeader()->setStretchLastSection(true);
  horizontalHeader()->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(horizontalHeader(), &QWidget::customContextMenuRequested, this, &TableView::header_menu);

  auto* copy_action = new QAction(icon(QStringLiteral("copy")), tr("Copy with headers"), this);
  copy_action->setShortcut(QKeySequence::Copy);
  copy_action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  connect(copy_action, &QAction::triggered, this, &TableView::copy);
  addAction(copy_action);
  fit_rows();
}

void TableView::set_up(QAbstractItemModel* table, const QString& name) {
  setModel(table);
  setAccessibleName(name);
}

void TableView::set_widths(const std::vector<int>& characters) {
  for (std::size_t c = 0; c < characters.size(); ++c)
    setColumnWidth(static_cast<int>(c), std::max(characters[c] * fontMetrics().averageCharWidth() + 24,
                                                 horizontalHeader()->sectionSizeHint(static_cast<int>(c))));
}

void TableView::copy() {
  if (selectionModel() && selectionModel()->hasSelection())
    QGuiApplication::clipboard()->setText(selection_as_text(*this));
}

void TableView::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QTableView::currentChanged(current, previous);
  if (current.row() != previous.row()) emit current_row_changed(current.row());
}

void TableView::keyPressEvent(QKeyEvent* event) {
  if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && currentIndex().isValid()) {
    emit activated(currentIndex());
    return;
  }
  QTableView::keyPressEvent(event);
}

void TableView::changeEvent(QEvent* event) {
  QTableView::changeEvent(event);
  if (event->type() == QEvent::FontChange) fit_rows();
}

void TableView::fit_rows() {
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  verticalHeader()->setMinimumSectionSize(1);
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 12);
  horizontalHeader()->setMinimumHeight(fontMetrics().height() + 14);
}

void TableView::header_menu(const QPoint& at) {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  for (int c = 0; c < model()->columnCount(); ++c) {
    QAction* action = menu->addAction(model()->headerData(c, Qt::Horizontal).toString());
    action->setCheckable(true);
    action->setChecked(!isColumnHidden(c));
    connect(action, &QAction::toggled, this, [this, c](bool on) { setColumnHidden(c, !on); });
  }
  menu->popup(horizontalHeader()->mapToGlobal(at));
}

}  // namespace difr::views
