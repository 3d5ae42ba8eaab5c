#pragma once
// What the pages ask to be computed from a case: seconds of work, in the background. app/workbench implements it with
// core jobs that read the case for themselves, tests with a script.

#include <QObject>
#include <memory>

#include "core/diagnosis/diagnose.h"
#include "core/verdict/calibration_study.h"
#include "core/verdict/decision_preview.h"
#include "views/data/case_source.h"

namespace difr::views {

/// Questions return at once with a token. The reply comes later, on the GUI thread; it never comes once the token is
/// cancelled, `context` is gone or another case is open. Questions are answered one after the other.
class AnalysisService : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  virtual quint64 diagnose(QObject* context, std::int64_t provider_id,
                           Reply<std::shared_ptr<const Diagnosis>> reply) = 0;
  /// The newest calibration, compared with a provider.
  virtual quint64 study_calibration(QObject* context, std::int64_t provider_id,
                                    Reply<std::shared_ptr<const CalibrationStudy>> reply) = 0;
  /// What other levels would decide; nothing is stored.
  virtual quint64 preview_decision(QObject* context, const DecisionOptions& options,
                                   Reply<std::shared_ptr<const DecisionPreview>> reply) = 0;
  /// Unknown and finished tokens are ignored.
  virtual void cancel(quint64 token) = 0;

 signals:
  void progressed(quint64 token, qint64 done, qint64 total);
};

}  // namespace difr::views
