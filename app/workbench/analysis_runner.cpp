#include "app/workbench/analysis_runner.h"

#include <algorithm>

#include "core/diagnosis/case_diagnosis.h"
#include "core/verdict/case_pipeline.h"

namespace difr::workbench {
namespace {

/// Changes with everything that scores rest on: imports, roles, runs and their batches, calibrations.
std::string scores_basis(const CaseFile& file, const RunRow& run) {
  std::string newest;
  for (const AuditTrailRow& row : file.trail())
    if (row.action != "add finding" && row.action != "remove finding" && row.action != "set" && row.action != "decide")
      newest = row.hash;
  return std::to_string(run.id) + '/' + std::to_string(run.requests_done) + '/' + newest;
}

std::function<void(std::size_t, std::size_t)> counting_in(JobProgress& progress) {
  return [&progress](std::size_t done, std::size_t total) {
    progress.done = static_cast<std::int64_t>(done);
    progress.total = static_cast<std::int64_t>(total);
  };
}

}  // namespace

AnalysisRunner::AnalysisRunner(CaseService& cases, QObject* parent) : AnalysisService(parent), cases_(cases) {
  results_ = std::make_shared<JobQueue<Delivery>>([this] {
    QMetaObject::invokeMethod(
        this, [this] { finished(); }, Qt::QueuedConnection);
  });
  poll_.setInterval(120);
  connect(&poll_, &QTimer::timeout, this, [this] {
    if (!job_ || !current_) return;
    // A page that is gone waits for nothing; its work would only hold up the next question.
    if (!current_->context) return job_->cancel();
    emit progressed(current_->token, job_->progress().done, job_->progress().total);
  });
  connect(&cases_, &views::CaseSource::opened, this, &AnalysisRunner::cancel_all);
  connect(&cases_, &views::CaseSource::closed, this, &AnalysisRunner::cancel_all);
}

AnalysisRunner::~AnalysisRunner() = default;

quint64 AnalysisRunner::diagnose(QObject* context, std::int64_t provider_id,
                                 views::Reply<std::shared_ptr<const Diagnosis>> reply) {
  using Result = std::shared_ptr<const Diagnosis>;
  return ask<Result>(
      context,
      [provider_id](const CaseFile& file, std::stop_token stop, JobProgress& progress) -> Result {
        const auto provider = file.provider(provider_id);
        if (!provider) throw bad_input(file.path().string(), "the provider is not in this case any more", "reload it");
        DiagnosisOptions options;
        options.progress = counting_in(progress);
        return std::make_shared<const Diagnosis>(
            diagnose_provider(file, require_run(file), *provider, std::move(options), stop));
      },
      std::move(reply));
}

quint64 AnalysisRunner::study_calibration(QObject* context, std::int64_t provider_id,
                                          views::Reply<std::shared_ptr<const CalibrationStudy>> reply) {
  using Result = std::shared_ptr<const CalibrationStudy>;
  return ask<Result>(
      context,
      [provider_id](const CaseFile& file, std::stop_token stop, JobProgress&) -> Result {
        return std::make_shared<const CalibrationStudy>(
            difr::study_calibration(file, provider_id, stored_decision_options(file), stop));
      },
      std::move(reply));
}

quint64 AnalysisRunner::preview_decision(QObject* context, const DecisionOptions& options,
                                         views::Reply<std::shared_ptr<const DecisionPreview>> reply) {
  using Result = std::shared_ptr<const DecisionPreview>;
  return ask<Result>(
      context,
      [options, cache = material_](const CaseFile& file, std::stop_token stop, JobProgress& progress) -> Result {
        const RunRow run = require_run(file);
        const std::string basis = scores_basis(file, run);
        if (cache->basis != basis) {
          cache->basis.clear();
          cache->material = load_decision_material(file, stop);
          if (!stop.stop_requested()) cache->basis = basis;
        }
        return std::make_shared<const DecisionPreview>(
            difr::preview_decision(cache->material, options, stop, counting_in(progress)));
      },
      std::move(reply));
}

quint64 AnalysisRunner::queue(QObject* context, Task task) {
  task.token = next_token_++;
  task.case_path = cases_.path();
  task.context = context;
  const quint64 token = task.token;
  waiting_.push_back(std::move(task));
  QMetaObject::invokeMethod(
      this, [this] { start_next(); }, Qt::QueuedConnection);
  return token;
}

void AnalysisRunner::start_next() {
  if (job_ || waiting_.empty()) return;
  current_ = std::move(waiting_.front());
  waiting_.pop_front();
  struct Input {
    std::filesystem::path path;
    decltype(Task::work) work;
  };
  job_ = std::make_unique<Job<Delivery>>(
      current_->token, std::make_shared<const Input>(Input{current_->case_path.toStdString(), current_->work}),
      results_, [](const Input& in, std::stop_token stop, JobProgress& progress) {
        return in.work(CaseFile::open(in.path, OpenMode::read_only), stop, progress);
      });
  poll_.start();
}

void AnalysisRunner::finished() {
  auto result = results_->pop();
  if (!result || !current_ || result->token != current_->token) return;
  poll_.stop();
  job_.reset();
  const Task task = *std::exchange(current_, std::nullopt);
  start_next();
  if (!task.context) return;  // cancelled, or its page is gone
  if (result->value) return (*result->value)();
  try {
    std::rethrow_exception(result->error);
  } catch (const std::exception& error) {
    task.fail(to_problem(error, task.case_path));
  }
}

void AnalysisRunner::cancel(quint64 token) {
  std::erase_if(waiting_, [token](const Task& task) { return task.token == token; });
  if (!current_ || current_->token != token) return;
  // Not joined here: the work ends at its next look at the stop token, and the window goes on meanwhile.
  current_->context.clear();
  job_->cancel();
}

void AnalysisRunner::cancel_all() {
  material_ = std::make_shared<MaterialCache>();  // a job of the case before keeps its own
  waiting_.clear();
  if (current_) cancel(current_->token);
}

}  // namespace difr::workbench
