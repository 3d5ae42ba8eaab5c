#include "app/workbench/programs.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QStandardPaths>

namespace difr::workbench {

QString audit_program() {
  const QString beside = QDir(QCoreApplication::applicationDirPath()).filePath(QStringLiteral("difr-audit"));
  if (QFileInfo(beside).isExecutable()) return beside;
  return QStandardPaths::findExecutable(QStringLiteral("difr-audit"));
}

QDir demo_dir() {
  const QDir installed(
      QDir::cleanPath(QCoreApplication::applicationDirPath() + QStringLiteral("/../share/difr-workbench/demo")));
  return installed.exists() ? installed : QDir(QStringLiteral(DIFR_SOURCE_DEMO));
}

QDir case_folder() {
  const QDir folder(
      QDir(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation)).filePath(QStringLiteral("cases")));
  folder.mkpath(QStringLiteral("."));
  return folder;
}

}  // namespace difr::workbench
