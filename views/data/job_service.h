#pragma once
// What the pages ask of running work (imports, worker processes). app/workbench implements it with core jobs and
// child processes, tests with a script.

#include <QDateTime>
#include <QObject>
#include <QString>
#include <QStringList>
#include <vector>

#include "core/casefile/case_file.h"
#include "views/data/case_source.h"

namespace difr::views {

enum class JobState : std::uint8_t { queued, running, cancelling, done, cancelled, failed };

/// A snapshot for people. `total` 0: unknown; rates and ETA NaN when unknown.
struct JobInfo {
  quint64 id = 0;
  QString title;
  QString unit;  ///< of done and total, e.g. "requests"
  JobState state = JobState::queued;
  qint64 done = 0;
  qint64 total = 0;
  double rate = 0;  ///< per second, in `rate_unit`
  QString rate_unit;
  double eta_s = 0;
  QDateTime started;
  QDateTime finished;
  QStringList log;

  [[nodiscard]] bool active() const {
    return state == JobState::queued || state == JobState::running || state == JobState::cancelling;
  }
};

struct RecomputeRequest {
  QString model_dir;
  QString dtype = QStringLiteral("fp32");
  std::vector<std::int64_t> provider_ids;  ///< empty: all
};

class JobService : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  [[nodiscard]] virtual std::vector<JobInfo> jobs() const = 0;
  [[nodiscard]] virtual QString suggested_model_dir() const = 0;
  virtual void import_logs(const QStringList& logs, ProviderRole role) = 0;
  virtual void recompute(const RecomputeRequest& request) = 0;
  /// Decides every provider of the open case again, under other levels.
  virtual void decide(const DecisionOptions& options) = 0;
  virtual void open_demo() = 0;
  virtual void cancel(quint64 job_id) = 0;
  virtual void clear_finished() = 0;

 signals:
  void changed();  ///< jobs were added or removed
  void updated(quint64 job_id);
  void problem(const difr::views::Problem& problem);
};

}  // namespace difr::views
