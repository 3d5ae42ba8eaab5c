#pragma once
// Cuts a log into records without loading it: JSONL, one JSON document {config, samples: [...]}, a JSON list, documents
// one after the other, or a server-sent-event transcript. A broken record is reported with its place, and the search
// for the next good one goes on behind it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ingest/byte_source.h"
#include "core/ingest/json_scanner.h"

namespace difr {

class RecordSplitter {
 public:
  enum class Kind : std::uint8_t {
    record,     ///< `text` is one JSON value, not yet parsed
    header,     ///< `text` is the document around the list, which is left empty; comes when the list begins and ends
    event_end,  ///< a transcript's closing "[DONE]"
    broken,     ///< not a record: see `fault` and `message`
  };
  struct Item {
    Kind kind = Kind::record;
    std::int64_t index = 0;   ///< 0-based among records, broken ones included
    std::int64_t offset = 0;  ///< of the record's first byte, in the unpacked stream
    std::string_view text;    ///< valid until the next call; of a record: followed by at least 64 readable bytes
    std::string_view list;    ///< name of the list this record or header belongs to; empty outside
    const char* fault = "";   ///< slug
    std::string message;
  };

  RecordSplitter(ByteSource& source, std::size_t max_record_bytes);

  /// Next item; false at the end. Throws difr::Error for content that is not a log at all (binary, UTF-16, plain text).
  bool next(Item& item);
  /// Says that the record just handed out was of no use. One that was cut in the middle swallows its siblings in a
  /// list: when another seems to start inside it, the next call goes on there.
  void look_inside(const Item& item);
  /// True once lines (JSONL or a transcript) were recognised.
  [[nodiscard]] bool by_lines() const { return mode_ != Mode::document; }
  [[nodiscard]] bool transcript() const { return mode_ == Mode::events; }

 private:
  enum class Mode : std::uint8_t { document, lines, events };

  [[nodiscard]] std::string_view window() const { return {buffer_.data() + begin_, end_ - begin_}; }
  bool fill();
  void consume(std::size_t bytes);
  bool skip_blanks(std::string_view also = {});
  void sniff();
  bool next_line(Item& item);
  bool next_value(Item& item);
  bool next_element(Item& item);
  bool finish_document(Item& item);
  bool close_list(Item& item);
  bool recover_document(Item& item, const char* fault, std::string message);
  bool recover_element(Item& item, const char* fault, std::string message);
  bool report(Item& item, const char* fault, std::string message, std::int64_t offset);
  bool deliver(Item& item, Kind kind, std::string_view text);
  JsonScanner::Status scan_rest(JsonScanner& scanner, std::size_t& pos, bool& too_long);
  [[nodiscard]] std::string truncation() const;

  ByteSource& source_;
  std::size_t max_record_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0, used_ = 0;  ///< used_: bytes of the window handed out by the last call
  std::int64_t base_ = 0;                       ///< stream offset of buffer_[0]
  bool at_end_ = false, sniffed_ = false, first_value_ = true;
  Mode mode_ = Mode::document;
  std::int64_t index_ = 0;
  // Inside a list:
  bool in_list_ = false;
  bool list_in_document_ = false;  ///< the list is a member of an object, which goes on behind it
  std::string list_name_, header_, delivered_, signature_;
  std::int64_t header_offset_ = 0;
  JsonScanner outer_;
};

}  // namespace difr
