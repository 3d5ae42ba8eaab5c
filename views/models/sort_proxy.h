#pragma once
// Sorts small tables by raw value; NaN (not known) always comes last.

#include <QSortFilterProxyModel>

namespace difr::views {

class SortProxy : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  explicit SortProxy(QObject* parent = nullptr);

 protected:
  [[nodiscard]] bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
};

}  // namespace difr::views
