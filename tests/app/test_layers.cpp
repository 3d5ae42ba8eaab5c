// The layer table of docs/architecture.md, read off what was really built: dynamic dependencies of the programs and
// undefined symbols of the archives.
#include <QProcess>
#include <QRegularExpression>
#include <QTest>

namespace {

QByteArray output_of(const QString& program, const QStringList& arguments) {
  QProcess process;
  process.start(program, arguments);
  if (!process.waitForFinished(120'000) || process.exitCode() != 0) return {};
  return process.readAllStandardOutput();
}

const QString kBuild = QStringLiteral(DIFR_BIN_DIR "/..");

}  // namespace

class TestLayers : public QObject {
  Q_OBJECT

 private slots:
  void programs_data() {
    QTest::addColumn<QString>("program");
    QTest::addColumn<QString>("needs");
    QTest::addColumn<QString>("forbidden");
    QTest::newRow("window has no LibTorch") << "difr-workbench" << "libQt6Charts" << "torch";
    QTest::newRow("window has no c10") << "difr-workbench" << "libQt6Widgets" << "libc10";
    QTest::newRow("command line has no Qt") << "difr-audit" << "libtorch" << "libQt6";
  }

  void programs() {
    QFETCH(QString, program);
    QFETCH(QString, needs);
    QFETCH(QString, forbidden);
    // ldd and not readelf: what is loaded through another library counts too.
    const auto libraries = output_of("ldd", {QStringLiteral(DIFR_BIN_DIR "/") + program});
    QVERIFY2(libraries.contains(needs.toUtf8()), libraries.constData());
    QVERIFY2(!libraries.contains(forbidden.toUtf8()), libraries.constData());
  }

  void archives_data() {
    QTest::addColumn<QString>("archive");
    QTest::addColumn<QString>("own");
    QTest::addColumn<QString>("forbidden");
    QTest::newRow("core without Qt") << "core/libdifr_core.a" << "difr::" << " (QString|QObject|QByteArray|qBadAlloc|qt_version_tag)";
    QTest::newRow("core without LibTorch") << "core/libdifr_core.a" << "difr::" << " (at|c10|torch)::";
    QTest::newRow("gpu without Qt") << "gpu/libdifr_gpu.a" << "difr::gpu::" << " (QString|QObject|QByteArray|qBadAlloc|qt_version_tag)";
    QTest::newRow("views without LibTorch") << "views/libdifr_views.a" << "difr::" << " (at|c10|torch)::";
    QTest::newRow("views without gpu") << "views/libdifr_views.a" << "difr::" << "difr::gpu::";
  }

  void archives() {
    QFETCH(QString, archive);
    QFETCH(QString, own);
    QFETCH(QString, forbidden);
    const auto symbols = QString::fromUtf8(output_of("nm", {"-C", kBuild + "/" + archive}));
    QVERIFY2(symbols.contains(own), qPrintable(archive + " was not read"));
    const auto match = QRegularExpression(forbidden).match(symbols);
    QVERIFY2(!match.hasMatch(), qPrintable(archive + ": " + match.captured()));
  }
};

QTEST_APPLESS_MAIN(TestLayers)
#include "test_layers.moc"
