#include <QApplication>

#include "core/util/version.h"

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  QApplication::setApplicationVersion(QString::fromLatin1(difr::version()));
  return 0;
}
