#include <QApplication>
#include <QCommandLineParser>
#include <QSettings>
#include <QTimer>

#include "app/workbench/analysis_runner.h"
#include "app/workbench/case_service.h"
#include "app/workbench/job_runner.h"
#include "app/workbench/screenshots.h"
#include "app/workbench/system_theme.h"
#include "core/util/version.h"
#include "views/shell/main_window.h"
#include "views/theme/icons.h"
#include "views/theme/palette.h"
#include "views/theme/style.h"

using namespace difr;

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  QApplication::setOrganizationName(QStringLiteral("difr"));
  QApplication::setApplicationName(QStringLiteral("difr-workbench"));
  QApplication::setApplicationDisplayName(QStringLiteral("DiFR Workbench"));
  QApplication::setApplicationVersion(QString::fromLatin1(version()));
  QApplication::setDesktopFileName(QStringLiteral("difr-workbench"));
  QApplication::setWindowIcon(views::app_icon());

  QCommandLineParser parser;
  parser.setApplicationDescription(QCoreApplication::translate(
      "main", "Find out whether an LLM provider ran what it declared.\nExample: difr-workbench case.difr"));
  parser.addHelpOption();
  parser.addVersionOption();
  const QCommandLineOption demo(QStringLiteral("demo"),
                                QCoreApplication::translate("main", "Open the bundled demo case."));
  const QCommandLineOption shots(QStringLiteral("screenshots"),
                                 QCoreApplication::translate("main", "Write a picture of every page to DIR and quit."),
                                 QStringLiteral("DIR"));
  const QCommandLineOption fresh(QStringLiteral("no-restore"),
                                 QCoreApplication::translate("main", "Do not reopen what was open last."));
  const QCommandLineOption settings_file(QStringLiteral("settings"),
                                         QCoreApplication::translate("main", "Keep settings in FILE."),
                                         QStringLiteral("FILE"));
  const QCommandLineOption model(
      QStringLiteral("model"),
      QCoreApplication::translate("main", "Recompute what the case then lacks with the reference in DIR (fp32)."),
      QStringLiteral("DIR"));
  parser.addOptions({demo, shots, fresh, settings_file, model});
  parser.addPositionalArgument(QStringLiteral("files"),
                               QCoreApplication::translate("main", "A case (*.difr), or logs to import."),
                               QStringLiteral("[case.difr | log...]"));
  parser.process(app);

  const workbench::SystemTheme system_theme;
  QApplication::setStyle(new views::HouseStyle);
  std::unique_ptr<QSettings> settings =
      parser.isSet(settings_file) ? std::make_unique<QSettings>(parser.value(settings_file), QSettings::IniFormat)
                                  : std::make_unique<QSettings>();
  auto choice = static_cast<views::ThemeChoice>(settings->value(QStringLiteral("theme"), 0).toInt());
  const auto apply_theme = [&] {
    const bool dark =
        choice == views::ThemeChoice::dark || (choice == views::ThemeChoice::system && system_theme.dark());
    QApplication::setPalette(views::house_palette(dark));
  };
  apply_theme();

  workbench::CaseService cases;
  workbench::JobRunner jobs(cases);
  workbench::AnalysisRunner analyses(cases);
  views::MainWindow window(cases, jobs, analyses, *settings, views::standard_pages());
  QObject::connect(&system_theme, &workbench::SystemTheme::changed, &window, apply_theme);
  QObject::connect(&window, &views::MainWindow::theme_chosen, &window, [&](views::ThemeChoice chosen) {
    choice = chosen;
    apply_theme();
  });
  if (parser.isSet(shots)) window.resize(1280, 820);
  window.show();

  const QStringList files = parser.positionalArguments();
  if (parser.isSet(model)) {
    // Queued: the logs named beside the case queue their imports when it opens, and come first.
    const QString dir = QDir(parser.value(model)).absolutePath();
    QObject::connect(
        &cases, &workbench::CaseService::opened, &jobs,
        [&jobs, dir] {
          jobs.recompute({dir, QStringLiteral("fp32"), {}});
        },
        static_cast<Qt::ConnectionType>(Qt::QueuedConnection | Qt::SingleShotConnection));
  }
  if (!files.isEmpty())
    window.open_paths(files);
  else if (parser.isSet(demo))
    jobs.open_demo();
  else if (!parser.isSet(fresh) && !parser.isSet(shots))
    window.restore_session();

  if (parser.isSet(shots)) {
    auto* camera = new workbench::Screenshots(
        window, cases, QDir(parser.value(shots)),
        [](bool dark) { QApplication::setPalette(views::house_palette(dark)); }, [] { QCoreApplication::exit(0); });
    if (files.isEmpty() && !parser.isSet(demo))
      QTimer::singleShot(0, camera, &workbench::Screenshots::start);
    else
      QObject::connect(&cases, &views::CaseSource::opened, camera, &workbench::Screenshots::start,
                       Qt::SingleShotConnection);
  }
  return QApplication::exec();
}
