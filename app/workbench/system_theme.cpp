#include "app/workbench/system_theme.h"

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QDBusVariant>
#include <QGuiApplication>

#include "views/theme/palette.h"

namespace difr::workbench {
namespace {
const QString service = QStringLiteral("org.freedesktop.portal.Desktop");
const QString object = QStringLiteral("/org/freedesktop/portal/desktop");
const QString interface = QStringLiteral("org.freedesktop.portal.Settings");
const QString appearance = QStringLiteral("org.freedesktop.appearance");
const QString scheme = QStringLiteral("color-scheme");

/// Older portals wrap the answer in a second variant.
uint number_in(QVariant value) {
  while (value.canConvert<QDBusVariant>()) value = value.value<QDBusVariant>().variant();
  return value.toUInt();
}
}  // namespace

SystemTheme::SystemTheme(QObject* parent)
    : QObject(parent), platform_dark_(views::is_dark(QGuiApplication::palette())), dark_(platform_dark_) {
  QDBusConnection bus = QDBusConnection::sessionBus();
  if (!bus.isConnected()) return;
  bus.connect(service, object, interface, QStringLiteral("SettingChanged"), this,
              SLOT(setting_changed(QString, QString, QDBusVariant)));
  QDBusMessage question = QDBusMessage::createMethodCall(service, object, interface, QStringLiteral("Read"));
  question << appearance << scheme;
  // Asynchronously: a desktop without a portal would cost its time-out before the first paint.
  auto* answer = new QDBusPendingCallWatcher(bus.asyncCall(question, 2000), this);
  connect(answer, &QDBusPendingCallWatcher::finished, this, [this, answer] {
    const QDBusPendingReply<QDBusVariant> reply = *answer;
    if (!reply.isError()) take(number_in(QVariant::fromValue(reply.value())));
    answer->deleteLater();
  });
}

void SystemTheme::setting_changed(const QString& group, const QString& key, const QDBusVariant& value) {
  if (group == appearance && key == scheme) take(number_in(QVariant::fromValue(value)));
}

void SystemTheme::take(uint colour_scheme) {
  const bool now = colour_scheme == 1 || (colour_scheme == 0 && platform_dark_);  // 1 dark, 2 light, 0 no preference
  if (now == dark_) return;
  dark_ = now;
  emit changed();
}

}  // namespace difr::workbench
