#pragma once
// What a page shows while it waits for an analysis: what is computed, how far it is, and a way to stop it.

#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;

namespace difr::views {

class WorkState final : public QWidget {
  Q_OBJECT
 public:
  explicit WorkState(QWidget* parent = nullptr);
  /// Starts over at "not known how far".
  void begin(const QString& title, const QString& explanation);
  void set_progress(qint64 done, qint64 total, const QString& unit);

 signals:
  void cancelled();

 private:
  QLabel* title_;
  QLabel* explanation_;
  QLabel* count_;
  QProgressBar* bar_;
  QPushButton* cancel_;
};

}  // namespace difr::views
