#include "views/models/preview_model.h"

#include <QFont>
#include <QGuiApplication>
#include <algorithm>
#include <limits>

#include "views/models/format.h"
#include "views/models/provider_model.h"
#include "views/theme/icons.h"
#include "views/theme/palette.h"

namespace difr::views {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

PreviewModel::PreviewModel(QObject* parent)
    : TableModel({{tr("Provider"), {}},
                  {tr("Decided"), tr("The verdict that is stored in the case")},
                  {tr("Would be"), tr("What would be decided at these levels; nothing is stored")},
                  {tr("Flagged"), tr("Requests flagged by Benjamini-Hochberg at the request level"), true},
                  {tr("p"), tr("p-value of the score against trusted runs"), true},
                  {tr("q"), tr("After Benjamini-Hochberg over the providers of the case"), true},
                  {tr("Score"), tr("The statistic that is compared with the threshold"), true},
                  {tr("Threshold"), tr("At this false-alarm rate; – when the calibration cannot support it"), true},
                  {tr("LLR p"), tr("p-value of the signed-gap likelihood ratio, the second statistic"), true}},
                 parent) {}

void PreviewModel::set_preview(std::shared_ptr<const DecisionPreview> preview,
                               std::shared_ptr<const CaseOverview> overview) {
  beginResetModel();
  preview_ = std::move(preview);
  overview_ = std::move(overview);
  endResetModel();
}

int PreviewModel::rows() const {
  return preview_ ? static_cast<int>(preview_->providers.size()) : 0;
}

const ProviderPreview* PreviewModel::at(int row) const {
  return row >= 0 && row < rows() ? &preview_->providers[static_cast<std::size_t>(row)] : nullptr;
}

const ProviderDecision* PreviewModel::decision(int row) const {
  return overview_ && at(row) ? overview_->decision_of(at(row)->decision.provider_id) : nullptr;
}

int PreviewModel::row_of(std::int64_t provider_id) const {
  for (int row = 0; row < rows(); ++row)
    if (at(row)->decision.provider_id == provider_id) return row;
  return -1;
}

bool PreviewModel::differs(int row) const {
  const ProviderDecision* stored = decision(row);
  return stored && stored->verdict != at(row)->decision.verdict;
}

int PreviewModel::changed() const {
  int n = 0;
  for (int row = 0; row < rows(); ++row) n += differs(row);
  return n;
}

QVariant PreviewModel::display(int row, int column) const {
  const ProviderPreview& line = *at(row);
  const ProviderDecision& d = line.decision;
  switch (column) {
    case name:
      return QString::fromStdString(d.name);
    case decided:
      return decision(row) ? outcome_text(decision(row)->verdict) : tr("not decided");
    case would_be:
      return outcome_text(d.verdict);
    case p_value:
      return format_p(d.p_value);
    case q_value:
      return format_p(line.q_value);
    case score:
      return format_margin(d.score);
    case threshold:
      return d.threshold ? format_margin(*d.threshold) : dash();
    case flagged:
      return tr("%1 of %2")
          .arg(format_count(static_cast<qint64>(line.flagged)), format_count(static_cast<qint64>(d.requests)));
    case llr_p_value:
      return format_p(d.llr_p_value);
    default:
      return {};
  }
}

QVariant PreviewModel::cell(int row, int column, int role) const {
  const ProviderPreview& line = *at(row);
  const ProviderDecision& d = line.decision;
  switch (role) {
    case Qt::DisplayRole:
      return display(row, column);
    case sort_role:
      switch (column) {
        case decided:
          return decision(row) ? severity(decision(row)->verdict) : 3;
        case would_be:
          return severity(d.verdict);
        case p_value:
          return d.p_value.value_or(nan);
        case q_value:
          return line.q_value;
        case score:
          return d.score;
        case threshold:
          return d.threshold.value_or(nan);
        case flagged:
          return static_cast<qulonglong>(line.flagged);
        case llr_p_value:
          return d.llr_p_value.value_or(nan);
        default:
          return display(row, column);
      }
    case id_role:
      return static_cast<qlonglong>(d.provider_id);
    case Qt::ToolTipRole:
      return QString::fromStdString(d.reason);
    case Qt::DecorationRole:
      if (column == would_be) return verdict_icon(d.verdict);
      if (column == decided && decision(row)) return verdict_icon(decision(row)->verdict);
      return {};
    case Qt::ForegroundRole: {
      const QPalette palette = QGuiApplication::palette();
      if (column == would_be) return verdict_colour(d.verdict, is_dark(palette));
      if (column == decided && !decision(row)) return colours(palette).muted;
      return {};
    }
    case Qt::FontRole:
      // A verdict that would change stands out without relying on colour.
      if ((column == would_be || column == name) && differs(row)) {
        QFont font;
        font.setBold(true);
        return font;
      }
      return {};
    default:
      return {};
  }
}

}  // namespace difr::views
