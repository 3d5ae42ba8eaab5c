#include "views/models/problem_model.h"

#include <QLocale>
#include <algorithm>

#include "views/theme/icons.h"

namespace difr::views {
namespace {
constexpr std::size_t limit = 1000;
}

ProblemModel::ProblemModel(QObject* parent)
    : TableModel({{tr("Problem"), {}}, {tr("Where"), {}}, {tr("What to do"), {}}, {tr("Time"), {}}}, parent) {}

void ProblemModel::add(const Problem& problem) {
  if (!problems_.empty() && problems_.front().message == problem.message && problems_.front().where == problem.where) {
    problems_.front().at = problem.at;
    emit dataChanged(index(0, time), index(0, time));
    return;
  }
  beginInsertRows({}, 0, 0);
  problems_.push_front(problem);
  endInsertRows();
  if (problems_.size() > limit) {
    const int last = rows() - 1;
    beginRemoveRows({}, last, last);
    problems_.pop_back();
    endRemoveRows();
  }
  emit count_changed();
}

void ProblemModel::clear() {
  beginResetModel();
  problems_.clear();
  endResetModel();
  emit count_changed();
}

int ProblemModel::errors() const {
  return static_cast<int>(std::ranges::count(problems_, Problem::Severity::error, &Problem::severity));
}

QVariant ProblemModel::cell(int row, int column, int role) const {
  const Problem& problem = problems_[static_cast<std::size_t>(row)];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
    case sort_role:
      switch (column) {
        case message:
          return problem.message;
        case where:
          return problem.where;
        case remedy:
          return problem.remedy;
        case time:
          return role == sort_role ? QVariant(problem.at)
                                   : QVariant(QLocale().toString(problem.at.time(), QLocale::ShortFormat));
        default:
          return {};
      }
    case Qt::DecorationRole:
      if (column != message) return {};
      if (problem.severity == Problem::Severity::error) return verdict_icon(Outcome::fail);
      return icon(problem.severity == Problem::Severity::warning ? QStringLiteral("problems") : QStringLiteral("note"));
    default:
      return {};
  }
}

}  // namespace difr::views
