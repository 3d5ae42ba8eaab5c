#pragma once
// One provider's decision to read: verdict, reason, the numbers behind it.

#include <QFrame>

#include "views/data/case_source.h"

class QFormLayout;
class QLabel;
class QPushButton;

namespace difr::views {

class VerdictPanel final : public QFrame {
  Q_OBJECT
 public:
  explicit VerdictPanel(QWidget* parent = nullptr);
  /// Nulls empty it; a provider without decision says what is missing.
  void show_provider(const ProviderRow* provider, const ProviderDecision* decision);

 signals:
  void requests_wanted();
  void diagnosis_wanted();

 private:
  void restyle();
  void changeEvent(QEvent* event) override;

  QLabel* badge_ = nullptr;
  QLabel* verdict_ = nullptr;
  QLabel* name_;
  QLabel* reason_;
  QFormLayout* numbers_;
  QPushButton* requests_;
  QPushButton* diagnosis_;
  std::optional<Outcome> outcome_;
};

}  // namespace difr::views
