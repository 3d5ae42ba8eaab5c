#pragma once
// Signing off one provider's verdict, and the sign-offs there are.

#include <QFrame>

#include "core/verdict/sign_off.h"

class QLabel;
class QLineEdit;
class QPushButton;

namespace difr::views {

class SignOffModel;
class TableView;

class SignOffPanel final : public QFrame {
  Q_OBJECT
 public:
  explicit SignOffPanel(QWidget* parent = nullptr);
  void set_sign_offs(std::vector<SignOff> sign_offs);
  /// What would be signed, in one line; or, when `ready` is false, why nothing can be signed now.
  void set_subject(const QString& statement, bool ready);
  /// Empties the reason; the name stays.
  void signed_off();

 signals:
  void sign_wanted(const QString& author, const QString& reason);
  void withdraw_wanted(qint64 finding_id);

 private:
  void show_ready();

  SignOffModel* model_;
  TableView* table_;
  QLabel* subject_;
  QLineEdit* author_;
  QLineEdit* reason_;
  QPushButton* sign_;
  QPushButton* withdraw_;
  bool ready_ = false;
};

}  // namespace difr::views
