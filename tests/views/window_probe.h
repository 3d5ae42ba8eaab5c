#pragma once
// What a test reads off a window: tables by their accessible name, and the text that labels show.

#include <QLabel>
#include <QStringList>
#include <QTableView>

namespace difr::test {

/// The table with that accessible name; null when there is none.
inline QTableView* find_table(const QWidget& window, const QString& name) {
  for (auto* view : window.findChildren<QTableView*>())
    if (view->accessibleName() == name) return view;
  return nullptr;
}

/// Text of all labels in the widget, a line each; with `visible_only` of those that are seen.
inline QString label_text(const QWidget& widget, bool visible_only) {
  QStringList all;
  for (const QLabel* label : widget.findChildren<QLabel*>())
    if (!visible_only || label->isVisible()) all << label->text();
  return all.join(QLatin1Char('\n'));
}

}  // namespace difr::test
