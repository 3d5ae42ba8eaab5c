#pragma once
// A title and labelled facts on a card that scrolls: what a table's row says in full.

#include <QFrame>
#include <utility>
#include <vector>

class QFormLayout;
class QLabel;

namespace difr::views {

class FactPanel final : public QFrame {
  Q_OBJECT
 public:
  /// `name` is read out by screen readers.
  explicit FactPanel(const QString& name, QWidget* parent = nullptr);
  /// Facts without a value are left out. `text` stands between title and facts.
  void show_facts(const QString& title, const QString& text, const std::vector<std::pair<QString, QString>>& facts);

 private:
  QLabel* title_;
  QLabel* text_;
  QFormLayout* facts_;
};

}  // namespace difr::views
