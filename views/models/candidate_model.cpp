#include "views/models/candidate_model.h"

#include <QFont>
#include <QGuiApplication>
#include <algorithm>
#include <cmath>

#include "views/models/format.h"
#include "views/theme/palette.h"

namespace difr::views {

QString token_label(const TokenizerText* tokenizer, TokenId id) {
  if (id < 0) return dash();
  if (!tokenizer) return QStringLiteral("#%1").arg(id);
  QString text = QString::fromStdString(tokenizer->text(id));
  text.replace(QLatin1Char(' '), QChar(0x2423))
      .replace(QLatin1Char('\n'), QChar(0x21B5))
      .replace(QLatin1Char('\t'), QChar(0x21E5));
  return text.isEmpty() ? QStringLiteral("#%1").arg(id) : text;
}

CandidateModel::CandidateModel(QObject* parent)
    : TableModel({{tr("Rank"), tr("By raw logit of the reference"), true},
                  {tr("Token"), {}},
                  {tr("Id"), {}, true},
                  {tr("Logit"), tr("Raw logit of the reference"), true},
                  {tr("Probability"), tr("At temperature 1, over the whole vocabulary"), true},
                  {tr("Chosen by"), tr("The provider (claimed) or the reference under the declared seed")}},
                 parent) {}

void CandidateModel::set_position(std::shared_ptr<const RequestDetail> detail, int position) {
  beginResetModel();
  lines_.clear();
  detail_ = std::move(detail);
  const auto t = static_cast<std::size_t>(std::max(position, 0));
  if (detail_ && detail_->evidence && position >= 0 && t < detail_->evidence->size() &&
      t < detail_->claim.output.size()) {
    const Evidence& evidence = *detail_->evidence;
    const TokenId claimed = detail_->claim.output[t];
    const TokenId reference = detail_->scores && t < detail_->scores->size() ? detail_->scores->reference_token[t] : -1;
    const auto ids = evidence.ids(t);
    const auto logits = evidence.logits(t);
    const double lse = evidence.log_sum_exp[t];
    bool seen = false;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      seen = seen || ids[i] == claimed;
      lines_.push_back(
          {static_cast<int>(i), ids[i], logits[i], std::exp(logits[i] - lse), ids[i] == claimed, ids[i] == reference});
    }
    if (!seen) {
      const float own = evidence.claimed_logit[t];
      lines_.push_back({evidence.claimed_rank[t], claimed, own, std::exp(own - lse), true, claimed == reference});
    }
  }
  endResetModel();
}

QVariant CandidateModel::cell(int row, int column, int role) const {
  const Line& line = lines_[static_cast<std::size_t>(row)];
  switch (role) {
    case Qt::DisplayRole:
      switch (column) {
        case rank:
          return line.rank + 1;
        case token:
          return token_label(detail_->tokenizer.get(), line.id);
        case token_id:
          return line.id;
        case logit:
          return QString::number(static_cast<double>(line.logit), 'f', 3);
        case probability:
          return format_probability(line.probability);
        case mark:
          if (line.claimed && line.reference) return tr("both");
          if (line.claimed) return tr("provider");
          return line.reference ? tr("reference") : QString();
        default:
          return {};
      }
    case sort_role:
      switch (column) {
        case logit:
          return static_cast<double>(line.logit);
        case probability:
          return line.probability;
        case rank:
          return line.rank;
        default:
          return cell(row, column, Qt::DisplayRole);
      }
    case id_role:
      return line.id;
    case Qt::FontRole:
      if (line.claimed || line.reference) {
        QFont font;
        font.setBold(true);
        return font;
      }
      return {};
    case Qt::ForegroundRole: {
      const QPalette palette = QGuiApplication::palette();
      if (line.claimed && !line.reference) return colours(palette).fail;
      if (line.reference && !line.claimed) return colours(palette).accent;
      return {};
    }
    default:
      return {};
  }
}

}  // namespace difr::views
