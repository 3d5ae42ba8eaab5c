#include "views/models/explanation_model.h"

#include <QFont>
#include <QGuiApplication>
#include <QLocale>
#include <algorithm>

#include "views/models/format.h"
#include "views/theme/palette.h"

namespace difr::views {
namespace {

QString value_text(double value) {
  return QLocale().toString(value, 'g', 4).replace(QLatin1Char('-'), QChar(0x2212));
}

QString parameter_name(const std::string& slug) {
  if (slug == "sigma") return ExplanationModel::tr("logit noise σ");
  if (slug == "slope_per_100_tokens") return ExplanationModel::tr("growth per 100 tokens");
  if (slug == "early_sigma") return ExplanationModel::tr("extra σ at the start");
  if (slug == "share") return ExplanationModel::tr("share of tokens");
  if (slug == "temperature") return ExplanationModel::tr("temperature");
  if (slug == "temperature_factor") return ExplanationModel::tr("temperature factor");
  if (slug == "foreign_share") return ExplanationModel::tr("foreign share");
  if (slug == "top_k") return ExplanationModel::tr("top-k");
  if (slug == "top_p") return ExplanationModel::tr("top-p");
  if (slug == "rule") return ExplanationModel::tr("rule");
  if (slug == "profile") return ExplanationModel::tr("sampler");
  return QString::fromStdString(slug);
}

}  // namespace

QString explanation_title(ExplanationKind kind) {
  switch (kind) {
    case ExplanationKind::honest:
      return ExplanationModel::tr("As declared");
    case ExplanationKind::sampler:
      return ExplanationModel::tr("Another sampler");
    case ExplanationKind::temperature:
      return ExplanationModel::tr("Another temperature");
    case ExplanationKind::filter:
      return ExplanationModel::tr("Another filter");
    case ExplanationKind::seed_rule:
      return ExplanationModel::tr("Other seeds");
    case ExplanationKind::seed_ignored:
      return ExplanationModel::tr("Seed plays no part");
    case ExplanationKind::greedy:
      return ExplanationModel::tr("Greedy");
    case ExplanationKind::logit_noise:
      return ExplanationModel::tr("Wider logit noise");
    case ExplanationKind::position_trend:
      return ExplanationModel::tr("Noise that grows");
    case ExplanationKind::sparse_corruption:
      return ExplanationModel::tr("Sparse corruption");
    case ExplanationKind::prompt_mismatch:
      return ExplanationModel::tr("Another prompt");
    case ExplanationKind::other_model:
      break;
  }
  return ExplanationModel::tr("Another model");
}

std::pair<QString, QString> parameter_text(const FittedParameter& p) {
  QString value = p.text.empty() ? value_text(p.estimate) : QString::fromStdString(p.text);
  if (p.low < p.high) value += ExplanationModel::tr("  (95 %: %1 to %2)").arg(value_text(p.low), value_text(p.high));
  return {parameter_name(p.name), value};
}

QString parameters_text(const Explanation& explanation) {
  QStringList parts;
  for (const FittedParameter& p : explanation.parameters) {
    const auto [name, value] = parameter_text(p);
    parts << QStringLiteral("%1 %2").arg(name, value);
  }
  return parts.join(QStringLiteral(";  "));
}

ExplanationModel::ExplanationModel(QObject* parent)
    : TableModel({{tr("#"),
                   tr("Rank by held-out log-likelihood; among those that the data cannot tell apart, the one with "
                      "fewer free parameters comes first"),
                   true},
                  {tr("Explanation"), tr("How these tokens may have come about; never a claim about intent")},
                  {tr("Standing"), tr("Whether these data can tell it from the explanation named first")},
                  {tr("Behind"), tr("Nats by which it predicts held-out tokens worse than the best one"), true},
                  {tr("Log-likelihood"), tr("Of tokens that the parameters were not fitted on, in nats"), true},
                  {tr("Free"), tr("Number of fitted or chosen parameters"), true},
                  {tr("Fitted parameters"), tr("With 95 % profile-likelihood intervals")}},
                 parent) {}

void ExplanationModel::set_diagnosis(std::shared_ptr<const Diagnosis> diagnosis) {
  beginResetModel();
  diagnosis_ = std::move(diagnosis);
  endResetModel();
}

int ExplanationModel::rows() const {
  return diagnosis_ ? static_cast<int>(diagnosis_->explanations.size()) : 0;
}

const Explanation* ExplanationModel::at(int row) const {
  return row >= 0 && row < rows() ? &diagnosis_->explanations[static_cast<std::size_t>(row)] : nullptr;
}

bool ExplanationModel::near_best(int row) const {
  return row == 0 || std::ranges::count(inseparable_from(*diagnosis_, at(0)->kind), at(row)->kind) > 0;
}

QVariant ExplanationModel::display(int row, int column) const {
  const Explanation& e = *at(row);
  switch (column) {
    case place:
      return row + 1;
    case explanation:
      return explanation_title(e.kind);
    case standing:
      if (row == 0) return tr("named first");
      return near_best(row) ? tr("not separable from it") : tr("explains less");
    case behind:
      return format_nats(nats_behind(*diagnosis_, e));
    case log_likelihood:
      return format_nats(e.log_likelihood);
    case fitted:
      return e.parameters_fitted;
    case parameters:
      return e.parameters.empty() ? dash() : parameters_text(e);
    default:
      return {};
  }
}

QVariant ExplanationModel::cell(int row, int column, int role) const {
  switch (role) {
    case Qt::DisplayRole:
      return display(row, column);
    case sort_role:
      if (column == behind) return nats_behind(*diagnosis_, *at(row));
      if (column == log_likelihood) return at(row)->log_likelihood;
      if (column == standing) return row == 0 ? 0 : near_best(row) ? 1 : 2;
      return display(row, column);
    case id_role:
      return static_cast<int>(at(row)->kind);
    case Qt::ToolTipRole:
      return QString::fromStdString(at(row)->text);
    case Qt::FontRole:
      if (row == 0 && (column == explanation || column == standing)) {
        QFont font;
        font.setBold(true);
        return font;
      }
      return {};
    case Qt::ForegroundRole: {
      const Colours& c = colours(QGuiApplication::palette());
      if (!near_best(row)) return column == standing ? QVariant(c.muted) : QVariant();
      return column == standing ? (row == 0 ? c.accent : c.undetermined) : QVariant();
    }
    default:
      return {};
  }
}

}  // namespace difr::views
