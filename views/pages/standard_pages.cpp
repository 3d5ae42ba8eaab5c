#include <QCoreApplication>

#include "views/pages/calibration_page.h"
#include "views/pages/decision_page.h"
#include "views/pages/diagnosis_page.h"
#include "views/pages/jobs_page.h"
#include "views/pages/overview_page.h"
#include "views/pages/page.h"
#include "views/pages/request_page.h"
#include "views/pages/requests_page.h"
#include "views/pages/samplers_page.h"

namespace difr::views {
namespace {

template <class P>
PageSpec spec(const QString& id, const QString& title, const QString& icon_name, const QKeySequence& shortcut) {
  return {id, title, icon_name, shortcut,
          [](const PageContext& context, QWidget* parent) -> Page* { return new P(context, parent); }};
}

}  // namespace

PageRegistry standard_pages() {
  const auto tr = [](const char* text) { return QCoreApplication::translate("difr::views::pages", text); };
  return {
      spec<OverviewPage>(page_id::overview, tr("Overview"), QStringLiteral("overview"), Qt::CTRL | Qt::Key_1),
      spec<RequestsPage>(page_id::requests, tr("Requests"), QStringLiteral("requests"), Qt::CTRL | Qt::Key_2),
      spec<RequestPage>(page_id::request, tr("Request"), QStringLiteral("request"), Qt::CTRL | Qt::Key_3),
      spec<DiagnosisPage>(page_id::diagnosis, tr("Diagnosis"), QStringLiteral("diagnosis"), Qt::CTRL | Qt::Key_4),
      spec<CalibrationPage>(page_id::calibration, tr("Calibration"), QStringLiteral("calibration"),
                            Qt::CTRL | Qt::Key_5),
      spec<DecisionPage>(page_id::decision, tr("Decision"), QStringLiteral("decision"), Qt::CTRL | Qt::Key_6),
      spec<SamplersPage>(page_id::samplers, tr("Samplers"), QStringLiteral("samplers"), Qt::CTRL | Qt::Key_7),
      spec<JobsPage>(page_id::jobs, tr("Jobs"), QStringLiteral("jobs"), Qt::CTRL | Qt::Key_9),
  };
}

}  // namespace difr::views
