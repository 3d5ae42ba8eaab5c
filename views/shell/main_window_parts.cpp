// The furniture of the window: docks, menus, tool bar, status bar, and the small dialogs behind commands.

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QGridLayout>
#include <QLabel>
#include <QListWidget>
#include <QMenuBar>
#include <QMessageBox>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QStatusBar>
#include <QToolBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "core/util/version.h"
#include "views/models/format.h"
#include "views/models/problem_model.h"
#include "views/pages/welcome_page.h"
#include "views/shell/command_palette.h"
#include "views/shell/main_window.h"
#include "views/shell/recompute_dialog.h"
#include "views/theme/icons.h"
#include "views/widgets/empty_state.h"
#include "views/widgets/table_view.h"

namespace difr::views {

QAction* MainWindow::add_command(const QString& title, const QString& icon_name, const QKeySequence& keys,
                                 std::function<void()> run) {
  auto* action = new QAction(icon_name.isEmpty() ? QIcon() : icon(icon_name), title, this);
  action->setShortcut(keys);
  QString plain = action->text();
  plain.remove(QLatin1Char('&'));
  action->setToolTip(keys.isEmpty() ? plain : tr("%1 (%2)").arg(plain, keys.toString(QKeySequence::NativeText)));
  connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
  addAction(action);
  commands_.push_back(action);
  return action;
}

void MainWindow::make_docks() {
  navigation_dock_ = new QDockWidget(tr("Navigation"), this);
  navigation_dock_->setObjectName(QStringLiteral("navigation"));
  page_list_ = new QListWidget;
  page_list_->setFrameShape(QFrame::NoFrame);
  page_list_->setIconSize({20, 20});
  page_list_->setSpacing(1);
  page_list_->setAccessibleName(tr("Pages"));
  page_list_->setMinimumWidth(fontMetrics().averageCharWidth() * 18);
  page_list_->setSizeAdjustPolicy(QAbstractScrollArea::AdjustToContents);
  page_list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  page_list_->viewport()->setAutoFillBackground(false);
  for (const PageSpec& spec : pages_) {
    auto* item = new QListWidgetItem(icon(spec.icon), spec.title, page_list_);
    item->setData(Qt::UserRole, spec.id);
    item->setSizeHint({0, fontMetrics().height() + 18});
    item->setToolTip(tr("%1 (%2)").arg(spec.title, spec.shortcut.toString(QKeySequence::NativeText)));
  }
  connect(page_list_, &QListWidget::itemClicked, this,
          [this](QListWidgetItem* item) { page_actions_[item->data(Qt::UserRole).toString()]->trigger(); });
  connect(page_list_, &QListWidget::itemActivated, this,
          [this](QListWidgetItem* item) { page_actions_[item->data(Qt::UserRole).toString()]->trigger(); });
  navigation_dock_->setWidget(page_list_);
  addDockWidget(Qt::LeftDockWidgetArea, navigation_dock_);
  resizeDocks({navigation_dock_}, {170}, Qt::Horizontal);

  problem_dock_ = new QDockWidget(tr("Problems"), this);
  problem_dock_->setObjectName(QStringLiteral("problems"));
  auto* table = new TableView;
  table->set_up(problems_, tr("Problems"));
  table->set_widths({60, 34, 50, 8});
  table->setMinimumHeight(110);
  auto* clear = new QAction(tr("Clear the list"), table);
  connect(clear, &QAction::triggered, problems_, &ProblemModel::clear);
  table->addAction(clear);
  problem_dock_->setWidget(table);
  addDockWidget(Qt::BottomDockWidgetArea, problem_dock_);
  resizeDocks({problem_dock_}, {150}, Qt::Vertical);
  problem_dock_->hide();
}

void MainWindow::make_actions() {
  setContextMenuPolicy(Qt::NoContextMenu);
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(
      add_command(tr("&New case…"), QStringLiteral("new"), QKeySequence::New, [this] { choose_case(true); }));
  QAction* open =
      add_command(tr("&Open case…"), QStringLiteral("open"), QKeySequence::Open, [this] { choose_case(false); });
  file->addAction(open);
  file->addAction(add_command(tr("Open the &demo case"), QStringLiteral("demo"), {}, [this] { jobs_.open_demo(); }));
  recent_menu_ = file->addMenu(tr("&Recent cases"));
  QAction* close_case = add_command(tr("&Close case"), {}, QKeySequence::Close, [this] { cases_.close(); });
  file->addAction(close_case);
  file->addSeparator();
  QAction* import_action = add_command(tr("&Import logs…"), QStringLiteral("import"), Qt::CTRL | Qt::Key_I,
                                       [this] { choose_logs(ProviderRole::subject); });
  file->addAction(import_action);
  file->addAction(add_command(tr("Import &trusted logs as calibration…"), {}, Qt::CTRL | Qt::SHIFT | Qt::Key_I,
                              [this] { choose_logs(ProviderRole::calibration); }));
  QAction* recompute =
      add_command(tr("&Recompute…"), QStringLiteral("recompute"), Qt::CTRL | Qt::Key_R, [this] { choose_recompute(); });
  file->addAction(recompute);
  file->addSeparator();
  file->addAction(add_command(tr("&Quit"), {}, QKeySequence::Quit, [this] { close(); }));
  case_actions_ = {close_case, recompute};

  QMenu* go = menuBar()->addMenu(tr("&Go"));
  back_ = add_command(tr("&Back"), QStringLiteral("back"), QKeySequence::Back, [this] { navigation_.back(); });
  forward_ =
      add_command(tr("&Forward"), QStringLiteral("forward"), QKeySequence::Forward, [this] { navigation_.forward(); });
  back_->setEnabled(false);
  forward_->setEnabled(false);
  go->addAction(back_);
  go->addAction(forward_);
  go->addSeparator();
  for (const PageSpec& spec : pages_) {
    QAction* action = add_command(spec.title, spec.icon, spec.shortcut, [this, id = spec.id] {
      Location to{id};
      const Location& now = navigation_.current();
      // The page list keeps the thread: from a request back to its provider's requests, and so on.
      if (id != page_id::overview && id != page_id::jobs && id != page_id::samplers) to.provider_id = now.provider_id;
      if (id == page_id::request) to.request_id = now.request_id;
      navigation_.go(to);
    });
    page_actions_[spec.id] = action;
    if (spec.id != page_id::jobs && spec.id != page_id::samplers) case_actions_.push_back(action);
    go->addAction(action);
  }

  QMenu* view = menuBar()->addMenu(tr("&View"));
  QAction* reload = add_command(tr("Re&load"), {}, QKeySequence::Refresh, [this] { cases_.reload(); });
  view->addAction(reload);
  case_actions_.push_back(reload);
  QAction* palette_action =
      add_command(tr("&Command palette"), QStringLiteral("search"), Qt::CTRL | Qt::Key_K, [this] { show_palette(); });
  view->addAction(palette_action);
  view->addSeparator();
  for (QDockWidget* dock : {navigation_dock_, problem_dock_}) {
    QAction* toggle = dock->toggleViewAction();
    toggle->setShortcut(dock == problem_dock_ ? QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_M)
                                              : QKeySequence(Qt::CTRL | Qt::Key_B));
    view->addAction(toggle);
    addAction(toggle);
    commands_.push_back(toggle);
  }
  QMenu* theme = view->addMenu(tr("&Theme"));
  auto* group = new QActionGroup(this);
  const int chosen = settings_.value(QStringLiteral("theme"), 0).toInt();
  for (const auto& [choice, title] : {std::pair{ThemeChoice::system, tr("As the &system")},
                                      {ThemeChoice::light, tr("&Light")},
                                      {ThemeChoice::dark, tr("&Dark")}}) {
    QAction* action = theme->addAction(title);
    action->setCheckable(true);
    action->setChecked(static_cast<int>(choice) == chosen);
    group->addAction(action);
    connect(action, &QAction::triggered, this, [this, choice = choice] {
      settings_.setValue(QStringLiteral("theme"), static_cast<int>(choice));
      emit theme_chosen(choice);
    });
  }
  view->addSeparator();
  view->addAction(add_command(tr("&Reset layout"), {}, {}, [this] { reset_layout(); }));

  QMenu* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(add_command(tr("&Keyboard shortcuts"), QStringLiteral("keyboard"), QKeySequence(Qt::Key_F1),
                              [this] { show_shortcuts(); }));
  help->addAction(add_command(tr("&About"), QStringLiteral("note"), {}, [this] { show_about(); }));

  QToolBar* bar = addToolBar(tr("Tools"));
  bar->setObjectName(QStringLiteral("tools"));
  bar->setIconSize({20, 20});
  bar->addAction(back_);
  bar->addAction(forward_);
  bar->addSeparator();
  for (QAction* action : {open, import_action, recompute}) {
    bar->addAction(action);
    static_cast<QToolButton*>(bar->widgetForAction(action))->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  }
  auto* space = new QWidget;
  space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  bar->addWidget(space);
  bar->addAction(palette_action);
}

void MainWindow::make_status() {
  case_label_ = new QLabel;
  case_label_->setContentsMargins(8, 2, 8, 4);
  statusBar()->addWidget(case_label_, 1);
  job_label_ = new QLabel;
  job_bar_ = new QProgressBar;
  job_bar_->setMaximumWidth(160);
  job_bar_->setMaximumHeight(fontMetrics().height());
  job_bar_->setTextVisible(false);
  job_bar_->setAccessibleName(tr("Progress of the running job"));
  statusBar()->addPermanentWidget(job_label_);
  statusBar()->addPermanentWidget(job_bar_);
  problem_button_ = new QToolButton;
  problem_button_->setAutoRaise(true);
  problem_button_->setIcon(icon(QStringLiteral("problems")));
  problem_button_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  connect(problem_button_, &QToolButton::clicked, this,
          [this] { problem_dock_->setVisible(!problem_dock_->isVisible()); });
  statusBar()->addPermanentWidget(problem_button_);
  const auto count = [this] {
    const int n = problems_->rowCount();
    problem_button_->setText(n == 1 ? tr("1 problem") : tr("%1 problems").arg(n));
    problem_button_->setVisible(n > 0);
    // Only errors open the list by themselves; a note must not take space from the work.
    if (problems_->errors() > 0 && n > 0 && problems_->index(0, 0).isValid()) problem_dock_->show();
  };
  connect(problems_, &ProblemModel::count_changed, this, count);
  count();
  show_jobs();
}

void MainWindow::show_jobs() {
  if (!job_label_) return;
  const std::vector<JobInfo> all = jobs_.jobs();
  const auto running = std::ranges::find_if(all, &JobInfo::active);
  const bool any = running != all.end();
  job_label_->setVisible(any);
  job_bar_->setVisible(any);
  if (!any) return;
  if (!cases_.is_open() && navigation_.current().page == page_id::welcome) navigation_.go({page_id::jobs});
  const bool known = running->total > 0;
  job_bar_->setRange(0, known ? 1000 : 0);
  if (known)
    job_bar_->setValue(
        static_cast<int>(1000.0 * static_cast<double>(running->done) / static_cast<double>(running->total)));
  const QString eta = running->eta_s > 0 ? tr("%1 left").arg(format_duration(running->eta_s)) : QString();
  job_label_->setText(eta.isEmpty() ? running->title : QStringLiteral("%1  ·  %2").arg(running->title, eta));
}

void MainWindow::choose_case(bool create) {
  auto* dialog = new QFileDialog(this, create ? tr("New case") : tr("Open case"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setNameFilter(tr("Case files (*.difr)"));
  dialog->setDefaultSuffix(QStringLiteral("difr"));
  dialog->setAcceptMode(create ? QFileDialog::AcceptSave : QFileDialog::AcceptOpen);
  dialog->setFileMode(create ? QFileDialog::AnyFile : QFileDialog::ExistingFile);
  connect(dialog, &QFileDialog::fileSelected, this, [this, create](const QString& path) { cases_.open(path, create); });
  dialog->open();
}

void MainWindow::choose_logs(ProviderRole role) {
  auto* dialog = new QFileDialog(
      this, role == ProviderRole::calibration ? tr("Import trusted logs as calibration") : tr("Import provider logs"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setNameFilters({tr("Logs (*.json *.jsonl *.gz *.zst)"), tr("All files (*)")});
  dialog->setFileMode(QFileDialog::ExistingFiles);
  connect(dialog, &QFileDialog::filesSelected, this,
          [this, role](const QStringList& paths) { jobs_.import_logs(paths, role); });
  dialog->open();
}

void MainWindow::choose_recompute() {
  if (!cases_.is_open())
    return report({Problem::Severity::note, tr("Recompute"), tr("No case is open."),
                   tr("Open a case or drop logs onto the window first.")});
  auto* dialog = new RecomputeDialog(&cases_, jobs_.suggested_model_dir(), this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QDialog::accepted, this, [this, dialog] {
    jobs_.recompute(dialog->request());
    navigation_.go({page_id::jobs});
  });
  dialog->open();
}

void MainWindow::show_recent() {
  const QStringList recent = settings_.value(QStringLiteral("recent")).toStringList();
  welcome_->set_recent(recent);
  recent_menu_->clear();
  recent_menu_->setEnabled(!recent.isEmpty());
  for (const QString& path : recent)
    recent_menu_->addAction(QFileInfo(path).fileName(), this, [this, path] { cases_.open(path, false); })
        ->setToolTip(path);
}

void MainWindow::show_palette() {
  std::vector<Command> commands;
  for (QAction* action : commands_) {
    if (!action->isEnabled()) continue;
    QString title = action->text();
    commands.push_back({title.remove(QLatin1Char('&')), action->shortcut().toString(QKeySequence::NativeText),
                        action->icon(), [action] { action->trigger(); }});
  }
  for (const QString& path : settings_.value(QStringLiteral("recent")).toStringList())
    commands.push_back({tr("Open %1").arg(QFileInfo(path).completeBaseName()), QFileInfo(path).path(),
                        icon(QStringLiteral("open")), [this, path] { cases_.open(path, false); }});
  if (!cases_.is_open()) return palette_->open(std::move(commands));
  cases_.load_overview(
      this, [this, commands](tl::expected<std::shared_ptr<const CaseOverview>, Problem> reply) mutable {
        const auto place = [&](const QString& title, const QString& page, std::int64_t id) {
          commands.push_back({title, {}, icon(page), [this, page, id] { navigation_.go({page, id}); }});
        };
        if (reply)
          for (const ProviderRow& provider : (*reply)->providers) {
            const QString name = QString::fromStdString(provider.config.name);
            place(tr("Requests of %1").arg(name), page_id::requests, provider.id);
            place(tr("Diagnosis of %1").arg(name), page_id::diagnosis, provider.id);
            place(tr("Calibration against %1").arg(name), page_id::calibration, provider.id);
            place(tr("Decision on %1").arg(name), page_id::decision, provider.id);
          }
        palette_->open(std::move(commands));
      });
}

void MainWindow::show_shortcuts() {
  auto* sheet = new QDialog(this);
  sheet->setAttribute(Qt::WA_DeleteOnClose);
  sheet->setWindowTitle(tr("Keyboard shortcuts"));
  auto* column = new QVBoxLayout(sheet);
  column->setContentsMargins(24, 20, 24, 16);
  column->setSpacing(12);
  auto* grid = new QGridLayout;
  grid->setHorizontalSpacing(28);
  grid->setVerticalSpacing(7);
  int line = 0;
  const auto add = [&](const QString& keys, const QString& what) {
    auto* left = make_label(keys, TextStyle::body);
    set_muted(left);
    grid->addWidget(left, line, 0, Qt::AlignRight);
    grid->addWidget(make_label(what, TextStyle::body), line++, 1);
  };
  for (const QAction* action : commands_) {
    if (action->shortcut().isEmpty()) continue;
    QString title = action->text();
    add(action->shortcut().toString(QKeySequence::NativeText), title.remove(QLatin1Char('&')));
  }
  add(QKeySequence(QKeySequence::Copy).toString(QKeySequence::NativeText), tr("Copy table rows with headers"));
  add(tr("Enter"), tr("Open the chosen row"));
  add(tr("Arrows, Home, End"), tr("Move from token to token in text and chart"));
  add(QKeySequence(Qt::CTRL | Qt::Key_Period).toString(QKeySequence::NativeText),
      tr("Cancel the chosen job or the running analysis"));
  column->addLayout(grid);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  connect(buttons, &QDialogButtonBox::rejected, sheet, &QDialog::reject);
  column->addWidget(buttons);
  sheet->open();
}

void MainWindow::show_about() {
  auto* box = new QMessageBox(this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setWindowTitle(tr("About DiFR Workbench"));
  box->setIconPixmap(app_icon().pixmap(QSize(64, 64), devicePixelRatioF()));
  box->setText(tr("<b>DiFR Workbench %1</b>").arg(QString::fromLatin1(version())));
  box->setInformativeText(
      tr("Audits whether an LLM provider ran the model, the weights and the sampling that it declared. A mismatch is a "
         "fact; its cause is not established by it."));
  box->open();
}

}  // namespace difr::views
