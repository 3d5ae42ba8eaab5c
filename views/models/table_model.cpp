#include "views/models/table_model.h"

#include <QAbstractItemView>
#include <QHeaderView>
#include <QTableView>
#include <algorithm>

namespace difr::views {

QVariant TableModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
  if (role == Qt::TextAlignmentRole) {
    const bool numeric = columns_[static_cast<std::size_t>(index.column())].numeric;
    return static_cast<int>((numeric ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  QVariant value = cell(index.row(), index.column(), role);
  if (!value.isValid() && role == Qt::AccessibleTextRole) value = cell(index.row(), index.column(), Qt::DisplayRole);
  return value;
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (section < 0) return {};
  if (orientation == Qt::Vertical)
    return role == Qt::DisplayRole && section < rows() ? QVariant(section + 1) : QVariant();
  if (section >= static_cast<int>(columns_.size())) return {};
  const Column& column = columns_[static_cast<std::size_t>(section)];
  switch (role) {
    case Qt::DisplayRole:
      return column.title;
    case Qt::ToolTipRole:
      return column.tip.isEmpty() ? column.title : column.tip;
    case Qt::TextAlignmentRole:
      return static_cast<int>((column.numeric ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    default:
      return {};
  }
}

QString selection_as_text(const QAbstractItemView& view) {
  if (!view.model() || !view.selectionModel()) return {};
  std::vector<int> shown;
  for (int c = 0; c < view.model()->columnCount(); ++c) shown.push_back(c);
  if (const auto* table = qobject_cast<const QTableView*>(&view)) {
    std::erase_if(shown, [&](int c) { return table->isColumnHidden(c); });
    std::ranges::sort(shown, {}, [&](int c) { return table->horizontalHeader()->visualIndex(c); });
  }
  std::vector<int> rows;
  for (const QModelIndex& index : view.selectionModel()->selectedIndexes()) rows.push_back(index.row());
  std::ranges::sort(rows);
  const auto repeated = std::ranges::unique(rows);
  rows.erase(repeated.begin(), repeated.end());

  // Tabs and line ends inside a cell would shift everything after them when pasted.
  const auto clean = [](QString text) {
    return text.replace(QLatin1Char('\t'), QLatin1Char(' ')).replace(QLatin1Char('\n'), QLatin1Char(' '));
  };
  QStringList lines, cells;
  for (const int c : shown) cells << clean(view.model()->headerData(c, Qt::Horizontal).toString());
  lines << cells.join(QLatin1Char('\t'));
  for (const int r : rows) {
    cells.clear();
    for (const int c : shown) cells << clean(view.model()->index(r, c).data().toString());
    lines << cells.join(QLatin1Char('\t'));
  }
  return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

}  // namespace difr::views
