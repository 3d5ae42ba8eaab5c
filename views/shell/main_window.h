#pragma once
// The workbench window: navigation, pages, error list, commands, session. Knows the case only through its interfaces.

#include <QMainWindow>
#include <map>

#include "views/pages/page.h"

class QActionGroup;
class QDockWidget;
class QLabel;
class QListWidget;
class QProgressBar;
class QSettings;
class QStackedWidget;
class QToolButton;

namespace difr::views {

class CommandPalette;
class ProblemModel;
class WelcomePage;

enum class ThemeChoice : std::uint8_t { system, light, dark };

class MainWindow final : public QMainWindow {
  Q_OBJECT
 public:
  /// All arguments outlive the window. `settings` remembers layout, recent cases and the last place.
  MainWindow(CaseSource& cases, JobService& jobs, AnalysisService& analyses, QSettings& settings,
             const PageRegistry& pages, QWidget* parent = nullptr);
  ~MainWindow() override;

  /// A case opens; anything else is imported into the current case, as calibration when asked.
  void open_paths(const QStringList& paths);
  /// Opens what was open when the window last closed; false when nothing was.
  bool restore_session();
  [[nodiscard]] Navigation& navigation() { return navigation_; }
  [[nodiscard]] ProblemModel& problems() { return *problems_; }
  [[nodiscard]] const PageRegistry& pages() const { return pages_; }
  [[nodiscard]] Page* page(const QString& id);
  void report(const Problem& problem);

 signals:
  void theme_chosen(difr::views::ThemeChoice choice);

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void make_actions();
  void make_docks();
  void make_status();
  QAction* add_command(const QString& title, const QString& icon_name, const QKeySequence& keys,
                       std::function<void()> run);
  void show_location(const Location& location);
  void case_opened();
  void case_closed();
  void case_changed();
  void choose_case(bool create);
  void choose_logs(ProviderRole role);
  void choose_recompute();
  void remember_recent(const QString& path);
  void show_recent();
  void show_jobs();
  void show_palette();
  void show_shortcuts();
  void show_about();
  void reset_layout();
  [[nodiscard]] PageContext page_context();

  CaseSource& cases_;
  JobService& jobs_;
  AnalysisService& analyses_;
  QSettings& settings_;
  const PageRegistry pages_;
  Navigation navigation_;
  ProblemModel* problems_;
  std::map<QString, Page*> made_;
  std::map<QString, QAction*> page_actions_;
  std::vector<QAction*> commands_;
  Location restore_to_;
  QStringList pending_logs_;
  QByteArray first_layout_;

  QStackedWidget* stack_;
  WelcomePage* welcome_;
  CommandPalette* palette_;
  QDockWidget* navigation_dock_ = nullptr;
  QDockWidget* problem_dock_ = nullptr;
  QListWidget* page_list_ = nullptr;
  QMenu* recent_menu_ = nullptr;
  QAction* back_ = nullptr;
  QAction* forward_ = nullptr;
  std::vector<QAction*> case_actions_;  ///< need an open case
  QLabel* case_label_ = nullptr;
  QLabel* job_label_ = nullptr;
  QProgressBar* job_bar_ = nullptr;
  QToolButton* problem_button_ = nullptr;
};

}  // namespace difr::views
