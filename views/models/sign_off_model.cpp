#include "views/models/sign_off_model.h"

#include <QDateTime>
#include <QGuiApplication>
#include <QLocale>

#include "views/models/format.h"
#include "views/theme/icons.h"
#include "views/theme/palette.h"

namespace difr::views {

SignOffModel::SignOffModel(QObject* parent)
    : TableModel({{tr("When"), {}},
                  {tr("Who"), {}},
                  {tr("Provider"), {}},
                  {tr("State"), tr("Whether the decision is still the one that was signed")},
                  {tr("Why"), {}}},
                 parent) {}

void SignOffModel::set_sign_offs(std::vector<SignOff> sign_offs) {
  beginResetModel();
  sign_offs_ = std::move(sign_offs);
  endResetModel();
}

const SignOff* SignOffModel::row(int row) const {
  return row >= 0 && row < rows() ? &sign_offs_[static_cast<std::size_t>(row)] : nullptr;
}

QVariant SignOffModel::cell(int row, int column, int role) const {
  const SignOff& s = sign_offs_[static_cast<std::size_t>(row)];
  const auto utf8 = [](const std::string& text) { return QString::fromStdString(text); };
  const QDateTime when = QDateTime::fromString(utf8(s.at), Qt::ISODate);
  switch (role) {
    case Qt::DisplayRole:
      switch (column) {
        case at:
          return when.isValid() ? QLocale().toString(when.toLocalTime(), QLocale::ShortFormat) : utf8(s.at);
        case author:
          return utf8(s.author);
        case provider:
          return s.provider.empty() ? dash() : utf8(s.provider);
        case state:
          return s.current ? tr("stands") : tr("decision changed since");
        case reason:
          return utf8(s.reason).replace(QLatin1Char('\n'), QLatin1Char(' '));
        default:
          return {};
      }
    case sort_role:
      if (column == at) return utf8(s.at);
      return column == state ? QVariant(!s.current) : cell(row, column, Qt::DisplayRole);
    case id_role:
      return static_cast<qlonglong>(s.finding_id);
    case Qt::ToolTipRole:
      return tr("%1\n\n%2").arg(utf8(s.statement), utf8(s.reason));
    case Qt::DecorationRole:
      if (column != state) return {};
      return verdict_icon(s.current ? Outcome::pass : Outcome::undetermined);
    case Qt::ForegroundRole:
      return s.current ? QVariant() : QVariant(colours(QGuiApplication::palette()).muted);
    default:
      return {};
  }
}

}  // namespace difr::views
