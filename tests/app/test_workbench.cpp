// The window as a program: its command line and its pictures, without a display.
#include <QtTest>
#include <utility>

class TestWorkbench : public QObject {
  Q_OBJECT

  struct Result {
    int code = -1;
    QByteArray out;
  };
  static Result run(const QStringList& arguments, const QString& home) {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
    environment.insert(QStringLiteral("XDG_DATA_HOME"), home);
    environment.insert(QStringLiteral("XDG_CONFIG_HOME"), home);
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(DIFR_BIN_DIR "/difr-workbench"), arguments);
    if (!process.waitForFinished(120'000)) process.kill();
    return {process.exitCode(), process.readAllStandardOutput()};
  }

  static QByteArray read(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }
  /// Width and height as a PNG's header has them; zeros for anything else.
  static std::pair<quint32, quint32> size(const QByteArray& png) {
    if (!png.startsWith("\x89PNG") || png.size() < 24) return {0, 0};
    return {qFromBigEndian<quint32>(png.constData() + 16), qFromBigEndian<quint32>(png.constData() + 20)};
  }

 private slots:
  void says_version_and_help() {
    QTemporaryDir home;
    const Result version = run({QStringLiteral("--version")}, home.path());
    QCOMPARE(version.code, 0);
    QVERIFY(version.out.contains("0."));
    QVERIFY(run({QStringLiteral("--help")}, home.path()).out.contains("case.difr"));
    QVERIFY(run({QStringLiteral("--no-such-option")}, home.path()).code != 0);
  }

  void takes_pictures_at_both_scales() {
    QTemporaryDir home;
    const QString folder = home.filePath(QStringLiteral("pictures"));
    QCOMPARE(run({QStringLiteral("--screenshots"), folder}, home.path()).code, 0);
    QByteArray before;
    for (const char* theme : {"light", "dark"}) {
      const QByteArray plain = read(QStringLiteral("%1/welcome-%2.png").arg(folder, QLatin1String(theme)));
      const QByteArray fine = read(QStringLiteral("%1/welcome-%2@2x.png").arg(folder, QLatin1String(theme)));
      QVERIFY(size(plain).first >= 800 && size(plain).second >= 500);
      QCOMPARE(size(fine), std::pair(2 * size(plain).first, 2 * size(plain).second));
      QVERIFY(plain != before);  // light and dark are not the same picture
      before = plain;
    }
  }
};

QTEST_APPLESS_MAIN(TestWorkbench)
#include "test_workbench.moc"
