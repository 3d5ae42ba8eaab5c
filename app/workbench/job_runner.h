#pragma once
// The window's work, one job at a time: imports in a core Job, recomputation and decision as child processes.

#include <QTimer>
#include <deque>
#include <functional>
#include <memory>

#include "app/workbench/case_service.h"
#include "app/workbench/child_process.h"
#include "core/ingest/import.h"
#include "core/job/job.h"
#include "views/data/job_service.h"

namespace difr::workbench {

class JobRunner final : public views::JobService {
  Q_OBJECT
 public:
  JobRunner(CaseService& cases, QObject* parent = nullptr);
  ~JobRunner() override;

  [[nodiscard]] std::vector<views::JobInfo> jobs() const override;
  [[nodiscard]] QString suggested_model_dir() const override;
  void import_logs(const QStringList& logs, ProviderRole role) override;
  void recompute(const views::RecomputeRequest& request) override;
  void decide(const DecisionOptions& options) override;
  void open_demo() override;
  void cancel(quint64 job_id) override;
  void clear_finished() override;

 private:
  struct ImportInput {
    std::filesystem::path case_path, log;
    ProviderRole role;
  };
  struct Imported {
    ImportResult result;
    std::vector<SourceIssue> issues;
  };
  struct Entry {
    views::JobInfo info;
    std::function<void(Entry&)> begin;
    std::function<void()> on_done;
    QStringList answers;  ///< exit codes that are an answer and no failure
  };

  Entry& add(const QString& title, const QString& unit);
  void queue_import(const QString& case_path, const QString& log, ProviderRole role);
  void queue_child(Entry& entry, const QStringList& arguments);
  void queue_decide(const QString& case_path);
  void start_next();
  void look_at_case();
  void import_progress();
  void import_finished();
  void child_event(const QJsonObject& line);
  void child_finished(int code, bool crashed);
  void finish(views::JobState state);
  void log(const QString& line);
  [[nodiscard]] Entry* find(quint64 id);

  CaseService& cases_;
  DecisionOptions decision_options_;  ///< of the open case, so that a recomputation decides as before
  std::deque<Entry> entries_;
  quint64 next_id_ = 1;
  Entry* current_ = nullptr;
  bool cancelled_ = false;
  QString error_;
  QTimer poll_;
  std::shared_ptr<JobQueue<std::int64_t>> results_;
  std::shared_ptr<Imported> imported_;  ///< filled by the job, read once its result has arrived
  std::unique_ptr<Job<std::int64_t>> import_;
  std::unique_ptr<Job<std::int64_t>> remember_;
  std::unique_ptr<ChildProcess> child_;
};

}  // namespace difr::workbench
