#include "views/models/environment_model.h"

#include <QFont>
#include <QGuiApplication>
#include <limits>

#include "views/models/format.h"
#include "views/theme/palette.h"

namespace difr::views {

EnvironmentModel::EnvironmentModel(QObject* parent)
    : TableModel(
          {{tr("Calibration"), tr("The newest first: decisions rest on it")},
           {tr("Drift p"), tr("Two-sided permutation test against the newest; small: the environments differ"), true},
           {tr("Threshold"), tr("Of the mean clipped margin of a provider as large as the newest, in logits"), true},
           {tr("Requests"), tr("Trusted requests"), true},
           {tr("Tokens"), tr("Trusted output tokens"), true},
           {tr("Δ"), tr("Clip of a token's margin, in logits"), true},
           {tr("σ₀"), tr("Honest logit noise, fitted, in logits"), true},
           {tr("Reference environment"), {}}},
          parent) {}

void EnvironmentModel::set_study(std::shared_ptr<const CalibrationStudy> study) {
  beginResetModel();
  study_ = std::move(study);
  endResetModel();
}

int EnvironmentModel::rows() const {
  return study_ ? static_cast<int>(study_->environments.size()) : 0;
}

QVariant EnvironmentModel::display(const EnvironmentFacts& facts, int column) const {
  switch (column) {
    case name:
      return QString::fromStdString(facts.name);
    case requests:
      return format_count(static_cast<qint64>(facts.requests));
    case tokens:
      return format_count(static_cast<qint64>(facts.tokens));
    case clip:
      return format_margin(facts.clip);
    case sigma:
      return format_margin(facts.noise_sigma);
    case threshold:
      return format_margin(facts.threshold);
    case drift:
      if (facts.drift) return format_p(facts.drift->p_value);
      return facts.studied ? tr("in use") : dash();
    case environment:
      return QString::fromStdString(facts.environment);
    default:
      return {};
  }
}

QVariant EnvironmentModel::cell(int row, int column, int role) const {
  const EnvironmentFacts& facts = study_->environments[static_cast<std::size_t>(row)];
  switch (role) {
    case Qt::DisplayRole:
      return display(facts, column);
    case sort_role:
      switch (column) {
        case requests:
          return static_cast<qulonglong>(facts.requests);
        case tokens:
          return static_cast<qulonglong>(facts.tokens);
        case clip:
          return facts.clip;
        case sigma:
          return facts.noise_sigma;
        case threshold:
          return facts.threshold;
        case drift:
          return facts.drift ? facts.drift->p_value : std::numeric_limits<double>::quiet_NaN();
        default:
          return display(facts, column);
      }
    case id_role:
      return static_cast<qlonglong>(facts.id);
    case Qt::ToolTipRole: {
      QStringList logs;
      for (const std::string& provider : facts.providers) logs << QString::fromStdString(provider);
      QString tip =
          tr("%1\nTrusted logs: %2").arg(QString::fromStdString(facts.environment), logs.join(QStringLiteral(", ")));
      if (!facts.incomparable.empty()) tip += QLatin1Char('\n') + QString::fromStdString(facts.incomparable);
      return tip;
    }
    case Qt::FontRole:
      if (facts.studied && column == name) {
        QFont font;
        font.setBold(true);
        return font;
      }
      return {};
    case Qt::ForegroundRole:
      return facts.incomparable.empty() ? QVariant() : QVariant(colours(QGuiApplication::palette()).muted);
    default:
      return {};
  }
}

}  // namespace difr::views
