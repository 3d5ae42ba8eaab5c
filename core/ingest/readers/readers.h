#pragma once
// The formats known, one factory each.

#include "core/ingest/format_reader.h"

namespace difr {

[[nodiscard]] std::unique_ptr<FormatReader> make_token_record_reader();

}  // namespace difr
