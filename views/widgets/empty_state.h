#pragma once
// What a page shows instead of nothing: what is missing and the one thing to do next.

#include <QWidget>
#include <functional>
#include <utility>

class QHBoxLayout;
class QLabel;
class QPushButton;
class QVBoxLayout;

namespace difr::views {

class EmptyState final : public QWidget {
  Q_OBJECT
 public:
  explicit EmptyState(const QString& icon_name, QWidget* parent = nullptr);
  void set_text(const QString& title, const QString& explanation);
  /// The first button is the default one.
  QPushButton* add_button(const QString& text, std::function<void()> action);

 private:
  QLabel* title_;
  QLabel* explanation_;
  QHBoxLayout* buttons_;
};

/// A label in one of the house's text sizes.
enum class TextStyle { title, section, body, small };
[[nodiscard]] QLabel* make_label(const QString& text, TextStyle style, QWidget* parent = nullptr);
/// A title and an explanation below it, centred in the column; returns their labels.
std::pair<QLabel*, QLabel*> add_message(QVBoxLayout* column);
/// An icon that follows theme and scale.
[[nodiscard]] QWidget* make_icon(const QString& name, int side, QWidget* parent = nullptr);
/// Gives the widget's text the palette's muted colour, now and after theme changes.
void set_muted(QWidget* widget);

}  // namespace difr::views
