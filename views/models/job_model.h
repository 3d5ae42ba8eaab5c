#pragma once
// Running and finished work, newest first.

#include "views/data/job_service.h"
#include "views/models/table_model.h"

namespace difr::views {

class JobModel final : public TableModel {
  Q_OBJECT
 public:
  enum Column { state, title, progress, rate, eta, started, column_count };
  enum JobRole { share_role = TableModel::id_role + 1 };  ///< progress in [0, 1], or -1 when unknown

  explicit JobModel(QObject* parent = nullptr);
  void set_service(JobService* service);
  /// Null when the row is gone.
  [[nodiscard]] const JobInfo* at(int row) const;
  [[nodiscard]] int row_of(quint64 job_id) const;

 private:
  [[nodiscard]] int rows() const override { return static_cast<int>(jobs_.size()); }
  [[nodiscard]] QVariant cell(int row, int column, int role) const override;
  void reload();
  void update(quint64 job_id);

  JobService* service_ = nullptr;
  std::vector<JobInfo> jobs_;
};

[[nodiscard]] QString job_state_text(JobState state);

}  // namespace difr::views
