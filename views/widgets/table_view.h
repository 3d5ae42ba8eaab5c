#pragma once
// The house's table: whole rows, copy with headers (Ctrl+C), Enter activates, column menu on the header.

#include <QTableView>

namespace difr::views {

class TableView : public QTableView {
  Q_OBJECT
 public:
  explicit TableView(QWidget* parent = nullptr);
  /// `name` is read out by screen readers.
  void set_up(QAbstractItemModel* model, const QString& name);
  /// Widths in average characters of the font; the last column takes the rest.
  void set_widths(const std::vector<int>& characters);

 public slots:
  void copy();

 signals:
  void current_row_changed(int row);

 protected:
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void fit_rows();
  void header_menu(const QPoint& at);
};

}  // namespace difr::views
