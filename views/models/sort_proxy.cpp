#include "views/models/sort_proxy.h"

#include <cmath>

#include "views/models/table_model.h"

namespace difr::views {

SortProxy::SortProxy(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(TableModel::sort_role);
  setSortLocaleAware(true);
}

bool SortProxy::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const QVariant a = left.data(sortRole()), b = right.data(sortRole());
  if (a.typeId() == QMetaType::Double && b.typeId() == QMetaType::Double) {
    const double x = a.toDouble(), y = b.toDouble();
    if (std::isnan(x) || std::isnan(y))
      return sortOrder() == Qt::AscendingOrder ? !std::isnan(x) && std::isnan(y) : std::isnan(x) && !std::isnan(y);
    return x < y;
  }
  return QSortFilterProxyModel::lessThan(left, right);
}

}  // namespace difr::views
