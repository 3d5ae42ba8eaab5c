#include "core/ingest/format_reader.h"

#include "core/ingest/readers/readers.h"

namespace difr {

std::vector<std::unique_ptr<FormatReader>> make_readers() {
  std::vector<std::unique_ptr<FormatReader>> readers;
  readers.push_back(make_stream_reader());
  add_exchange_readers(readers);
  add_engine_readers(readers);
  readers.push_back(make_token_record_reader());
  readers.push_back(make_metadata_reader());
  readers.push_back(make_text_reader());
  return readers;
}

}  // namespace difr
