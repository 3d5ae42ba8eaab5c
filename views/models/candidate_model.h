#pragma once
// The reference's candidates at one output position, best first.

#include "views/data/case_source.h"
#include "views/models/table_model.h"

namespace difr::views {

class CandidateModel final : public TableModel {
  Q_OBJECT
 public:
  enum Column { rank, token, token_id, logit, probability, mark, column_count };

  explicit CandidateModel(QObject* parent = nullptr);
  /// `position` out of range, or a request without evidence, empties the table.
  void set_position(std::shared_ptr<const RequestDetail> detail, int position);

 private:
  struct Line {
    int rank;
    TokenId id;
    float logit;
    double probability;
    bool claimed, reference;
  };
  [[nodiscard]] int rows() const override { return static_cast<int>(lines_.size()); }
  [[nodiscard]] QVariant cell(int row, int column, int role) const override;

  std::shared_ptr<const RequestDetail> detail_;
  std::vector<Line> lines_;
};

/// A token as shown to people: printable text with visible blanks, "#id" without a tokenizer.
[[nodiscard]] QString token_label(const TokenizerText* tokenizer, TokenId id);

}  // namespace difr::views
