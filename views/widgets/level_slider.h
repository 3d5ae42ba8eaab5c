#pragma once
// A slider over error rates: steps of 1, 2, 5 per decade, with the value beside it and a plain consequence below.

#include <QWidget>
#include <vector>

class QLabel;
class QSlider;

namespace difr::views {

class LevelSlider final : public QWidget {
  Q_OBJECT
 public:
  /// `levels` in falling order, in (0, 1).
  LevelSlider(const QString& title, const QString& tip, std::vector<double> levels, QWidget* parent = nullptr);
  [[nodiscard]] double level() const;
  /// A level between the steps becomes a step of its own.
  void set_level(double level);
  void set_consequence(const QString& text);

 signals:
  void changed(double level);

 private:
  void show_level();

  std::vector<double> levels_;
  QSlider* slider_;
  QLabel* value_;
  QLabel* consequence_;
};

}  // namespace difr::views
