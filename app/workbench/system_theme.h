#pragma once
// Light or dark as the desktop says, followed live. Qt 6.4 does not tell; the desktop portal does, and where there is
// none the palette that the platform gave us decides.

#include <QObject>
#include <QPalette>

class QDBusVariant;

namespace difr::workbench {

class SystemTheme final : public QObject {
  Q_OBJECT
 public:
  /// Made before the application's palette is replaced, so that the platform's own can be seen.
  explicit SystemTheme(QObject* parent = nullptr);
  [[nodiscard]] bool dark() const { return dark_; }

 signals:
  void changed();

 private slots:
  void setting_changed(const QString& group, const QString& key, const QDBusVariant& value);

 private:
  void take(uint colour_scheme);
  const bool platform_dark_;
  bool dark_ = false;
};

}  // namespace difr::workbench
