#pragma once
// Sampling parameters and small lists as JSON text: readable in the file, equal text for equal values.

#include <string>
#include <string_view>
#include <vector>

#include "core/domain/claim.h"

namespace difr {

[[nodiscard]] std::string to_json(const SamplingParams& sampling);
/// Throws difr::Error naming `where` when the text is not what to_json writes.
[[nodiscard]] SamplingParams sampling_from_json(std::string_view json, const std::string& where);

[[nodiscard]] std::string to_json(const std::vector<std::string>& texts);
[[nodiscard]] std::vector<std::string> texts_from_json(std::string_view json, const std::string& where);
/// Quoted and escaped.
[[nodiscard]] std::string json_quoted(std::string_view text);

}  // namespace difr
