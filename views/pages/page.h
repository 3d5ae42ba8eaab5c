#pragma once
// A page of the workbench and how the shell finds it. New pages join by adding a PageSpec to the registry.

#include <QKeySequence>
#include <QString>
#include <QWidget>
#include <functional>
#include <vector>

#include "views/data/analysis_service.h"
#include "views/data/case_source.h"
#include "views/data/job_service.h"
#include "views/data/navigation.h"

namespace difr::views {

/// What every page works with; all of it outlives the page.
struct PageContext {
  CaseSource* cases = nullptr;
  JobService* jobs = nullptr;
  AnalysisService* analyses = nullptr;
  Navigation* navigation = nullptr;
  std::function<void(const Problem&)> report;  ///< adds to the error list
  std::function<void()> recompute;             ///< opens the recompute panel
  std::function<void()> import;                ///< asks for logs
  std::function<void()> import_trusted;        ///< asks for logs to calibrate on
};

class Page : public QWidget {
  Q_OBJECT
 public:
  explicit Page(PageContext context, QWidget* parent) : QWidget(parent), context_(std::move(context)) {}

  /// The page is shown at `location` (its own page id), or again at another place of the same page.
  virtual void arrive(const Location& location) = 0;
  /// The case was opened, closed or changed: load again what is shown.
  virtual void refresh() = 0;
  /// Still computing what it will show.
  [[nodiscard]] virtual bool busy() const { return false; }

 protected:
  [[nodiscard]] const PageContext& context() const { return context_; }
  /// Reads the open case's overview and hands it to `take`; a failure goes to the error list.
  void read_overview(std::function<void(std::shared_ptr<const CaseOverview>)> take) {
    context_.cases->load_overview(
        this, [this, take = std::move(take)](tl::expected<std::shared_ptr<const CaseOverview>, Problem> reply) {
          if (!reply) return context_.report(reply.error());
          take(std::move(*reply));
        });
  }

 private:
  PageContext context_;
};

struct PageSpec {
  QString id;
  QString title;
  QString icon;
  QKeySequence shortcut;
  std::function<Page*(const PageContext&, QWidget* parent)> make;  ///< called at the first visit
};

using PageRegistry = std::vector<PageSpec>;

/// The pages that ship, in the order of the navigation list.
[[nodiscard]] PageRegistry standard_pages();

namespace page_id {
inline const QString welcome = QStringLiteral("welcome");
inline const QString overview = QStringLiteral("overview");
inline const QString requests = QStringLiteral("requests");
inline const QString request = QStringLiteral("request");
inline const QString diagnosis = QStringLiteral("diagnosis");
inline const QString calibration = QStringLiteral("calibration");
inline const QString decision = QStringLiteral("decision");
inline const QString samplers = QStringLiteral("samplers");
inline const QString jobs = QStringLiteral("jobs");
}  // namespace page_id

}  // namespace difr::views
