#include "views/models/request_model.h"

#include <QGuiApplication>
#include <QPointer>
#include <algorithm>
#include <cmath>

#include "views/models/format.h"
#include "views/theme/icons.h"
#include "views/theme/palette.h"

namespace difr::views {
namespace {

std::vector<TableModel::Column> make_columns() {
  const auto tr = [](const char* s) { return RequestModel::tr(s); };
  return {
      {tr("Flagged"), tr("Flagged by the false-discovery rule over the provider's requests")},
      {tr("Provider"), tr("Provider configuration")},
      {tr("Request"), tr("The log's own id")},
      {tr("Tokens"), tr("Output tokens"), true},
      {tr("Exact match"), tr("Share of tokens that the reference picks too"), true},
      {tr("Mean margin"), tr("Mean of margins clipped at the calibration's Δ, in logits"), true},
      {tr("Largest margin"), tr("Largest margin of a token, in logits"), true},
      {tr("Cross-entropy"), tr("Mean negative log-probability of the claimed tokens"), true},
      {tr("p"), tr("Conformal p-value against trusted requests"), true},
      {tr("q"), tr("p-value after Benjamini–Hochberg"), true},
      {tr("Seed"), tr("Declared seed"), true},
  };
}

std::optional<RequestSort> sort_of(int column) {
  switch (column) {
    case RequestModel::provider:
      return RequestSort::provider;
    case RequestModel::external_id:
      return RequestSort::external_id;
    case RequestModel::output_tokens:
      return RequestSort::output_tokens;
    case RequestModel::exact_match:
      return RequestSort::exact_match;
    case RequestModel::mean_margin:
      return RequestSort::mean_margin;
    case RequestModel::max_margin:
      return RequestSort::max_margin;
    case RequestModel::cross_entropy:
      return RequestSort::cross_entropy;
    case RequestModel::p_value:
      return RequestSort::p_value;
    default:
      return std::nullopt;
  }
}

}  // namespace

RequestModel::RequestModel(QObject* parent, int page_size, int cached_pages)
    : TableModel(make_columns(), parent),
      page_size_(std::max(page_size, 1)),
      cached_pages_(std::max(cached_pages, 2)) {}

void RequestModel::set_source(CaseSource* source) {
  source_ = source;
  set_query(query_);
}

void RequestModel::set_query(const RequestQuery& query) {
  beginResetModel();
  query_ = query;
  query_.after.reset();
  query_.limit = page_size_;
  ++generation_;
  row_count_ = 0;
  pages_.clear();
  recent_.clear();
  wanted_.reset();
  total_.reset();
  complete_ = !source_ || !source_->is_open();
  set_in_flight(false);
  endResetModel();
  emit total_changed();
  if (complete_) return;
  load(0);
  start_count();
}

void RequestModel::start_count() {
  source_->count(this, query_, [this, generation = generation_](tl::expected<std::int64_t, Problem> reply) {
    if (generation != generation_ || !reply) return;  // the pages report the same failure
    total_ = *reply;
    emit total_changed();
  });
}

bool RequestModel::canFetchMore(const QModelIndex& parent) const {
  return !parent.isValid() && !complete_ && !in_flight_;
}

void RequestModel::fetchMore(const QModelIndex& parent) {
  if (canFetchMore(parent)) load(pages_.size());
}

void RequestModel::load(std::size_t page) {
  set_in_flight(true);
  RequestQuery query = query_;
  if (page > 0) query.after = pages_[page - 1].last;
  source_->load_page(this, query,
                     [this, page, generation = generation_](tl::expected<std::vector<RequestSummary>, Problem> reply) {
                       if (generation != generation_) return;
                       set_in_flight(false);
                       if (reply) return arrived(page, std::move(*reply));
                       complete_ = true;  // do not hammer a case that cannot be read
                       emit failed(reply.error());
                     });
}

void RequestModel::arrived(std::size_t page, std::vector<RequestSummary> rows) {
  const int got = static_cast<int>(rows.size());
  if (page == pages_.size()) {
    complete_ = got < page_size_;
    if (got > 0) {
      beginInsertRows({}, row_count_, row_count_ + got - 1);
      Page added{got, std::move(rows), {}};
      added.last = added.rows.back();
      pages_.push_back(std::move(added));
      row_count_ += got;
      touch(page);
      endInsertRows();
    }
  } else if (page < pages_.size()) {
    // A page that changed meanwhile keeps its size; `changed` of the case reloads the whole table anyway.
    rows.resize(static_cast<std::size_t>(pages_[page].size));
    pages_[page].rows = std::move(rows);
    touch(page);
    const int first = static_cast<int>(page) * page_size_;
    emit dataChanged(index(first, 0), index(first + pages_[page].size - 1, column_count - 1));
  }
  while (recent_.size() > static_cast<std::size_t>(cached_pages_)) {
    pages_[recent_.back()].rows = {};
    recent_.pop_back();
  }
  if (wanted_) {
    const std::size_t next = *wanted_;
    wanted_.reset();
    if (next < pages_.size() && pages_[next].rows.empty()) load(next);
  }
}

void RequestModel::touch(std::size_t page) const {
  if (!recent_.empty() && recent_.front() == page) return;
  recent_.remove(page);
  recent_.push_front(page);
}

const RequestSummary* RequestModel::at(int row) const {
  if (row < 0 || row >= row_count_) return nullptr;
  const auto page = static_cast<std::size_t>(row / page_size_);
  const auto offset = static_cast<std::size_t>(row % page_size_);
  if (pages_[page].rows.empty()) {
    const bool first = !wanted_;
    wanted_ = page;
    // Painting must not start work; the next turn of the event loop does.
    if (first && !in_flight_) {
      auto* self = const_cast<RequestModel*>(this);
      QMetaObject::invokeMethod(
          self,
          [self, generation = generation_] {
            if (generation != self->generation_ || self->in_flight_ || !self->wanted_) return;
            const std::size_t next = *self->wanted_;
            self->wanted_.reset();
            if (next < self->pages_.size() && self->pages_[next].rows.empty()) self->load(next);
          },
          Qt::QueuedConnection);
    }
    return nullptr;
  }
  touch(page);
  return &pages_[page].rows[offset];
}

int RequestModel::row_of(std::int64_t request_id) const {
  for (const std::size_t page : recent_) {
    const auto& rows = pages_[page].rows;
    const auto found = std::ranges::find(rows, request_id, &RequestSummary::id);
    if (found != rows.end()) return static_cast<int>(page) * page_size_ + static_cast<int>(found - rows.begin());
  }
  return -1;
}

int RequestModel::cached_rows() const {
  int n = 0;
  for (const Page& page : pages_) n += static_cast<int>(page.rows.size());
  return n;
}

void RequestModel::set_in_flight(bool in_flight) {
  if (in_flight_ == in_flight) return;
  in_flight_ = in_flight;
  emit loading_changed();
}

void RequestModel::sort(int column, Qt::SortOrder order) {
  const auto by = column < 0 ? std::optional(RequestSort::id) : sort_of(column);
  const bool descending = order == Qt::DescendingOrder;
  if (!by || (query_.sort == *by && query_.descending == descending)) return;
  RequestQuery query = query_;
  query.sort = *by;
  query.descending = descending;
  set_query(query);
}

QVariant RequestModel::cell(int row, int column, int role) const {
  const RequestSummary* r = at(row);
  if (!r) return role == Qt::DisplayRole && column == external_id ? QVariant(QStringLiteral("…")) : QVariant();
  const bool scored = !std::isnan(r->exact_match);
  switch (role) {
    case Qt::DisplayRole:
      switch (column) {
        case flag:
          return r->flagged ? tr("yes") : QString();
        case provider:
          return QString::fromStdString(r->provider);
        case external_id:
          return r->choice > 0 ? tr("%1 (choice %2)").arg(QString::fromStdString(r->external_id)).arg(r->choice)
                               : QString::fromStdString(r->external_id);
        case output_tokens:
          return format_count(r->output_tokens);
        case exact_match:
          return format_percent(r->exact_match);
        case mean_margin:
          return format_margin(r->mean_margin);
        case max_margin:
          return format_margin(r->max_margin);
        case cross_entropy:
          return format_margin(r->cross_entropy);
        case p_value:
          return format_p(r->p_value);
        case q_value:
          return format_p(r->q_value);
        case seed:
          return r->seed ? QVariant(QString::number(*r->seed)) : QVariant(dash());
        default:
          return {};
      }
    case sort_role:
      switch (column) {
        case flag:
          return r->flagged;
        case output_tokens:
          return r->output_tokens;
        case exact_match:
          return r->exact_match;
        case mean_margin:
          return r->mean_margin;
        case max_margin:
          return r->max_margin;
        case cross_entropy:
          return r->cross_entropy;
        case p_value:
          return r->p_value;
        case q_value:
          return r->q_value;
        case seed:
          return r->seed ? QVariant(static_cast<qlonglong>(*r->seed)) : QVariant();
        case provider:
          return QString::fromStdString(r->provider);
        case external_id:
          return QString::fromStdString(r->external_id);
        default:
          return {};
      }
    case id_role:
      return static_cast<qlonglong>(r->id);
    case Qt::DecorationRole:
      return column == flag && r->flagged ? QVariant(icon(QStringLiteral("flag"))) : QVariant();
    case Qt::ForegroundRole:
      return scored || column <= output_tokens ? QVariant() : QVariant(colours(QGuiApplication::palette()).muted);
    default:
      return {};
  }
}

}  // namespace difr::views
