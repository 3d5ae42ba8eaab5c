#pragma once
// A progress bar with its numbers in a table cell.

#include <QStyledItemDelegate>

namespace difr::views {

class ProgressDelegate final : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace difr::views
