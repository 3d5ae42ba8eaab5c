#include "views/models/promise_model.h"

#include <QGuiApplication>
#include <limits>

#include "views/models/format.h"
#include "views/theme/icons.h"
#include "views/theme/palette.h"

namespace difr::views {

PromiseModel::PromiseModel(QObject* parent)
    : TableModel({{tr("False alarms"), tr("Share of honest requests that may lie above the limit"), true},
                  {tr("Limit"), tr("One-sided nonparametric tolerance limit (Wilks) on the request score"), true},
                  {tr("Needed"), tr("Trusted requests that would support the promise: ln δ / ln(1 − α)"), true},
                  {tr("Supported"), {}}},
                 parent) {}

void PromiseModel::set_study(std::shared_ptr<const CalibrationStudy> study) {
  beginResetModel();
  study_ = std::move(study);
  endResetModel();
}

int PromiseModel::rows() const {
  return study_ ? static_cast<int>(study_->promises.size()) : 0;
}

const TolerancePromise* PromiseModel::at(int row) const {
  return row >= 0 && row < rows() ? &study_->promises[static_cast<std::size_t>(row)] : nullptr;
}

QVariant PromiseModel::display(int row, int column) const {
  const TolerancePromise& promise = *at(row);
  const bool kept = promise.limit.limit.has_value();
  switch (column) {
    case alpha:
      return QStringLiteral("≤ ") + format_rate_of(promise.alpha);
    case limit:
      return kept ? format_margin(*promise.limit.limit) : dash();
    case needed:
      return format_count(static_cast<qint64>(promise.limit.needed));
    case supported: {
      if (kept) return tr("yes: rank %1 of %2").arg(promise.limit.rank).arg(study_->request_scores.size());
      const std::size_t have = study_->request_scores.size();
      return tr("no: %1 more are needed").arg(format_count(static_cast<qint64>(promise.limit.needed - have)));
    }
    default:
      return {};
  }
}

QVariant PromiseModel::cell(int row, int column, int role) const {
  const TolerancePromise& promise = *at(row);
  const bool kept = promise.limit.limit.has_value();
  switch (role) {
    case Qt::DisplayRole:
      return display(row, column);
    case sort_role:
      if (column == alpha) return promise.alpha;
      if (column == limit) return promise.limit.limit.value_or(std::numeric_limits<double>::quiet_NaN());
      if (column == needed) return static_cast<qulonglong>(promise.limit.needed);
      return kept;
    case Qt::DecorationRole:
      if (column != supported) return {};
      return kept ? verdict_icon(Outcome::pass) : icon(QStringLiteral("cancel"));
    case Qt::ForegroundRole:
      return kept ? QVariant() : QVariant(colours(QGuiApplication::palette()).muted);
    default:
      return {};
  }
}

}  // namespace difr::views
