#include "gpu/weights/safetensors.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "core/util/error.h"

namespace difr::gpu {

namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr const char* kFetchAgain = "the file is damaged or not safetensors: fetch it again";

struct StoredType {
  std::string_view name;
  std::uint64_t size;
};
constexpr std::array<StoredType, 14> kTypes{{{"F64", 8},
                                             {"F32", 4},
                                             {"F16", 2},
                                             {"BF16", 2},
                                             {"I64", 8},
                                             {"I32", 4},
                                             {"I16", 2},
                                             {"I8", 1},
                                             {"U64", 8},
                                             {"U32", 4},
                                             {"U16", 2},
                                             {"U8", 1},
                                             {"BOOL", 1},
                                             {"F8_E4M3", 1}}};

std::optional<std::uint64_t> type_size(std::string_view name) {
  for (const auto& type : kTypes)
    if (type.name == name) return type.size;
  return std::nullopt;
}

float half_to_float(std::uint16_t h) {
  const std::uint32_t sign = std::uint32_t(h & 0x8000u) << 16;
  const std::uint32_t exponent = (h >> 10) & 31u;
  const std::uint32_t mantissa = h & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

template <class Word, class Convert>
void convert(const std::byte* from, std::span<float> out, Convert to_float) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Word word;
    std::memcpy(&word, from + i * sizeof(Word), sizeof(Word));
    out[i] = to_float(word);
  }
}

std::string element_error(simdjson::error_code code) {
  return simdjson::error_message(code);
}

/// One entry of the header, checked against the length of the data part.
TensorInfo parse_entry(const std::string& file, std::string_view name, simdjson::dom::element entry,
                       std::span<const std::byte> data) {
  const std::string where = file + ": tensor '" + std::string(name) + "'";
  simdjson::dom::object fields;
  if (const auto error = entry.get_object().get(fields))
    throw bad_input(where, "is not an object: " + element_error(error), kFetchAgain);
  TensorInfo tensor;
  tensor.name = name;
  tensor.file = file;

  std::string_view type;
  if (fields["dtype"].get_string().get(type) != simdjson::SUCCESS) throw bad_input(where, "has no dtype", kFetchAgain);
  const auto size = type_size(type);
  if (!size)
    throw bad_input(where, "has the unknown dtype '" + std::string(type) + "'",
                    "convert the checkpoint to F32, F16 or BF16");
  tensor.type = type;

  simdjson::dom::array shape;
  if (fields["shape"].get_array().get(shape) != simdjson::SUCCESS) throw bad_input(where, "has no shape", kFetchAgain);
  std::uint64_t bytes = *size;
  for (const auto element : shape) {
    std::uint64_t dimension = 0;
    if (element.get_uint64().get(dimension) != simdjson::SUCCESS || dimension > (std::uint64_t{1} << 40))
      throw bad_input(where, "has a shape that is not a list of sizes", kFetchAgain);
    // A shape whose size overflows cannot fit the file either.
    if (dimension != 0 && bytes > (std::uint64_t{1} << 62) / dimension)
      throw bad_input(where, "is larger than any file", kFetchAgain);
    bytes *= dimension;
    tensor.shape.push_back(static_cast<std::int64_t>(dimension));
  }
  if (tensor.shape.size() > 8) throw bad_input(where, "has more than 8 dimensions", kFetchAgain);

  simdjson::dom::array offsets;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  if (fields["data_offsets"].get_array().get(offsets) != simdjson::SUCCESS || offsets.size() != 2 ||
      offsets.at(0).get_uint64().get(begin) != simdjson::SUCCESS ||
      offsets.at(1).get_uint64().get(end) != simdjson::SUCCESS)
    throw bad_input(where, "has no data_offsets of two numbers", kFetchAgain);
  if (begin > end || end > data.size())
    throw bad_input(
        where,
        "lies at bytes " + std::to_string(begin) + ".." + std::to_string(end) + " of " + std::to_string(data.size()),
        "the file is truncated or damaged: fetch it again");
  if (end - begin != bytes)
    throw bad_input(where,
                    "has " + std::to_string(end - begin) + " bytes where dtype and shape need " + std::to_string(bytes),
                    kFetchAgain);
  tensor.bytes = data.subspan(begin, bytes);
  return tensor;
}

/// The format wants tensors back to back from the first byte to the last.
void check_cover(const std::string& file, std::span<const TensorInfo> tensors, std::span<const std::byte> data) {
  std::vector<const TensorInfo*> order;
  for (const auto& tensor : tensors) order.push_back(&tensor);
  std::ranges::sort(order, [](const auto* a, const auto* b) {
    return std::pair(a->bytes.data(), a->bytes.size()) < std::pair(b->bytes.data(), b->bytes.size());
  });
  std::size_t at = 0;
  for (const auto* tensor : order) {
    const auto begin = static_cast<std::size_t>(tensor->bytes.data() - data.data());
    if (begin != at)
      throw bad_input(file + ": tensor '" + tensor->name + "'",
                      begin < at ? "overlaps another tensor" : "leaves a hole before it", kFetchAgain);
    at = begin + tensor->bytes.size();
  }
  if (at != data.size())
    throw bad_input(file, std::to_string(data.size() - at) + " bytes after the last tensor belong to none",
                    kFetchAgain);
}

}  // namespace

void SafetensorsSource::add_file(const std::filesystem::path& file) {
  const std::string name = file.string();
  files_.emplace_back(file);
  const auto bytes = files_.back().bytes();
  std::uint64_t length = 0;
  if (bytes.size() < 8 + 2) throw bad_input(name, "is too short for a safetensors header", kFetchAgain);
  std::memcpy(&length, bytes.data(), 8);
  if (length > kMaxHeader || length > bytes.size() - 8)
    throw bad_input(
        name, "claims a header of " + std::to_string(length) + " bytes in a file of " + std::to_string(bytes.size()),
        kFetchAgain);

  const auto data = bytes.subspan(8 + length);
  // A padded copy: simdjson may read a few bytes beyond its input.
  const simdjson::padded_string header(reinterpret_cast<const char*>(bytes.data()) + 8, length);
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  if (const auto error = parser.parse(header).get_object().get(root))
    throw bad_input(name, "has a header that is not JSON: " + element_error(error), kFetchAgain);
  const std::size_t first = tensors_.size();
  std::set<std::string_view> seen;
  for (const auto field : root) {
    if (!seen.insert(field.key).second)
      throw bad_input(name + ": tensor '" + std::string(field.key) + "'", "is listed twice", kFetchAgain);
    if (field.key == "__metadata__") continue;
    tensors_.push_back(parse_entry(name, field.key, field.value, data));
  }
  check_cover(name, std::span(tensors_).subspan(first), data);
}

void SafetensorsSource::finish() {
  std::ranges::sort(tensors_, {}, &TensorInfo::name);
  const auto twice = std::ranges::adjacent_find(tensors_, {}, &TensorInfo::name);
  if (twice != tensors_.end())
    throw bad_input(twice->file + ": tensor '" + twice->name + "'", "is also in " + std::next(twice)->file,
                    "remove the stale shard");
}

std::unique_ptr<SafetensorsSource> SafetensorsSource::open_file(const std::filesystem::path& file) {
  std::unique_ptr<SafetensorsSource> source(new SafetensorsSource);
  source->add_file(file);
  source->finish();
  return source;
}

std::unique_ptr<SafetensorsSource> SafetensorsSource::open_folder(const std::filesystem::path& folder) {
  const auto single = folder / "model.safetensors";
  if (std::filesystem::exists(single)) return open_file(single);
  const auto index = folder / "model.safetensors.index.json";
  if (!std::filesystem::exists(index))
    throw bad_input(folder.string(), "holds neither model.safetensors nor model.safetensors.index.json",
                    "give the folder of a Hugging Face checkpoint; convert pickled weights to safetensors first");
  const std::string where = index.string();
  simdjson::dom::parser parser;
  simdjson::dom::object map;
  if (const auto error = parser.load(where)["weight_map"].get_object().get(map))
    throw bad_input(where, std::string("has no weight_map: ") + element_error(error), "fetch the file again");

  std::map<std::string, std::vector<std::string>> shards;
  for (const auto field : map) {
    std::string_view shard;
    if (field.value.get_string().get(shard) != simdjson::SUCCESS || shard.empty() ||
        shard.find('/') != std::string_view::npos || shard == "..")
      throw bad_input(where + ": weight_map['" + std::string(field.key) + "']",
                      "is not the name of a file beside the index", "fetch the file again");
    shards[std::string(shard)].emplace_back(field.key);
  }
  std::unique_ptr<SafetensorsSource> source(new SafetensorsSource);
  for (const auto& [shard, names] : shards) {
    if (!std::filesystem::exists(folder / shard))
      throw bad_input(where, "names the missing shard " + shard, "fetch the missing file");
    const std::size_t first = source->tensors_.size();
    source->add_file(folder / shard);
    std::set<std::string_view> present;
    for (const auto& tensor : std::span(source->tensors_).subspan(first)) present.insert(tensor.name);
    for (const auto& name : names)
      if (!present.contains(name))
        throw bad_input(where + ": weight_map['" + name + "']", "is not in " + shard,
                        "index and shards belong to different checkpoints: fetch both again");
  }
  source->finish();
  return source;
}

void SafetensorsSource::read(const TensorInfo& tensor, std::int64_t first, std::span<float> out) const {
  const auto size = type_size(tensor.type).value();
  if (first < 0 || static_cast<std::uint64_t>(first) + out.size() > tensor.bytes.size() / size)
    throw bad_input(tensor.file + ": tensor '" + tensor.name + "'", "is shorter than the configuration says",
                    "config.json and weights do not belong together");
  const std::byte* const from = tensor.bytes.data() + static_cast<std::uint64_t>(first) * size;
  if (tensor.type == "F32")
    std::memcpy(out.data(), from, out.size_bytes());
  else if (tensor.type == "BF16")
    convert<std::uint16_t>(from, out, [](std::uint16_t w) { return std::bit_cast<float>(std::uint32_t{w} << 16); });
  else if (tensor.type == "F16")
    convert<std::uint16_t>(from, out, half_to_float);
  else if (tensor.type == "F64")
    convert<double>(from, out, [](double w) { return static_cast<float>(w); });
  else if (tensor.type == "I32")
    convert<std::int32_t>(from, out, [](std::int32_t w) { return static_cast<float>(w); });
  else
    throw bad_input(tensor.file + ": tensor '" + tensor.name + "'",
                    "has dtype " + tensor.type + ", which is no plain float",
                    "give an unquantised checkpoint (F32, F16 or BF16)");
}

}  // namespace difr::gpu
