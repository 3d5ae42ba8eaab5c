#pragma once
// --screenshots DIR: every page in light and dark, at 1x and 2x, of the case that was opened.

#include <QDir>
#include <functional>

#include "views/shell/main_window.h"

namespace difr::workbench {

/// Walks the pages as the event loop allows, writes PNG files, then calls `done`.
class Screenshots final : public QObject {
  Q_OBJECT
 public:
  Screenshots(views::MainWindow& window, views::CaseSource& cases, QDir folder,
              std::function<void(bool dark)> set_theme, std::function<void()> done);
  void start();

 private:
  void next();
  void grab(const QString& name) const;

  views::MainWindow& window_;
  views::CaseSource& cases_;
  QDir folder_;
  std::function<void(bool)> set_theme_;
  std::function<void()> done_;
  std::vector<std::function<void()>> steps_;
  std::size_t step_ = 0;
  int waited_ms_ = 0;
};

}  // namespace difr::workbench
