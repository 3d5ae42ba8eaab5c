#pragma once
// The one error list: everything that went wrong or deserves a look, newest first.

#include <deque>

#include "views/data/case_source.h"
#include "views/models/table_model.h"

namespace difr::views {

class ProblemModel final : public TableModel {
  Q_OBJECT
 public:
  enum Column { message, where, remedy, time, column_count };

  explicit ProblemModel(QObject* parent = nullptr);
  /// A repetition of the newest problem only renews its time.
  void add(const Problem& problem);
  void clear();
  [[nodiscard]] int errors() const;

 signals:
  void count_changed();

 private:
  [[nodiscard]] int rows() const override { return static_cast<int>(problems_.size()); }
  [[nodiscard]] QVariant cell(int row, int column, int role) const override;

  std::deque<Problem> problems_;
};

}  // namespace difr::views
