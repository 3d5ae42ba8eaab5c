#include "views/models/provider_model.h"

#include <QFont>
#include <QGuiApplication>
#include <algorithm>
#include <cmath>
#include <limits>

#include "views/models/format.h"
#include "views/theme/icons.h"
#include "views/theme/palette.h"

namespace difr::views {
namespace {

std::vector<TableModel::Column> make_columns() {
  const auto tr = [](const char* s) { return ProviderModel::tr(s); };
  return {
      {tr("Verdict"), tr("Pass, fail or undetermined: what the declared facts can explain")},
      {tr("Provider"), tr("Provider configuration as its log declares it")},
      {tr("Exact match"), tr("Share of tokens that the reference picks too, under the declared seed and sampler"),
       true},
      {tr("Mean margin"), tr("Mean margin in logits, each token's margin clipped at the calibration's Δ"), true},
      {tr("Score"), tr("The statistic that is compared with the threshold"), true},
      {tr("Threshold"), tr("Tolerance limit of trusted runs; – when the calibration cannot support the level asked"),
       true},
      {tr("p"), tr("p-value of the score against trusted runs"), true},
      {tr("LLR p"), tr("p-value of the signed-gap likelihood ratio, the second statistic"), true},
      {tr("Requests"), tr("Requests in the log"), true},
      {tr("Tokens"), tr("Output tokens"), true},
      {tr("Sampler"), tr("Sampler profile the scores were made under")},
      {tr("Reason"), tr("Why this verdict, in words")},
  };
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

QString outcome_text(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass:
      return ProviderModel::tr("pass");
    case Outcome::fail:
      return ProviderModel::tr("fail");
    case Outcome::undetermined:
      break;
  }
  return ProviderModel::tr("undetermined");
}

int severity(Outcome outcome) {
  return outcome == Outcome::fail ? 0 : outcome == Outcome::undetermined ? 1 : 2;
}

ProviderModel::ProviderModel(QObject* parent) : TableModel(make_columns(), parent) {}

void ProviderModel::set_overview(std::shared_ptr<const CaseOverview> overview) {
  beginResetModel();
  overview_ = std::move(overview);
  lines_.clear();
  if (overview_) {
    for (const ProviderRow& provider : overview_->providers)
      lines_.push_back({&provider, overview_->decision_of(provider.id)});
    // Trusted logs are context, not findings: they come last.
    std::ranges::stable_sort(lines_, {},
                             [](const Line& line) { return line.provider->role == ProviderRole::calibration; });
  }
  endResetModel();
}

int ProviderModel::row_of(std::int64_t id) const {
  const auto found = std::ranges::find(lines_, id, [](const Line& line) { return line.provider->id; });
  return found == lines_.end() ? -1 : static_cast<int>(found - lines_.begin());
}

std::int64_t ProviderModel::provider_id(int row) const {
  return row >= 0 && row < rows() ? lines_[static_cast<std::size_t>(row)].provider->id : 0;
}

QVariant ProviderModel::display(const Line& line, int column) const {
  const ProviderDecision* d = line.decision;
  switch (column) {
    case verdict:
      if (d) return outcome_text(d->verdict);
      return line.provider->role == ProviderRole::calibration ? tr("calibration") : tr("not decided");
    case name:
      return QString::fromStdString(line.provider->config.name);
    case exact_match:
      return d ? format_percent(d->exact_match) : dash();
    case mean_margin:
      return d ? format_margin(d->mean_clipped_margin) : dash();
    case score:
      return d ? format_margin(d->score) : dash();
    case threshold:
      return d && d->threshold ? format_margin(*d->threshold) : dash();
    case p_value:
      return d ? format_p(d->p_value) : dash();
    case llr_p_value:
      return d ? format_p(d->llr_p_value) : dash();
    case requests:
      return format_count(line.provider->requests);
    case tokens:
      return format_count(line.provider->output_tokens);
    case sampler:
      return QString::fromStdString(d && !d->sampler.empty() ? d->sampler : line.provider->config.sampler);
    case reason:
      if (d) return QString::fromStdString(d->reason);
      if (line.provider->role == ProviderRole::calibration) return tr("Trusted log: thresholds rest on it.");
      return overview_->run ? tr("Scored, but not decided yet.") : tr("Not recomputed yet: start with Recompute.");
    default:
      return {};
  }
}

QVariant ProviderModel::raw(const Line& line, int column) const {
  const ProviderDecision* d = line.decision;
  switch (column) {
    case verdict:
      if (d) return severity(d->verdict);
      return line.provider->role == ProviderRole::calibration ? 4 : 3;
    case exact_match:
      return d ? d->exact_match : nan;
    case mean_margin:
      return d ? d->mean_clipped_margin : nan;
    case score:
      return d ? d->score : nan;
    case threshold:
      return d ? d->threshold.value_or(nan) : nan;
    case p_value:
      return d ? d->p_value.value_or(nan) : nan;
    case llr_p_value:
      return d ? d->llr_p_value.value_or(nan) : nan;
    case requests:
      return static_cast<qlonglong>(line.provider->requests);
    case tokens:
      return static_cast<qlonglong>(line.provider->output_tokens);
    default:
      return display(line, column);
  }
}

QVariant ProviderModel::cell(int row, int column, int role) const {
  const Line& line = lines_[static_cast<std::size_t>(row)];
  switch (role) {
    case Qt::DisplayRole:
      return display(line, column);
    case sort_role:
      return raw(line, column);
    case id_role:
      return static_cast<qlonglong>(line.provider->id);
    case Qt::ToolTipRole:
      if (column == reason || column == sampler || column == name) return display(line, column);
      return headerData(column, Qt::Horizontal, Qt::ToolTipRole);
    case Qt::DecorationRole:
      if (column == verdict && line.decision) return verdict_icon(line.decision->verdict);
      return {};
    case Qt::ForegroundRole: {
      const QPalette palette = QGuiApplication::palette();
      if (!line.decision && column != name) return colours(palette).muted;
      if (column == verdict) return verdict_colour(line.decision->verdict, is_dark(palette));
      return {};
    }
    case Qt::FontRole:
      if (column == verdict && line.decision) {
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
