#include "app/workbench/job_runner.h"

#include <QDir>
#include <QFileInfo>
#include <algorithm>
#include <limits>

#include "app/workbench/programs.h"

namespace difr::workbench {
namespace {
using views::JobInfo;
using views::JobState;
using views::Problem;
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t issues_reported = 20;
}  // namespace

JobRunner::JobRunner(CaseService& cases, QObject* parent) : JobService(parent), cases_(cases) {
  results_ = std::make_shared<JobQueue<std::int64_t>>([this] {
    QMetaObject::invokeMethod(
        this, [this] { import_finished(); }, Qt::QueuedConnection);
  });
  poll_.setInterval(150);
  connect(&poll_, &QTimer::timeout, this, &JobRunner::import_progress);
  connect(&cases_, &views::CaseSource::opened, this, &JobRunner::look_at_case);
}

JobRunner::~JobRunner() {
  if (import_) import_->cancel();
  import_.reset();  // joins; a stopped import leaves whole batches and resumes
  child_.reset();
}

std::vector<JobInfo> JobRunner::jobs() const {
  std::vector<JobInfo> out;
  for (const Entry& entry : entries_) out.push_back(entry.info);
  return out;
}

QString JobRunner::suggested_model_dir() const {
  if (!cases_.model_dir().isEmpty()) return cases_.model_dir();
  return demo_dir().exists() ? demo_dir().filePath(QStringLiteral("model")) : QString();
}

void JobRunner::look_at_case() {
  decision_options_ = {};
  cases_.load_overview(this, [this](tl::expected<std::shared_ptr<const views::CaseOverview>, Problem> reply) {
    if (reply) decision_options_ = (*reply)->decision_options;
    const bool busy = std::ranges::any_of(entries_, [](const Entry& entry) { return entry.info.active(); });
    if (!reply || busy || !(*reply)->run || (*reply)->run->state != RunState::running) return;
    const RunRow& run = *(*reply)->run;
    emit problem({Problem::Severity::warning, QFileInfo(cases_.path()).fileName(),
                  tr("A recomputation was interrupted: %1 of %2 requests are done.")
                      .arg(run.requests_done)
                      .arg(run.requests_total),
                  tr("Recompute with the same reference goes on from there.")});
  });
}

JobRunner::Entry* JobRunner::find(quint64 id) {
  const auto found = std::ranges::find(entries_, id, [](const Entry& entry) { return entry.info.id; });
  return found == entries_.end() ? nullptr : &*found;
}

JobRunner::Entry& JobRunner::add(const QString& title, const QString& unit) {
  Entry& entry = entries_.emplace_back();
  entry.info.id = next_id_++;
  entry.info.title = title;
  entry.info.unit = unit;
  entry.info.rate = entry.info.eta_s = unknown;
  return entry;
}

void JobRunner::import_logs(const QStringList& logs, ProviderRole role) {
  if (logs.isEmpty()) return;
  const auto queue_all = [this, logs, role](const QString& case_path) {
    for (const QString& log : logs) queue_import(case_path, log, role);
    emit changed();
    start_next();
  };
  if (cases_.is_open()) return queue_all(cases_.path());
  // Dropping a log must work without questions first: the case goes where the user's cases lie.
  const QString stem = QFileInfo(logs.front()).completeBaseName();
  const QString path = case_folder().filePath(
      QStringLiteral("%1 %2.difr")
          .arg(stem, QDateTime::currentDateTime().toString(QStringLiteral("yyyy-MM-dd HHmmss"))));
  connect(
      &cases_, &views::CaseSource::opened, this,
      [this, queue_all, path] {
        if (cases_.path() == path) queue_all(path);
      },
      Qt::SingleShotConnection);
  cases_.open(path, true);
}

void JobRunner::queue_import(const QString& case_path, const QString& log_path, ProviderRole role) {
  Entry& entry = add(tr("Import %1").arg(QFileInfo(log_path).fileName()), QStringLiteral("bytes"));
  entry.begin = [this, case_path, log_path, role](Entry& own) {
    auto input =
        std::make_shared<const ImportInput>(ImportInput{case_path.toStdString(), log_path.toStdString(), role});
    imported_ = std::make_shared<Imported>();
    import_ = std::make_unique<Job<std::int64_t>>(
        own.info.id, input, results_,
        [out = imported_](const ImportInput& in, std::stop_token stop, JobProgress& progress) {
          CaseFile file = CaseFile::open(in.case_path, OpenMode::create_or_open);
          ImportOptions options;
          options.role = in.role;
          out->result = import_log(file, in.log, options, stop, [&](std::int64_t done, std::int64_t total) {
            progress.done = done;
            progress.total = total;
          });
          out->issues = file.issues_page(out->result.source_id, 0, issues_reported);
          return out->result.source_id;
        });
    poll_.start();
  };
}

void JobRunner::import_progress() {
  if (!import_ || !current_) return poll_.stop();
  JobInfo& info = current_->info;
  info.done = import_->progress().done;
  info.total = import_->progress().total;
  const double seconds = static_cast<double>(info.started.msecsTo(QDateTime::currentDateTime())) / 1000.0;
  if (seconds > 0.5 && info.done > 0) {
    const double bytes_per_s = static_cast<double>(info.done) / seconds;
    info.rate = bytes_per_s;
    info.rate_unit = QStringLiteral("bytes");
    info.eta_s = static_cast<double>(info.total - info.done) / bytes_per_s;
  }
  emit updated(info.id);
}

void JobRunner::import_finished() {
  auto result = results_->pop();
  if (!result || !current_ || result->token != current_->info.id) return;
  import_progress();
  poll_.stop();
  import_.reset();
  if (result->error) {
    try {
      std::rethrow_exception(result->error);
    } catch (const std::exception& error) {
      const Problem failure = to_problem(error, current_->info.title);
      log(failure.message);
      if (!cancelled_) emit problem(failure);
    }
    return finish(cancelled_ ? JobState::cancelled : JobState::failed);
  }
  const Imported& imported = *imported_;
  if (imported.result.already_known) log(tr("This log is in the case already: the same bytes were imported before."));
  log(tr("%1 records accepted, %2 rejected").arg(imported.result.accepted).arg(imported.result.rejected));
  for (const SourceIssue& issue : imported.issues) {
    const QString place =
        issue.record >= 0 ? tr("%1, record %2").arg(current_->info.title).arg(issue.record) : current_->info.title;
    const Problem found{issue.rejected ? Problem::Severity::error : Problem::Severity::warning, place,
                        QString::fromStdString(issue.message), QString::fromStdString(issue.remedy)};
    log(QStringLiteral("%1: %2").arg(place, found.message));
    emit problem(found);
  }
  finish(cancelled_ ? JobState::cancelled : JobState::done);
}

void JobRunner::recompute(const views::RecomputeRequest& request) {
  if (!cases_.is_open()) return;
  const QString case_path = cases_.path();
  cases_.set_model_dir(request.model_dir);
  QStringList arguments{QStringLiteral("worker"), QStringLiteral("--case"),  case_path,    QStringLiteral("--model"),
                        request.model_dir,        QStringLiteral("--dtype"), request.dtype};
  for (const std::int64_t id : request.provider_ids)
    arguments << QStringLiteral("--provider-id") << QString::number(id);
  // So that the next session, and the reader of tokens, know where the reference lies. SQLite waits its turn.
  remember_ = std::make_unique<Job<std::int64_t>>(
      0,
      std::make_shared<const std::pair<std::string, std::string>>(case_path.toStdString(),
                                                                  request.model_dir.toStdString()),
      std::make_shared<JobQueue<std::int64_t>>(),
      [](const std::pair<std::string, std::string>& in, std::stop_token, JobProgress&) {
        CaseFile::open(in.first, OpenMode::read_write).set_setting("model_dir", in.second);
        return std::int64_t{0};
      });
  Entry& entry =
      add(tr("Recompute %1 (%2)").arg(QFileInfo(case_path).completeBaseName(), request.dtype), tr("requests"));
  entry.on_done = [this, case_path] { queue_decide(case_path); };
  queue_child(entry, arguments);
  emit changed();
  start_next();
}

void JobRunner::queue_decide(const QString& case_path) {
  Entry& entry = add(tr("Decide"), {});
  entry.answers = {QStringLiteral("1")};  // a fail verdict is an answer
  const auto level = [](double value) { return QString::number(value, 'g', 12); };
  const DecisionOptions& o = decision_options_;
  queue_child(entry,
              {QStringLiteral("decide"), QStringLiteral("--case"), case_path, QStringLiteral("--json"),
               QStringLiteral("--alpha"), level(o.alpha), QStringLiteral("--request-alpha"), level(o.request_alpha),
               QStringLiteral("--confidence"), level(o.confidence), QStringLiteral("--resamples"),
               QString::number(o.resamples), QStringLiteral("--resample-seed"), QString::number(o.seed)});
  emit changed();
}

void JobRunner::decide(const DecisionOptions& options) {
  if (!cases_.is_open()) return;
  decision_options_ = options;
  queue_decide(cases_.path());
  start_next();
}

void JobRunner::open_demo() {
  const QString path = case_folder().filePath(QStringLiteral("demo.difr"));
  const auto complete = [this, path] {
    cases_.load_overview(this, [this, path](tl::expected<std::shared_ptr<const views::CaseOverview>, Problem> reply) {
      if (!reply || cases_.path() != path ||
          std::ranges::any_of(entries_, [](const Entry& entry) { return entry.info.active(); }))
        return;
      const QFileInfoList logs = QDir(demo_dir().filePath(QStringLiteral("logs")))
                                     .entryInfoList({QStringLiteral("*.json")}, QDir::Files, QDir::Name);
      // Every step is resumable, so what a cancelled demo left behind is simply gone over again.
      if (static_cast<qsizetype>((*reply)->decisions.size()) + 1 >= logs.size() && !logs.isEmpty()) return;
      for (const QFileInfo& log : logs)
        queue_import(
            path, log.filePath(),
            log.baseName() == QLatin1String("honest-calibration") ? ProviderRole::calibration : ProviderRole::subject);
      recompute({demo_dir().filePath(QStringLiteral("model")), QStringLiteral("fp32"), {}});
    });
  };
  if (cases_.path() == path) return complete();
  connect(&cases_, &views::CaseSource::opened, this, complete, Qt::SingleShotConnection);
  cases_.open(path, true);
}

void JobRunner::queue_child(Entry& entry, const QStringList& arguments) {
  entry.begin = [this, arguments](Entry& own) {
    const QString program = audit_program();
    if (program.isEmpty()) {
      emit problem({Problem::Severity::error, QStringLiteral("difr-audit"), tr("The worker program was not found."),
                    tr("Install difr-audit beside difr-workbench or on the PATH.")});
      QMetaObject::invokeMethod(
          this,
          [this, id = own.info.id] {
            if (current_ && current_->info.id == id) finish(JobState::failed);
          },
          Qt::QueuedConnection);
      return;
    }
    child_ = std::make_unique<ChildProcess>();
    connect(child_.get(), &ChildProcess::event, this, &JobRunner::child_event);
    connect(child_.get(), &ChildProcess::message, this, [this](const QString& line) { log(line); });
    connect(child_.get(), &ChildProcess::finished, this, &JobRunner::child_finished);
    log(QStringLiteral("%1 %2").arg(program, arguments.join(QLatin1Char(' '))));
    child_->start(program, arguments);
  };
}

void JobRunner::child_event(const QJsonObject& line) {
  if (!current_) return;
  JobInfo& info = current_->info;
  const QString kind = line.value(QLatin1String("event")).toString();
  if (kind == QLatin1String("start")) {
    info.total = line.value(QLatin1String("requests_total")).toInteger();
  } else if (kind == QLatin1String("progress")) {
    info.done = line.value(QLatin1String("requests_done")).toInteger();
    info.total = line.value(QLatin1String("requests_total")).toInteger(info.total);
    info.rate = line.value(QLatin1String("tokens_per_s")).toDouble(unknown);
    info.rate_unit = tr("tokens");
    info.eta_s = line.value(QLatin1String("eta_s")).toDouble(unknown);
  } else if (kind == QLatin1String("log")) {
    log(line.value(QLatin1String("message")).toString());
  } else if (kind == QLatin1String("error")) {
    error_ = line.value(QLatin1String("message")).toString();
    log(error_);
  } else if (kind == QLatin1String("cancelled")) {
    cancelled_ = true;
  }
  emit updated(info.id);
}

void JobRunner::child_finished(int code, bool crashed) {
  if (!current_) return;
  const bool answered = !crashed && (code == 0 || current_->answers.contains(QString::number(code)));
  // This runs inside the child's own signal: it goes when control is back in the event loop.
  ChildProcess* child = child_.release();
  const QStringList words = child->last_words();
  child->deleteLater();
  if (cancelled_) return finish(JobState::cancelled);
  if (answered && error_.isEmpty()) return finish(JobState::done);
  const QString said = !error_.isEmpty() ? error_ : words.join(QLatin1Char('\n'));
  emit problem({Problem::Severity::error, current_->info.title,
                crashed ? tr("The worker process ended unexpectedly. %1").arg(said)
                        : tr("The worker failed (exit code %1). %2").arg(code).arg(said),
                crashed ? tr("Finished batches are kept: start Recompute again. If memory ran out, choose bf16.")
                        : tr("The log on the Jobs page has the details.")});
  finish(JobState::failed);
}

void JobRunner::start_next() {
  if (current_) return;
  const auto next = std::ranges::find(entries_, JobState::queued, [](const Entry& entry) { return entry.info.state; });
  if (next == entries_.end()) return;
  current_ = &*next;
  cancelled_ = false;
  error_.clear();
  current_->info.state = JobState::running;
  current_->info.started = QDateTime::currentDateTime();
  emit updated(current_->info.id);
  current_->begin(*current_);
}

void JobRunner::finish(JobState state) {
  Entry& entry = *std::exchange(current_, nullptr);
  entry.info.state = state;
  entry.info.finished = QDateTime::currentDateTime();
  entry.info.eta_s = unknown;
  emit updated(entry.info.id);
  if (state == JobState::done && entry.on_done) entry.on_done();
  cases_.announce_change();
  start_next();
}

void JobRunner::log(const QString& line) {
  if (!current_ || line.isEmpty()) return;
  current_->info.log << line;
  emit updated(current_->info.id);
}

void JobRunner::cancel(quint64 id) {
  Entry* entry = find(id);
  if (!entry || !entry->info.active()) return;
  if (entry != current_) {
    entry->info.state = JobState::cancelled;
    emit updated(id);
    return;
  }
  cancelled_ = true;
  entry->info.state = JobState::cancelling;
  if (import_) import_->cancel();
  if (child_) child_->cancel();
  emit updated(id);
}

void JobRunner::clear_finished() {
  std::erase_if(entries_, [](const Entry& entry) { return !entry.info.active(); });
  // erase moves elements: the running one has a new address.
  if (current_) {
    const auto running = std::ranges::find_if(entries_, [](const Entry& e) {
      return e.info.state == JobState::running || e.info.state == JobState::cancelling;
    });
    current_ = running == entries_.end() ? nullptr : &*running;
  }
  emit changed();
}

}  // namespace difr::workbench
