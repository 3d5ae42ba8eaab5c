#pragma once
// A page about one provider whose content is computed: choosing the provider, waiting, stopping, and the states without
// content are here; a page says what it asks for and how it shows the answer.

#include "views/pages/page.h"

class QComboBox;
class QStackedLayout;

namespace difr::views {

class EmptyState;
class WorkState;

class AnalysisPage : public Page {
  Q_OBJECT
 public:
  void arrive(const Location& location) override;
  void refresh() override;
  [[nodiscard]] bool busy() const override { return token_ != 0; }

 protected:
  struct Texts {
    QString page;  ///< page_id of the page
    QString title;
    QString icon;
    QString unit;   ///< of the progress
    QString again;  ///< on the button after a stop
  };
  struct Missing {
    QString title, explanation;
  };

  AnalysisPage(const PageContext& context, const Texts& texts, QWidget* parent);
  /// Last thing a page's constructor does.
  void set_content(QWidget* content, QWidget* first_focus);

  /// What the analysis lacks in this case, if anything.
  [[nodiscard]] virtual std::optional<Missing> missing(const CaseOverview& overview) const = 0;
  /// What an answer rests on has not changed from one reading of the case to the next.
  [[nodiscard]] virtual bool same_basis(const CaseOverview& before, const CaseOverview& now) const = 0;
  /// Shows what was computed before for the provider; false when nothing was.
  [[nodiscard]] virtual bool show_known(std::int64_t provider_id) = 0;
  /// Asks and returns the token; the reply ends in answered() or failed().
  [[nodiscard]] virtual quint64 ask(std::int64_t provider_id) = 0;
  [[nodiscard]] virtual Missing work_text(const QString& provider) const = 0;
  /// Drops all that was computed.
  virtual void forget() = 0;

  void answered(std::int64_t provider_id);
  void failed(const Problem& problem);
  /// Shows why there is nothing to show although the answer came.
  void show_missing(const Missing& missing);
  [[nodiscard]] const std::shared_ptr<const CaseOverview>& overview() const { return overview_; }
  [[nodiscard]] std::int64_t provider_id() const { return provider_id_; }

 private:
  enum class State { blank, missing, working, stopped, shown };
  void take_overview(std::shared_ptr<const CaseOverview> overview);
  void choose(std::int64_t provider_id);
  void begin();
  void stop();
  void set_state(State state);

  const Texts texts_;
  std::shared_ptr<const CaseOverview> overview_;
  std::int64_t provider_id_ = 0;
  quint64 token_ = 0;  ///< of the analysis under way; 0: none
  QWidget* first_focus_ = nullptr;
  QComboBox* provider_;
  WorkState* work_;
  EmptyState* missing_;
  EmptyState* stopped_;
  QStackedLayout* stack_;
};

}  // namespace difr::views
