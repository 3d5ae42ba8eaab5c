#include "views/models/format.h"

#include <QCoreApplication>
#include <QLocale>
#include <cmath>

namespace difr::views {

QString dash() {
  return QStringLiteral("–");
}

QString format_count(qint64 n) {
  return QLocale().toString(n);
}

QString format_percent(double share) {
  if (std::isnan(share)) return dash();
  return QLocale().toString(100.0 * share, 'f', 2) + QStringLiteral(" %");
}

QString format_probability(double p) {
  if (!(p < 1e-4) || p <= 0) return format_percent(p);
  return QLocale().toString(p, 'e', 1).replace(QLatin1Char('-'), QChar(0x2212));
}

QString format_margin(double logits) {
  if (std::isnan(logits)) return dash();
  if (std::isinf(logits)) return logits > 0 ? QStringLiteral("∞") : QStringLiteral("−∞");
  if (logits == 0) return QStringLiteral("0");
  const double size = std::abs(logits);
  QString text = size < 1e-4 ? QLocale().toString(logits, 'e', 1)
                             : QLocale().toString(logits, 'f',
                                                  size < 0.1  ? 5
                                                  : size < 10 ? 3
                                                              : 1);
  return text.replace(QLatin1Char('-'), QChar(0x2212));
}

QString format_p(std::optional<double> p) {
  if (!p || std::isnan(*p)) return dash();
  if (*p < 1e-4) return QStringLiteral("< 0.0001");
  return QLocale().toString(*p, 'f', *p < 0.01 ? 4 : 3);
}

QString format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return dash();
  const auto s = static_cast<qint64>(std::ceil(seconds));
  const auto text = [](const char* source) { return QCoreApplication::translate("difr::views::format", source); };
  if (s < 60) return text(QT_TRANSLATE_NOOP("difr::views::format", "%1 s")).arg(s);
  if (s < 3600) return text(QT_TRANSLATE_NOOP("difr::views::format", "%1 min %2 s")).arg(s / 60).arg(s % 60);
  return text(QT_TRANSLATE_NOOP("difr::views::format", "%1 h %2 min")).arg(s / 3600).arg(s / 60 % 60);
}

QString format_rate(double per_second) {
  if (!std::isfinite(per_second) || per_second <= 0) return dash();
  return QLocale().toString(per_second, 'f', per_second < 10 ? 1 : 0);
}

QString format_rate_of(double share) {
  return QLocale().toString(100 * share, 'g', 3) + QStringLiteral(" %");
}

QString format_nats(double nats) {
  if (std::isnan(nats)) return dash();
  if (std::isinf(nats)) return nats > 0 ? QStringLiteral("∞") : QStringLiteral("−∞");
  return QLocale().toString(nats, 'f', 1).replace(QLatin1Char('-'), QChar(0x2212));
}

QString from_utf8(std::string_view utf8) {
  return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

}  // namespace difr::views
