#pragma once
// Analyses of the open case, one at a time on their own threads, each over a read-only CaseFile of its own.

#include <QPointer>
#include <QTimer>
#include <deque>
#include <functional>
#include <memory>

#include "app/workbench/case_service.h"
#include "core/job/job.h"
#include "views/data/analysis_service.h"

namespace difr::workbench {

class AnalysisRunner final : public views::AnalysisService {
  Q_OBJECT
 public:
  explicit AnalysisRunner(CaseService& cases, QObject* parent = nullptr);
  ~AnalysisRunner() override;

  quint64 diagnose(QObject* context, std::int64_t provider_id,
                   views::Reply<std::shared_ptr<const Diagnosis>> reply) override;
  quint64 study_calibration(QObject* context, std::int64_t provider_id,
                            views::Reply<std::shared_ptr<const CalibrationStudy>> reply) override;
  quint64 preview_decision(QObject* context, const DecisionOptions& options,
                           views::Reply<std::shared_ptr<const DecisionPreview>> reply) override;
  void cancel(quint64 token) override;

 private:
  /// Scores are read once per case state, not once per move of a slider. Jobs run one after the other, so the one at
  /// work has it to itself.
  struct MaterialCache {
    std::string basis;
    DecisionMaterial material;
  };
  /// What a job leaves behind: the reply with its answer, to be called on the GUI thread.
  using Delivery = std::function<void()>;
  struct Task {
    quint64 token = 0;
    QString case_path;
    std::function<Delivery(const CaseFile&, std::stop_token, JobProgress&)> work;
    std::function<void(const views::Problem&)> fail;
    QPointer<QObject> context;  ///< null once cancelled: the answer is nobody's any more
  };

  template <class T>
  quint64 ask(QObject* context, std::function<T(const CaseFile&, std::stop_token, JobProgress&)> work,
              views::Reply<T> reply) {
    Task task;
    task.work = [work = std::move(work), reply](const CaseFile& file, std::stop_token stop, JobProgress& progress) {
      auto answer = std::make_shared<T>(work(file, stop, progress));
      return Delivery([reply, answer] { reply(std::move(*answer)); });
    };
    task.fail = [reply](const views::Problem& problem) { reply(tl::unexpected(problem)); };
    return queue(context, std::move(task));
  }
  quint64 queue(QObject* context, Task task);
  void start_next();
  void finished();
  void cancel_all();

  CaseService& cases_;
  std::deque<Task> waiting_;
  std::optional<Task> current_;
  quint64 next_token_ = 1;
  QTimer poll_;
  std::shared_ptr<MaterialCache> material_ = std::make_shared<MaterialCache>();
  std::shared_ptr<JobQueue<Delivery>> results_;
  std::unique_ptr<Job<Delivery>> job_;
};

}  // namespace difr::workbench
