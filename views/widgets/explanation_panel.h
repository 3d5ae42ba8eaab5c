#pragma once
// One explanation to read: what it says, what was fitted, what the data cannot tell it from, what would.

#include <QFrame>

#include "core/diagnosis/diagnose.h"

class QFormLayout;
class QLabel;

namespace difr::views {

class ExplanationPanel final : public QFrame {
  Q_OBJECT
 public:
  explicit ExplanationPanel(QWidget* parent = nullptr);
  /// Null for either empties it.
  void show_explanation(const Diagnosis* diagnosis, const Explanation* explanation);

 private:
  QLabel* title_;
  QLabel* text_;
  QFormLayout* parameters_;
  QLabel* alike_title_;
  QLabel* alike_;
  QLabel* separates_title_;
  QLabel* separates_;
};

}  // namespace difr::views
