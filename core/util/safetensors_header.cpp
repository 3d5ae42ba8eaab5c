#include "core/util/safetensors_header.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "core/util/error.h"

namespace difr {

namespace {

constexpr std::array<std::pair<std::string_view, std::size_t>, 15> kDtypes{{{"F64", 8},
                                                                            {"I64", 8},
                                                                            {"U64", 8},
                                                                            {"F32", 4},
                                                                            {"I32", 4},
                                                                            {"U32", 4},
                                                                            {"F16", 2},
                                                                            {"BF16", 2},
                                                                            {"I16", 2},
                                                                            {"U16", 2},
                                                                            {"I8", 1},
                                                                            {"U8", 1},
                                                                            {"BOOL", 1},
                                                                            {"F8_E4M3", 1},
                                                                            {"F8_E5M2", 1}}};

constexpr const char* kRemedy = "the file is truncated or not a safetensors file; fetch it again";

[[noreturn]] void refuse(const std::string& where, const std::string& tensor, const std::string& what) {
  throw bad_input(where, fmt::format("tensor \"{}\": {}", tensor, what), kRemedy);
}

SafetensorsEntry parse_entry(std::string name, simdjson::dom::element description, const std::string& where) {
  SafetensorsEntry entry;
  entry.name = std::move(name);
  std::string_view dtype;
  if (description["dtype"].get(dtype) != simdjson::SUCCESS) refuse(where, entry.name, "has no dtype");
  const std::size_t width = safetensors_element_bytes(dtype);
  if (width == 0) refuse(where, entry.name, fmt::format("dtype \"{}\" is unknown", dtype));
  entry.dtype = dtype;

  simdjson::dom::array shape;
  if (description["shape"].get(shape) != simdjson::SUCCESS) refuse(where, entry.name, "has no shape");
  const auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / width;
  for (simdjson::dom::element side : shape) {
    std::uint64_t length = 0;
    if (side.get(length) != simdjson::SUCCESS) refuse(where, entry.name, "its shape is not made of whole numbers");
    if (length > limit || (length != 0 && entry.elements > limit / length))
      refuse(where, entry.name, "its shape is larger than any file");
    entry.elements *= length;
    entry.shape.push_back(static_cast<std::int64_t>(length));
  }

  simdjson::dom::array offsets;
  if (description["data_offsets"].get(offsets) != simdjson::SUCCESS || offsets.size() != 2 ||
      offsets.at(0).get(entry.begin) != simdjson::SUCCESS || offsets.at(1).get(entry.end) != simdjson::SUCCESS)
    refuse(where, entry.name, "has no two data offsets");
  if (entry.end < entry.begin || entry.end - entry.begin != entry.elements * width)
    refuse(where, entry.name,
           fmt::format("offsets {}..{} do not hold its {} elements of {}", entry.begin, entry.end, entry.elements,
                       entry.dtype));
  return entry;
}

}  // namespace

const SafetensorsEntry* SafetensorsHeader::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

std::size_t safetensors_element_bytes(std::string_view dtype) {
  const auto* const found =
      std::find_if(kDtypes.begin(), kDtypes.end(), [&](const auto& known) { return known.first == dtype; });
  return found == kDtypes.end() ? 0 : found->second;
}

std::uint64_t safetensors_header_length(std::span<const std::uint8_t> first_bytes, std::uint64_t file_bytes,
                                        const std::string& where) {
  if (first_bytes.size() < 8 || file_bytes < 8) throw bad_input(where, "shorter than 8 bytes", kRemedy);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::uint64_t{first_bytes[i]} << (8 * i);
  if (length > kSafetensorsHeaderLimit || length > file_bytes - 8)
    throw bad_input(where, fmt::format("says its header has {} bytes, the file has {}", length, file_bytes), kRemedy);
  return length;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t file_bytes, const std::string& where) {
  const simdjson::padded_string padded(json);
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(padded).get(object) != simdjson::SUCCESS)
    throw bad_input(where, "its header is not a JSON object", kRemedy);

  SafetensorsHeader header;
  header.data_start = 8 + json.size();
  if (header.data_start > file_bytes) throw bad_input(where, "its header is longer than the file", kRemedy);
  std::set<std::string, std::less<>> names;
  for (const auto [key, value] : object) {
    if (!names.emplace(key).second) throw bad_input(where, fmt::format("\"{}\" occurs twice", key), kRemedy);
    if (key != "__metadata__") {
      header.tensors.push_back(parse_entry(std::string(key), value, where));
      continue;
    }
    simdjson::dom::object metadata;
    if (value.get(metadata) != simdjson::SUCCESS) throw bad_input(where, "__metadata__ is not an object", kRemedy);
    for (const auto [name, text] : metadata) {
      std::string_view view;
      if (text.get(view) != simdjson::SUCCESS)
        throw bad_input(where, fmt::format("metadata \"{}\" is not a string", name),
                        "the format allows strings only; write it as a string");
      header.metadata.insert_or_assign(std::string(name), std::string(view));
    }
  }

  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const auto& a, const auto& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t expected = 0;
  for (const SafetensorsEntry& entry : header.tensors) {
    if (entry.begin != expected)
      refuse(where, entry.name, fmt::format("starts at {}, the data before it ends at {}", entry.begin, expected));
    expected = entry.end;
  }
  if (expected != file_bytes - header.data_start)
    throw bad_input(where,
                    fmt::format("its tensors take {} bytes, the file has {}", expected, file_bytes - header.data_start),
                    kRemedy);
  return header;
}

}  // namespace difr
