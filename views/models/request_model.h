#pragma once
// The Requests table: keyset pages fetched in the background, a bounded cache of rows, anchors to refetch evicted
// pages.

#include <list>
#include <optional>

#include "views/data/case_source.h"
#include "views/models/table_model.h"

namespace difr::views {

class RequestModel final : public TableModel {
  Q_OBJECT
 public:
  enum Column {
    flag,
    provider,
    external_id,
    output_tokens,
    exact_match,
    mean_margin,
    max_margin,
    cross_entropy,
    p_value,
    q_value,
    seed,
    column_count
  };

  explicit RequestModel(QObject* parent = nullptr, int page_size = 200, int cached_pages = 64);

  /// Null detaches; replies still under way are then dropped.
  void set_source(CaseSource* source);
  void set_query(const RequestQuery& query);
  [[nodiscard]] const RequestQuery& query() const { return query_; }
  void reload() { set_query(query_); }

  bool canFetchMore(const QModelIndex& parent) const override;
  void fetchMore(const QModelIndex& parent) override;
  /// Header clicks; columns the case cannot sort by are ignored.
  void sort(int column, Qt::SortOrder order) override;

  /// Exact number of rows of the query, once the case has counted.
  [[nodiscard]] std::optional<std::int64_t> total() const { return total_; }
  [[nodiscard]] bool loading() const { return in_flight_; }
  /// Null while the row's page is on its way.
  [[nodiscard]] const RequestSummary* at(int row) const;
  /// -1 when no cached row has that id.
  [[nodiscard]] int row_of(std::int64_t request_id) const;
  [[nodiscard]] int cached_rows() const;

 signals:
  void total_changed();
  void loading_changed();
  void failed(const difr::views::Problem& problem);

 private:
  struct Page {
    int size = 0;
    std::vector<RequestSummary> rows;  ///< empty when evicted
    RequestSummary last;               ///< anchor of the page after
  };

  [[nodiscard]] int rows() const override { return row_count_; }
  [[nodiscard]] QVariant cell(int row, int column, int role) const override;
  void start_count();
  void load(std::size_t page);
  void arrived(std::size_t page, std::vector<RequestSummary> rows);
  void touch(std::size_t page) const;
  void set_in_flight(bool in_flight);

  CaseSource* source_ = nullptr;
  RequestQuery query_;
  const int page_size_;
  const int cached_pages_;
  quint64 generation_ = 0;
  int row_count_ = 0;
  bool complete_ = true;
  bool in_flight_ = false;
  std::optional<std::int64_t> total_;
  std::vector<Page> pages_;
  mutable std::list<std::size_t> recent_;      ///< resident pages, most recently used first
  mutable std::optional<std::size_t> wanted_;  ///< evicted page somebody looked at
};

}  // namespace difr::views
