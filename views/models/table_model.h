#pragma once
// The one base of all table models: plumbing is final, a model says what a cell holds.

#include <QAbstractTableModel>
#include <QVariant>
#include <vector>

class QAbstractItemView;

namespace difr::views {

class TableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Role {
    sort_role = Qt::UserRole,  ///< raw value: numbers as numbers
    id_role,                   ///< case-file row id
  };
  struct Column {
    QString title;
    QString tip;
    bool numeric = false;
  };

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const final { return parent.isValid() ? 0 : rows(); }
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const final {
    return parent.isValid() ? 0 : static_cast<int>(columns_.size());
  }
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const final;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const final;
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }

 protected:
  TableModel(std::vector<Column> columns, QObject* parent)
      : QAbstractTableModel(parent), columns_(std::move(columns)) {}

  [[nodiscard]] virtual int rows() const = 0;
  /// Called for existing cells only. Alignment and accessible text have defaults; return {} for roles without meaning.
  [[nodiscard]] virtual QVariant cell(int row, int column, int role) const = 0;

 private:
  std::vector<Column> columns_;
};

/// The selected cells of a view (whole rows, visible columns, in view order) with headers, tab-separated.
[[nodiscard]] QString selection_as_text(const QAbstractItemView& view);

}  // namespace difr::views
