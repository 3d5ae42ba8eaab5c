#include "views/models/job_model.h"

#include <QGuiApplication>
#include <QLocale>
#include <algorithm>

#include "views/models/format.h"
#include "views/theme/icons.h"
#include "views/theme/palette.h"

namespace difr::views {

QString job_state_text(JobState state) {
  switch (state) {
    case JobState::queued:
      return JobModel::tr("waiting");
    case JobState::running:
      return JobModel::tr("running");
    case JobState::cancelling:
      return JobModel::tr("cancelling");
    case JobState::done:
      return JobModel::tr("done");
    case JobState::cancelled:
      return JobModel::tr("cancelled");
    case JobState::failed:
      break;
  }
  return JobModel::tr("failed");
}

JobModel::JobModel(QObject* parent)
    : TableModel({{tr("State"), {}},
                  {tr("Job"), {}},
                  {tr("Progress"), {}},
                  {tr("Rate"), tr("Measured over the job so far"), true},
                  {tr("Time left"), tr("Estimated from the rate"), true},
                  {tr("Started"), {}}},
                 parent) {}

void JobModel::set_service(JobService* service) {
  if (service_) service_->disconnect(this);
  service_ = service;
  if (service_) {
    connect(service_, &JobService::changed, this, &JobModel::reload);
    connect(service_, &JobService::updated, this, &JobModel::update);
  }
  reload();
}

const JobInfo* JobModel::at(int row) const {
  return row >= 0 && row < rows() ? &jobs_[static_cast<std::size_t>(row)] : nullptr;
}

int JobModel::row_of(quint64 job_id) const {
  const auto found = std::ranges::find(jobs_, job_id, &JobInfo::id);
  return found == jobs_.end() ? -1 : static_cast<int>(found - jobs_.begin());
}

void JobModel::reload() {
  beginResetModel();
  jobs_ = service_ ? service_->jobs() : std::vector<JobInfo>{};
  std::ranges::sort(jobs_, std::ranges::greater{}, &JobInfo::id);
  endResetModel();
}

void JobModel::update(quint64 job_id) {
  const int row = row_of(job_id);
  if (row < 0) return;
  for (JobInfo& fresh : service_->jobs())
    if (fresh.id == job_id) jobs_[static_cast<std::size_t>(row)] = std::move(fresh);
  emit dataChanged(index(row, 0), index(row, column_count - 1));
}

QVariant JobModel::cell(int row, int column, int role) const {
  const JobInfo& job = jobs_[static_cast<std::size_t>(row)];
  const bool known = job.total > 0;
  const double share = job.state == JobState::done ? 1.0
                       : known                     ? static_cast<double>(job.done) / static_cast<double>(job.total)
                                                   : -1.0;
  switch (role) {
    case Qt::DisplayRole:
      switch (column) {
        case state:
          return job_state_text(job.state);
        case title:
          return job.title;
        case progress:
          if (!known) return job.active() ? tr("…") : dash();
          if (job.unit == QLatin1String("bytes"))
            return tr("%1 of %2").arg(QLocale().formattedDataSize(job.done), QLocale().formattedDataSize(job.total));
          return tr("%1 of %2 %3").arg(format_count(job.done), format_count(job.total), job.unit);
        case rate:
          if (job.rate > 0 && job.rate_unit == QLatin1String("bytes"))
            return tr("%1/s").arg(QLocale().formattedDataSize(static_cast<qint64>(job.rate), 1));
          return job.rate > 0 ? tr("%1 %2/s").arg(format_rate(job.rate), job.rate_unit) : dash();
        case eta:
          return job.active() ? format_duration(job.eta_s) : dash();
        case started:
          return job.started.isValid() ? QLocale().toString(job.started.time(), QLocale::ShortFormat) : dash();
        default:
          return {};
      }
    case sort_role:
      switch (column) {
        case progress:
          return share;
        case rate:
          if (job.rate > 0 && job.rate_unit == QLatin1String("bytes"))
            return tr("%1/s").arg(QLocale().formattedDataSize(static_cast<qint64>(job.rate), 1));
          return job.rate;
        case eta:
          return job.eta_s;
        case started:
          return job.started;
        default:
          return cell(row, column, Qt::DisplayRole);
      }
    case id_role:
      return job.id;
    case share_role:
      return share;
    case Qt::DecorationRole:
      if (column != state) return {};
      if (job.state == JobState::done) return verdict_icon(Outcome::pass);
      if (job.state == JobState::failed) return verdict_icon(Outcome::fail);
      if (job.state == JobState::cancelled) return icon(QStringLiteral("cancel"));
      return icon(QStringLiteral("jobs"));
    case Qt::ForegroundRole:
      return !job.active() && column > title ? QVariant(colours(QGuiApplication::palette()).muted) : QVariant();
    default:
      return {};
  }
}

}  // namespace difr::views
