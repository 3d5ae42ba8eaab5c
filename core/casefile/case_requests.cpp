// The Requests table: keyset paging in any order without decoding a blob.

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "core/casefile/case_impl.h"

namespace difr {
namespace {

using Value = std::variant<std::int64_t, double, std::string>;

/// A WHERE clause under construction with the values of its question marks.
struct Filter {
  std::string sql;
  std::vector<Value> values;

  void add(std::string_view condition, std::initializer_list<Value> bound = {}) {
    sql += sql.empty() ? "" : " AND ";
    sql += condition;
    values.insert(values.end(), bound);
  }
  void bind(sql::Query& query) const {
    for (const auto& value : values) std::visit([&](const auto& v) { query.bind(v); }, value);
  }
};

constexpr const char* columns =
    "r.id, r.provider_id, p.name, r.external_id, r.choice, r.prompt_tokens, r.output_tokens, r.seed, r.exact_match, "
    "r.mean_margin, r.max_margin, r.cross_entropy, r.p_value, r.q_value, r.flagged";

RequestSummary read_summary(const sql::Query& q) {
  RequestSummary row;
  row.id = q.integer(0);
  row.provider_id = q.integer(1);
  row.provider = q.text(2);
  row.external_id = q.text(3);
  row.choice = static_cast<int>(q.integer(4));
  row.prompt_tokens = static_cast<int>(q.integer(5));
  row.output_tokens = static_cast<int>(q.integer(6));
  row.seed = q.maybe_integer(7);
  row.exact_match = q.real(8);
  row.mean_margin = q.real(9);
  row.max_margin = q.real(10);
  row.cross_entropy = q.real(11);
  row.p_value = q.real(12);
  row.q_value = q.real(13);
  row.flagged = q.integer(14) != 0;
  return row;
}

std::string like_pattern(std::string_view text) {
  std::string pattern = "%";
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern + '%';
}

Filter base_filter(const RequestQuery& query) {
  Filter filter;
  if (!query.provider_ids.empty()) {
    std::string marks;
    for (const auto id : query.provider_ids) {
      marks += marks.empty() ? "?" : ",?";
      filter.values.emplace_back(id);
    }
    filter.sql = "r.provider_id IN (" + marks + ")";
  }
  if (!query.external_id_contains.empty())
    filter.add("r.external_id LIKE ? ESCAPE '\\'", {like_pattern(query.external_id_contains)});
  if (query.min_mean_margin) filter.add("r.mean_margin >= ?", {*query.min_mean_margin});
  if (query.max_mean_margin) filter.add("r.mean_margin <= ?", {*query.max_mean_margin});
  if (query.flagged_only) filter.add("r.flagged = 1");
  return filter;
}

const char* sort_column(RequestSort sort) {
  switch (sort) {
    case RequestSort::id:
      return "r.id";
    case RequestSort::provider:
      return "r.provider_id";
    case RequestSort::external_id:
      return "r.external_id";
    case RequestSort::output_tokens:
      return "r.output_tokens";
    case RequestSort::exact_match:
      return "r.exact_match";
    case RequestSort::mean_margin:
      return "r.mean_margin";
    case RequestSort::max_margin:
      return "r.max_margin";
    case RequestSort::cross_entropy:
      return "r.cross_entropy";
    case RequestSort::p_value:
      return "r.p_value";
  }
  return "r.id";
}

/// Value of the sorted column in the last row seen; NaN stands for "has none".
Value sort_value(const RequestSummary& row, RequestSort sort) {
  switch (sort) {
    case RequestSort::external_id:
      return row.external_id;
    case RequestSort::output_tokens:
      return std::int64_t{row.output_tokens};
    case RequestSort::exact_match:
      return row.exact_match;
    case RequestSort::mean_margin:
      return row.mean_margin;
    case RequestSort::max_margin:
      return row.max_margin;
    case RequestSort::cross_entropy:
      return row.cross_entropy;
    case RequestSort::p_value:
      return row.p_value;
    default:
      return row.id;
  }
}

bool is_nan(const Value& value) {
  const auto* real = std::get_if<double>(&value);
  return real && *real != *real;
}

class Pager {
 public:
  Pager(sql::Database& db, const RequestQuery& query) : db_(db), query_(query), filter_(base_filter(query)) {}

  std::vector<RequestSummary> page() {
    if (query_.limit <= 0) return {};
    switch (query_.sort) {
      case RequestSort::id:
        by_id();
        break;
      case RequestSort::provider:
        by_provider();
        break;
      default:
        by_column();
        break;
    }
    return std::move(rows_);
  }

 private:
  void fetch(const Filter& filter, std::string_view order) {
    const auto missing = query_.limit - static_cast<int>(rows_.size());
    if (missing <= 0) return;
    sql::Query q(db_, fmt::format("SELECT {} FROM requests r JOIN providers p ON p.id = r.provider_id {}{} ORDER BY {} "
                                  "LIMIT ?",
                                  columns, filter.sql.empty() ? "" : "WHERE ", filter.sql, order));
    filter.bind(q);
    q.bind(missing);
    while (q.step()) rows_.push_back(read_summary(q));
  }

  void by_id() {
    auto filter = filter_;
    if (query_.after) filter.add(query_.descending ? "r.id < ?" : "r.id > ?", {query_.after->id});
    fetch(filter, query_.descending ? "r.id DESC" : "r.id");
  }

  /// Few providers, many requests: walk the providers in order of name, each by its own index.
  void by_provider() {
    std::vector<std::pair<std::string, std::int64_t>> providers;
    {
      sql::Query q(db_, "SELECT name, id FROM providers ORDER BY name, id");
      while (q.step()) providers.emplace_back(q.text(0), q.integer(1));
    }
    if (query_.descending)
      std::stable_sort(providers.begin(), providers.end(),
                       [](const auto& a, const auto& b) { return a.first > b.first; });
    bool reached = !query_.after;
    for (const auto& [name, id] : providers) {
      const bool here = query_.after && query_.after->provider_id == id;
      reached |= here;
      if (!reached) continue;
      auto filter = filter_;
      filter.add("r.provider_id = ?", {id});
      if (here) filter.add("r.id > ?", {query_.after->id});
      fetch(filter, "r.id");
    }
  }

  /// First the rows that have the value, then those without; both parts follow an index (column, id).
  void by_column() {
    const std::string column = sort_column(query_.sort);
    const auto last = query_.after ? std::optional(sort_value(*query_.after, query_.sort)) : std::nullopt;
    if (!last || !is_nan(*last)) {
      auto filter = filter_;
      filter.add(column + " IS NOT NULL");
      if (last && query_.descending) {
        // Rows of equal value still come by ascending id, so the rest of the tie is a range of its own.
        auto tie = filter;
        tie.add(column + " = ?", {*last});
        tie.add("r.id > ?", {query_.after->id});
        fetch(tie, "r.id");
        filter.add(column + " < ?", {*last});
      } else if (last) {
        filter.add(fmt::format("({}, r.id) > (?, ?)", column), {*last, query_.after->id});
      }
      fetch(filter, column + (query_.descending ? " DESC, r.id" : ", r.id"));
    }
    auto without = filter_;
    without.add(column + " IS NULL");
    if (last && is_nan(*last)) without.add("r.id > ?", {query_.after->id});
    fetch(without, "r.id");
  }

  sql::Database& db_;
  const RequestQuery& query_;
  Filter filter_;
  std::vector<RequestSummary> rows_;
};

}  // namespace

std::vector<RequestSummary> CaseFile::request_page(const RequestQuery& query) const {
  return Pager(impl_->db, query).page();
}

std::int64_t CaseFile::request_count(const RequestQuery& query) const {
  const auto filter = base_filter(query);
  if (filter.sql.empty()) {
    sql::Query q(impl_->db, "SELECT coalesce(sum(requests), 0) FROM providers");
    return q.step() ? q.integer(0) : 0;
  }
  sql::Query q(impl_->db, "SELECT count(*) FROM requests r WHERE " + filter.sql);
  filter.bind(q);
  return q.step() ? q.integer(0) : 0;
}

std::optional<RequestSummary> CaseFile::request_summary(std::int64_t request_id) const {
  sql::Query q(
      impl_->db,
      fmt::format("SELECT {} FROM requests r JOIN providers p ON p.id = r.provider_id WHERE r.id = ?", columns));
  q.bind(request_id);
  return q.step() ? std::optional(read_summary(q)) : std::nullopt;
}

std::vector<double> CaseFile::mean_margins(std::int64_t provider_id) const {
  std::vector<double> out;
  sql::Query q(impl_->db,
               "SELECT mean_margin FROM requests WHERE provider_id = ? AND mean_margin IS NOT NULL ORDER BY id");
  q.bind(provider_id);
  while (q.step()) out.push_back(q.real(0));
  return out;
}

}  // namespace difr
