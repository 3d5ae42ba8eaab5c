#pragma once
// Who stands for which verdict, newest first.

#include <vector>

#include "core/verdict/sign_off.h"
#include "views/models/table_model.h"

namespace difr::views {

class SignOffModel final : public TableModel {
  Q_OBJECT
 public:
  enum Column { at, author, provider, state, reason, column_count };

  explicit SignOffModel(QObject* parent = nullptr);
  void set_sign_offs(std::vector<SignOff> sign_offs);
  [[nodiscard]] const SignOff* row(int row) const;

 private:
  [[nodiscard]] int rows() const override { return static_cast<int>(sign_offs_.size()); }
  [[nodiscard]] QVariant cell(int row, int column, int role) const override;

  std::vector<SignOff> sign_offs_;
};

}  // namespace difr::views
