#pragma once
// Ctrl+K: everything the window can do, found by typing a few letters.

#include <QFrame>
#include <functional>
#include <vector>

class QLineEdit;
class QListWidget;

namespace difr::views {

struct Command {
  QString title;
  QString hint;  ///< shortcut or where it leads
  QIcon icon;
  std::function<void()> run;
};

/// How well `query` fits `title`: all letters in order; 0 means not at all. Word starts and runs count more.
[[nodiscard]] int match_score(const QString& query, const QString& title);

class CommandPalette final : public QFrame {
  Q_OBJECT
 public:
  explicit CommandPalette(QWidget* window);
  void open(std::vector<Command> commands);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void filter(const QString& query);
  void run_current();

  std::vector<Command> commands_;
  QLineEdit* query_;
  QListWidget* list_;
};

}  // namespace difr::views
