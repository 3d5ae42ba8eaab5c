#include "core/ingest/record_splitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/util/error.h"

namespace difr {
namespace {

constexpr std::size_t padding = 64;  // simdjson reads this far beyond the end
constexpr std::size_t chunk = 1u << 20;

using Status = JsonScanner::Status;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// Lists that hold records when they are members of the outermost object.
bool holds_records(std::string_view name) {
  return name == "samples" || name == "scores" || name == "data" || name == "rows";
}

/// From the bracket to the end of the first key: what the next record of the same list will start with, too.
std::string signature_of(std::string_view record) {
  constexpr std::size_t longest = 80;
  const auto head = record.substr(0, longest);
  if (head.empty() || head[0] != '{') return {};
  const auto open = head.find('"');
  if (open == std::string_view::npos) return {};
  const auto close = head.find('"', open + 1);
  return close == std::string_view::npos ? std::string() : std::string(head.substr(0, close + 1));
}

/// Where `signature` starts behind a comma, at or after `from`.
std::size_t find_next(std::string_view text, std::string_view signature, std::size_t from) {
  for (auto at = text.find(signature, from); at != std::string_view::npos; at = text.find(signature, at + 1)) {
    auto before = at;
    while (before > 0 && is_blank(text[before - 1])) --before;
    if (before > 0 && text[before - 1] == ',') return at;
  }
  return std::string_view::npos;
}

}  // namespace

RecordSplitter::RecordSplitter(ByteSource& source, std::size_t max_record_bytes)
    : source_(source), max_record_(max_record_bytes), buffer_(2 * chunk + padding) {}

bool RecordSplitter::fill() {
  if (at_end_) return false;
  if (begin_ > 0 && (begin_ == end_ || buffer_.size() - padding - end_ < chunk)) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    base_ += static_cast<std::int64_t>(begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - padding - end_ < chunk) buffer_.resize(buffer_.size() * 3 / 2 + chunk);
  const auto got = source_.read(buffer_.data() + end_, chunk);
  std::memset(buffer_.data() + end_ + got, 0, padding);
  end_ += got;
  at_end_ = got == 0;
  return got > 0;
}

void RecordSplitter::consume(std::size_t bytes) {
  begin_ += bytes;
}

bool RecordSplitter::skip_blanks(std::string_view also) {
  for (;;) {
    while (begin_ < end_ && (is_blank(buffer_[begin_]) || also.find(buffer_[begin_]) != std::string_view::npos))
      ++begin_;
    if (begin_ < end_) return true;
    if (!fill()) return false;
  }
}

bool RecordSplitter::deliver(Item& item, Kind kind, std::string_view text) {
  item.kind = kind;
  item.index = kind == Kind::record ? index_++ : index_;
  item.text = text;
  item.list = list_name_;
  return true;
}

bool RecordSplitter::report(Item& item, const char* fault, std::string message, std::int64_t offset) {
  item.kind = Kind::broken;
  item.index = index_++;
  item.offset = offset;
  item.text = {};
  item.list = list_name_;
  item.fault = fault;
  item.message = std::move(message);
  return true;
}

std::string RecordSplitter::truncation() const {
  return source_.damage() ? *source_.damage() : std::string("the file ends inside this record");
}

void RecordSplitter::sniff() {
  sniffed_ = true;
  while (end_ - begin_ < 4096 && fill()) continue;
  auto head = window();
  const auto starts = [&head](std::string_view magic) { return head.substr(0, magic.size()) == magic; };
  if (starts("\xef\xbb\xbf")) {
    consume(3);
    head = window();
  }
  const auto nul_at = [&head](std::size_t i) { return head.size() > i && head[i] == '\0'; };
  if (starts("\xff\xfe") || starts("\xfe\xff") || (head.size() >= 4 && nul_at(0) != nul_at(1)))
    throw bad_input(source_.name(), "is UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8");
  std::size_t first = 0;
  while (first < head.size() && is_blank(head[first])) ++first;
  head.remove_prefix(first);
  if (head.empty()) {
    if (source_.damage())
      throw bad_input(source_.name(), *source_.damage(), "copy the file again from where it was made");
    throw bad_input(source_.name(), "is empty", "check that the provider's export was finished");
  }
  if (starts("data:") || starts("event:") || starts(": ")) {
    mode_ = Mode::events;
    return;
  }
  if (head[0] == '{' || head[0] == '[') return;
  const auto sample = head.substr(0, 512);
  const bool binary = std::any_of(sample.begin(), sample.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && !is_blank(c) && c != '\f';
  });
  throw bad_input(source_.name(), binary ? "is binary data, not JSON" : "is text, but not JSON",
                  "give JSON, JSONL or a server-sent-event transcript; plain, gzip or zstd");
}

bool RecordSplitter::next(Item& item) {
  if (!sniffed_) sniff();
  consume(used_);
  used_ = 0;
  if (mode_ != Mode::document) return next_line(item);
  return in_list_ ? next_element(item) : next_value(item);
}

bool RecordSplitter::next_line(Item& item) {
  for (;;) {
    if (!skip_blanks()) {
      // A stream that broke off between two records still deserves a word.
      if (!source_.damage() || item.kind == Kind::broken) return false;
      return report(item, "truncated", *source_.damage(), base_ + static_cast<std::int64_t>(end_));
    }
    const auto offset = base_ + static_cast<std::int64_t>(begin_);
    std::size_t seen = 0;
    const char* newline = nullptr;
    bool too_long = false, more = true;
    while (!newline && more) {
      const auto text = window();
      newline = static_cast<const char*>(std::memchr(text.data() + seen, '\n', text.size() - seen));
      if (newline) break;
      seen = text.size();
      if (seen > max_record_) {
        too_long = true;
        consume(seen);
        seen = 0;
      }
      more = fill();
    }
    const auto length = newline ? static_cast<std::size_t>(newline - window().data()) : window().size();
    used_ = length;
    if (too_long || length > max_record_)
      return report(item, "record-too-long", fmt::format("the record is longer than {} MiB", max_record_ >> 20),
                    offset);
    auto line = window().substr(0, length);
    if (mode_ == Mode::events) {
      const bool data = line.starts_with("data:");
      if (data) line.remove_prefix(line.starts_with("data: ") ? 6 : 5);
      while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
      if (!data || line.empty()) {
        consume(used_);
        used_ = 0;
        continue;
      }
      item.offset = offset;
      if (line == "[DONE]") return deliver(item, Kind::event_end, line);
    }
    item.offset = offset;
    if (!newline && at_end_ && source_.damage()) return report(item, "truncated", *source_.damage(), offset);
    return deliver(item, Kind::record, line);
  }
}

Status RecordSplitter::scan_rest(JsonScanner& scanner, std::size_t& pos, bool& too_long) {
  for (;;) {
    const auto status = scanner.scan(window(), pos);
    if (status != Status::more) return status;
    if (pos > max_record_) {
      // Go on to its end without keeping it; the scanner needs no bytes it has seen.
      too_long = true;
      consume(pos);
      pos = 0;
    }
    if (!fill()) return Status::more;
  }
}

bool RecordSplitter::next_value(Item& item) {
  if (!skip_blanks(first_value_ ? std::string_view() : std::string_view(","))) {
    if (!source_.damage() || item.kind == Kind::broken) return false;
    return report(item, "truncated", *source_.damage(), base_ + static_cast<std::int64_t>(end_));
  }
  item.offset = base_ + static_cast<std::int64_t>(begin_);
  const char open = buffer_[begin_];
  if (open == '[' && first_value_) {
    first_value_ = false;
    in_list_ = true;
    list_in_document_ = false;
    list_name_ = "[]";
    consume(1);
    return next_element(item);
  }
  if (open != '{' && open != '[') return recover_document(item, "not-json", "text between two records");
  outer_.start();
  outer_.watch_lists(true);
  header_.clear();
  return finish_document(item);
}

/// Scans an outermost object from its start, or from behind its list.
bool RecordSplitter::finish_document(Item& item) {
  std::size_t pos = 0;
  bool too_long = false;
  for (;;) {
    const auto status = scan_rest(outer_, pos, too_long);
    if (status == Status::list_begins) {
      if (!holds_records(outer_.last_key()) || too_long) continue;
      // Only lists of objects (or of lists, for score files) are records; a member "data": [1, 2] is not.
      auto peek = pos;
      do {
        while (begin_ + peek < end_ && is_blank(buffer_[begin_ + peek])) ++peek;
      } while (begin_ + peek >= end_ && fill());
      const char first = begin_ + peek < end_ ? buffer_[begin_ + peek] : '\0';
      if (first != '{' && first != '[' && !(first == ']' && outer_.last_key() == "samples")) continue;
      header_ += window().substr(0, pos);
      header_offset_ = item.offset;
      list_name_ = outer_.last_key();
      in_list_ = true;
      list_in_document_ = true;
      first_value_ = false;
      signature_.clear();
      used_ = pos;
      // So far the text is a document that ends in its list: closed here, so that it can be read on its own.
      delivered_ = header_ + "]}";
      return deliver(item, Kind::header, delivered_);
    }
    if (status == Status::fault) {
      used_ = 0;
      return recover_document(item, "invalid-json", outer_.why());
    }
    if (status == Status::more) return recover_document(item, "truncated", truncation());
    break;
  }
  used_ = pos;
  const bool was_first = std::exchange(first_value_, false);
  if (too_long)
    return report(item, "record-too-long", fmt::format("the record is longer than {} MiB", max_record_ >> 20),
                  item.offset);
  if (!header_.empty()) {
    header_ += window().substr(0, pos);
    item.offset = header_offset_;
    delivered_ = std::exchange(header_, {});
    deliver(item, Kind::header, delivered_);
    list_name_.clear();
    return true;
  }
  // One value on one line, then a line break: this is JSONL, where a fault ends with its line.
  if (was_first && !outer_.saw_newline()) mode_ = Mode::lines;
  return deliver(item, Kind::record, window().substr(0, pos));
}

bool RecordSplitter::close_list(Item& item) {
  consume(1);
  in_list_ = false;
  if (!list_in_document_) {
    list_name_.clear();
    return next_value(item);
  }
  header_ += ']';
  outer_.list_ended();
  outer_.watch_lists(false);
  return finish_document(item);
}

bool RecordSplitter::next_element(Item& item) {
  if (!skip_blanks(",")) {
    in_list_ = false;
    const auto where = base_ + static_cast<std::int64_t>(end_);
    return report(item, "truncated",
                  source_.damage() ? *source_.damage() : "the file ends before its list of records is closed", where);
  }
  item.offset = base_ + static_cast<std::int64_t>(begin_);
  const char open = buffer_[begin_];
  if (open == ']') return close_list(item);
  if (open != '{' && open != '[') {
    // A bare scalar where a record is due: up to the next comma or bracket.
    std::size_t pos = 0;
    if (open == '"') {
      ++pos;
      while (begin_ + pos < end_ && buffer_[begin_ + pos] != '"') ++pos;
    }
    while (begin_ + pos < end_ && buffer_[begin_ + pos] != ',' && buffer_[begin_ + pos] != ']') ++pos;
    const auto text = window().substr(0, std::min<std::size_t>(pos, 40));
    const bool done = text.substr(0, 7) == "\"[DONE]";
    used_ = pos;
    if (done) return deliver(item, Kind::event_end, text);
    return report(item, "wrong-type", fmt::format("a record must be an object, here stands {}", text), item.offset);
  }
  JsonScanner scanner;
  scanner.start();
  std::size_t pos = 0;
  bool too_long = false;
  const auto status = scan_rest(scanner, pos, too_long);
  if (too_long && status == Status::complete) {
    used_ = pos;
    return report(item, "record-too-long", fmt::format("the record is longer than {} MiB", max_record_ >> 20),
                  item.offset);
  }
  if (status == Status::fault) return recover_element(item, "invalid-json", scanner.why());
  if (status == Status::more) return recover_element(item, "truncated", truncation());
  used_ = pos;
  const auto text = window().substr(0, pos);
  if (signature_.empty()) signature_ = signature_of(text);
  return deliver(item, Kind::record, text);
}

/// Behind a broken record of a list: the next place that looks like the start of its siblings.
bool RecordSplitter::recover_element(Item& item, const char* fault, std::string message) {
  if (signature_.empty()) signature_ = signature_of(window());
  const auto offset = item.offset;
  report(item, fault, std::move(message), offset);
  if (signature_.empty()) signature_ = "{\"";
  std::size_t from = 1;
  for (;;) {
    const auto text = window();
    if (const auto at = find_next(text, signature_, from); at != std::string_view::npos) {
      consume(at);
      return true;
    }
    // Keep enough for a start that is cut by the end of the buffer, and its comma.
    constexpr std::size_t overlap = 256;
    if (text.size() > overlap) {
      consume(text.size() - overlap);
      from = 0;
    }
    if (!fill()) break;
  }
  consume(end_ - begin_);
  in_list_ = false;
  return true;
}

void RecordSplitter::look_inside(const Item& item) {
  if (!in_list_ || item.kind != Kind::record || signature_.empty()) return;
  if (const auto at = find_next(item.text, signature_, 1); at != std::string_view::npos) used_ = at;
}

/// Behind a broken document: the next line that starts one.
bool RecordSplitter::recover_document(Item& item, const char* fault, std::string message) {
  const auto offset = item.offset;
  report(item, fault, std::move(message), offset);
  header_.clear();
  list_name_.clear();
  const bool was_first = std::exchange(first_value_, false);
  bool first_break = true;
  std::size_t from = 0;
  for (;;) {
    const auto text = window();
    const auto at = text.find('\n', from);
    if (at == std::string_view::npos || at + 1 >= text.size()) {
      const bool grown = fill();
      if (!grown && at == std::string_view::npos) break;
      if (!grown) break;
      if (at == std::string_view::npos && text.size() > max_record_) {
        consume(text.size());
        from = 0;
      } else if (at == std::string_view::npos) {
        from = text.size();
      }
      continue;
    }
    if (text[at + 1] == '{') {
      // The very next line starts a record: records are lines here.
      if (was_first && first_break) mode_ = Mode::lines;
      consume(at + 1);
      return true;
    }
    first_break = false;
    from = at + 1;
  }
  consume(end_ - begin_);
  return true;
}

}  // namespace difr
