#pragma once
// One request: its text with margins as heat, the margin of each token, and what the reference thought there.

#include "views/pages/page.h"

class QCheckBox;
class QLabel;
class QStackedLayout;

namespace difr::views {

class CandidateModel;
struct HeatToken;
class HeatLegend;
class HeatText;
class MarginChart;

class RequestPage final : public Page {
  Q_OBJECT
 public:
  RequestPage(const PageContext& context, QWidget* parent);
  void arrive(const Location& location) override;
  void refresh() override;

 private:
  void load(std::int64_t request_id, int token);
  void show(std::shared_ptr<const RequestDetail> detail, int token);
  void show_tokens();
  void select(int position);
  /// The most telling token: the largest margin; 0 when nothing is scored.
  [[nodiscard]] int first_choice() const;

  std::shared_ptr<const RequestDetail> detail_;
  quint64 generation_ = 0;
  std::int64_t request_id_ = 0;
  int position_ = -1;
  int prompt_shown_ = 0;  ///< prompt tokens in front of the output in the text

  QLabel* title_;
  QLabel* facts_;
  QCheckBox* with_prompt_;
  HeatText* text_;
  HeatLegend* legend_;
  MarginChart* chart_;
  QLabel* token_facts_;
  CandidateModel* candidates_;
  QStackedLayout* stack_;
};

/// Tokens of a request ready to be drawn; prompt tokens first when `with_prompt`.
[[nodiscard]] std::vector<HeatToken> heat_tokens(const RequestDetail& detail, bool with_prompt);

}  // namespace difr::views
