#include "views/shell/main_window.h"

#include <QAction>
#include <QCloseEvent>
#include <QFileInfo>
#include <QLabel>
#include <QListWidget>
#include <QMimeData>
#include <QSettings>
#include <QStackedWidget>
#include <algorithm>

#include "views/models/problem_model.h"
#include "views/pages/welcome_page.h"
#include "views/shell/command_palette.h"
#include "views/theme/icons.h"

namespace difr::views {
namespace {
constexpr int layout_version = 1;
constexpr qsizetype recent_limit = 10;
}  // namespace

MainWindow::MainWindow(CaseSource& cases, JobService& jobs, AnalysisService& analyses, QSettings& settings,
                       const PageRegistry& pages, QWidget* parent)
    : QMainWindow(parent),
      cases_(cases),
      jobs_(jobs),
      analyses_(analyses),
      settings_(settings),
      pages_(pages),
      problems_(new ProblemModel(this)) {
  setObjectName(QStringLiteral("workbench"));
  setWindowTitle(tr("DiFR Workbench"));
  setWindowIcon(app_icon());
  setAcceptDrops(true);
  setDockOptions(AnimatedDocks | AllowTabbedDocks | AllowNestedDocks);
  resize(1280, 820);

  stack_ = new QStackedWidget(this);
  setCentralWidget(stack_);
  welcome_ = new WelcomePage(page_context(), stack_);
  stack_->addWidget(welcome_);
  palette_ = new CommandPalette(this);
  connect(welcome_, &WelcomePage::open_wanted, this, [this] { choose_case(false); });
  connect(welcome_, &WelcomePage::new_wanted, this, [this] { choose_case(true); });
  connect(welcome_, &WelcomePage::recent_wanted, this, [this](const QString& path) { cases_.open(path, false); });

  make_docks();
  make_actions();
  make_status();
  first_layout_ = saveState(layout_version);

  connect(&navigation_, &Navigation::moved, this, &MainWindow::show_location);
  connect(&navigation_, &Navigation::availability_changed, this, [this] {
    back_->setEnabled(navigation_.can_go_back());
    forward_->setEnabled(navigation_.can_go_forward());
  });
  connect(&cases_, &CaseSource::opened, this, &MainWindow::case_opened);
  connect(&cases_, &CaseSource::closed, this, &MainWindow::case_closed);
  connect(&cases_, &CaseSource::changed, this, &MainWindow::case_changed);
  connect(&cases_, &CaseSource::problem, this, [this](const Problem& problem) {
    pending_logs_.clear();
    restore_to_ = {};
    report(problem);
  });
  connect(&jobs_, &JobService::problem, this, &MainWindow::report);
  connect(&jobs_, &JobService::changed, this, &MainWindow::show_jobs);
  connect(&jobs_, &JobService::updated, this, &MainWindow::show_jobs);

  restoreGeometry(settings_.value(QStringLiteral("window/geometry")).toByteArray());
  restoreState(settings_.value(QStringLiteral("window/state")).toByteArray(), layout_version);
  show_recent();
  if (cases_.is_open())
    case_opened();
  else
    case_closed();
}

MainWindow::~MainWindow() = default;

PageContext MainWindow::page_context() {
  return {&cases_,
          &jobs_,
          &analyses_,
          &navigation_,
          [this](const Problem& problem) { report(problem); },
          [this] { choose_recompute(); },
          [this] { choose_logs(ProviderRole::subject); },
          [this] { choose_logs(ProviderRole::calibration); }};
}

Page* MainWindow::page(const QString& id) {
  if (id == page_id::welcome) return welcome_;
  if (const auto found = made_.find(id); found != made_.end()) return found->second;
  const auto spec = std::ranges::find(pages_, id, &PageSpec::id);
  if (spec == pages_.end()) return nullptr;
  Page* made = spec->make(page_context(), stack_);
  made->setAccessibleName(spec->title);
  stack_->addWidget(made);
  made_.emplace(id, made);
  return made;
}

void MainWindow::show_location(const Location& location) {
  Page* target = page(location.page);
  if (!target) return;
  stack_->setCurrentWidget(target);
  for (int row = 0; row < page_list_->count(); ++row)
    if (page_list_->item(row)->data(Qt::UserRole).toString() == location.page) page_list_->setCurrentRow(row);
  if (location.page == page_id::welcome) page_list_->setCurrentRow(-1);
  target->arrive(location);
}

void MainWindow::case_opened() {
  const QString path = cases_.path();
  remember_recent(path);
  setWindowTitle(tr("%1 — DiFR Workbench").arg(QFileInfo(path).completeBaseName()));
  case_label_->setText(QFileInfo(path).fileName());
  case_label_->setToolTip(path);
  for (QAction* action : case_actions_) action->setEnabled(true);
  page_list_->setEnabled(true);
  for (const auto& [id, made] : made_) made->refresh();
  const bool known = std::ranges::any_of(pages_, [&](const PageSpec& spec) { return spec.id == restore_to_.page; });
  navigation_.reset(known ? restore_to_ : Location{page_id::overview});
  restore_to_ = {};
  if (!pending_logs_.isEmpty()) jobs_.import_logs(std::exchange(pending_logs_, {}), ProviderRole::subject);
}

void MainWindow::case_closed() {
  setWindowTitle(tr("DiFR Workbench"));
  case_label_->setText(tr("No case open"));
  case_label_->setToolTip({});
  for (QAction* action : case_actions_) action->setEnabled(false);
  for (const auto& [id, made] : made_) made->refresh();
  navigation_.reset({page_id::welcome});
}

void MainWindow::case_changed() {
  for (const auto& [id, made] : made_) made->refresh();
}

void MainWindow::report(const Problem& problem) {
  problems_->add(problem);
}

void MainWindow::open_paths(const QStringList& paths) {
  QStringList logs;
  QString case_path;
  for (const QString& path : paths) {
    if (path.endsWith(QLatin1String(".difr"), Qt::CaseInsensitive))
      case_path = path;
    else
      logs << path;
  }
  if (case_path.isEmpty()) {
    if (!logs.isEmpty()) jobs_.import_logs(logs, ProviderRole::subject);
    return;
  }
  pending_logs_ = logs;  // they belong into that case, so they wait until it is open
  cases_.open(case_path, false);
}

void MainWindow::remember_recent(const QString& path) {
  QStringList recent = settings_.value(QStringLiteral("recent")).toStringList();
  recent.removeAll(path);
  recent.prepend(path);
  if (recent.size() > recent_limit) recent.resize(recent_limit);
  settings_.setValue(QStringLiteral("recent"), recent);
  show_recent();
}

bool MainWindow::restore_session() {
  const QString path = settings_.value(QStringLiteral("session/case")).toString();
  if (path.isEmpty()) return false;
  restore_to_.page = settings_.value(QStringLiteral("session/page")).toString();
  restore_to_.provider_id = settings_.value(QStringLiteral("session/provider")).toLongLong();
  restore_to_.request_id = settings_.value(QStringLiteral("session/request")).toLongLong();
  restore_to_.token = settings_.value(QStringLiteral("session/token"), -1).toInt();
  cases_.open(path, false);
  return true;
}

void MainWindow::closeEvent(QCloseEvent* event) {
  settings_.setValue(QStringLiteral("window/geometry"), saveGeometry());
  settings_.setValue(QStringLiteral("window/state"), saveState(layout_version));
  settings_.setValue(QStringLiteral("session/case"), cases_.is_open() ? cases_.path() : QString());
  const Location& at = navigation_.current();
  settings_.setValue(QStringLiteral("session/page"), at.page);
  settings_.setValue(QStringLiteral("session/provider"), static_cast<qlonglong>(at.provider_id));
  settings_.setValue(QStringLiteral("session/request"), static_cast<qlonglong>(at.request_id));
  settings_.setValue(QStringLiteral("session/token"), at.token);
  event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls())
    if (url.isLocalFile()) paths << url.toLocalFile();
  if (paths.isEmpty()) return;
  event->acceptProposedAction();
  open_paths(paths);
}

void MainWindow::reset_layout() {
  restoreState(first_layout_, layout_version);
}

}  // namespace difr::views
