#pragma once
// What the pages ask of a case. Views do no I/O: app/workbench implements this over CaseFile in reader threads (one
// read-only CaseFile per thread), tests over memory.

#include <QDateTime>
#include <QObject>
#include <QString>
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tl/expected.hpp>
#include <vector>

#include "core/casefile/case_file.h"
#include "core/util/tokenizer_text.h"
#include "core/verdict/decide.h"

namespace difr::views {

/// One line of the error list: what happened where, and what to do about it.
struct Problem {
  enum class Severity : std::uint8_t { note, warning, error };
  Severity severity = Severity::error;
  QString where;
  QString message;
  QString remedy;
  QDateTime at = QDateTime::currentDateTime();
};

/// Request scores of one provider, in the unit of its decision's statistic.
struct ProviderScores {
  std::int64_t provider_id = 0;
  std::vector<double> scores;
};

/// Everything the Overview shows, read in one go.
struct CaseOverview {
  std::vector<ProviderRow> providers;
  std::vector<ProviderDecision> decisions;
  std::vector<ProviderScores> scores;                         ///< of decided providers
  std::map<std::string, std::vector<double>> trusted_scores;  ///< the calibration's request scores, per statistic
  std::vector<SourceRow> sources;
  std::vector<SourceIssue> issues;
  std::optional<RunRow> run;
  QString calibration_name;  ///< empty: none yet
  std::size_t calibration_requests = 0;
  std::size_t calibration_tokens = 0;
  double clip = 0;
  double noise_sigma = 0;
  DecisionOptions decision_options;  ///< under which the stored decisions were made
  std::vector<Finding> findings;

  /// Null: not decided.
  [[nodiscard]] const ProviderDecision* decision_of(std::int64_t provider_id) const {
    const auto found = std::ranges::find(decisions, provider_id, &ProviderDecision::provider_id);
    return found == decisions.end() ? nullptr : &*found;
  }
};

/// One request with all that is known of it. `evidence` and `scores` are absent before a recomputation.
struct RequestDetail {
  Claim claim;
  QString provider;
  std::optional<Evidence> evidence;
  std::optional<TokenScores> scores;
  std::optional<RequestDecision> decision;
  double clip = 0;                                 ///< 0: no calibration yet
  std::shared_ptr<const TokenizerText> tokenizer;  ///< null: ids are shown as "#id"
};

template <class T>
using Reply = std::function<void(tl::expected<T, Problem>)>;

/// All calls return at once; replies come later, on the GUI thread, and never after `context` is gone.
class CaseSource : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  [[nodiscard]] virtual bool is_open() const = 0;
  [[nodiscard]] virtual QString path() const = 0;
  /// Opens or (when `create`) makes a case; `opened` or `problem` follows.
  virtual void open(const QString& path, bool create) = 0;
  virtual void close() = 0;
  /// Reads again, e.g. after another process has written; `changed` follows.
  virtual void reload() = 0;

  virtual void load_overview(QObject* context, Reply<std::shared_ptr<const CaseOverview>> reply) = 0;
  virtual void load_page(QObject* context, const RequestQuery& query, Reply<std::vector<RequestSummary>> reply) = 0;
  virtual void count(QObject* context, const RequestQuery& query, Reply<std::int64_t> reply) = 0;
  virtual void load_request(QObject* context, std::int64_t request_id,
                            Reply<std::shared_ptr<const RequestDetail>> reply) = 0;
  /// Stores a note, tag or sign-off with a row of the audit trail; replies with its id, and `changed` follows.
  virtual void add_finding(QObject* context, const Finding& finding, Reply<std::int64_t> reply) = 0;
  /// Takes a finding back; the trail keeps that it was there.
  virtual void remove_finding(QObject* context, std::int64_t finding_id, Reply<bool> reply) = 0;

 signals:
  void opened();
  void closed();
  void changed();  ///< the case holds something new: reload what is shown
  void problem(const difr::views::Problem& problem);
};

}  // namespace difr::views
