#include "gpu/weights/gguf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/util/error.h"

namespace difr::gpu {

namespace {

constexpr const char* kFetchAgain = "the file is truncated or damaged: fetch it again";
constexpr std::uint64_t kLongestName = 65535;  // the format's own limit on keys
constexpr std::size_t kMostDimensions = 4;     // ggml's
constexpr std::uint64_t kDefaultAlignment = 32;

/// Metadata value types by id.
enum class ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
constexpr std::uint32_t kValueTypes = 13;

std::size_t value_size(ValueType type) {
  switch (type) {
    case ValueType::u8:
    case ValueType::i8:
    case ValueType::boolean:
      return 1;
    case ValueType::u16:
    case ValueType::i16:
      return 2;
    case ValueType::u32:
    case ValueType::i32:
    case ValueType::f32:
      return 4;
    case ValueType::u64:
    case ValueType::i64:
    case ValueType::f64:
      return 8;
    case ValueType::string:
    case ValueType::array:
      return 0;
  }
  return 0;
}

/// Little-endian reads that never pass the end.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  [[nodiscard]] std::uint64_t position() const { return at_; }
  [[nodiscard]] std::uint64_t remaining() const { return bytes_.size() - at_; }
  void set_place(std::string place) { place_ = std::move(place); }

  [[nodiscard]] Error error(const std::string& what, const std::string& remedy = kFetchAgain) const {
    return bad_input(place_.empty() ? file_ : file_ + ": " + place_, what, remedy);
  }

  std::span<const std::byte> take(std::uint64_t size) {
    if (size > remaining())
      throw error(fmt::format("needs {} bytes at offset {}, but the file ends after {}", size, at_, bytes_.size()));
    const auto part = bytes_.subspan(at_, size);
    at_ += size;
    return part;
  }
  template <class T>
  T read() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view string(std::uint64_t longest) {
    const auto length = read<std::uint64_t>();
    if (length > longest || length > remaining())
      throw error(fmt::format("has a string of {} bytes at offset {}", length, at_));
    const auto part = take(length);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& file_;
  std::string place_;
  std::uint64_t at_ = 0;
};

ValueType read_type(Cursor& cursor) {
  const auto id = cursor.read<std::uint32_t>();
  if (id >= kValueTypes) throw cursor.error(fmt::format("has a value of the unknown type {}", id));
  return static_cast<ValueType>(id);
}

GgufValue read_scalar(Cursor& cursor, ValueType type) {
  switch (type) {
    case ValueType::u8:
      return std::uint64_t{cursor.read<std::uint8_t>()};
    case ValueType::i8:
      return std::int64_t{cursor.read<std::int8_t>()};
    case ValueType::u16:
      return std::uint64_t{cursor.read<std::uint16_t>()};
    case ValueType::i16:
      return std::int64_t{cursor.read<std::int16_t>()};
    case ValueType::u32:
      return std::uint64_t{cursor.read<std::uint32_t>()};
    case ValueType::i32:
      return std::int64_t{cursor.read<std::int32_t>()};
    case ValueType::u64:
      return cursor.read<std::uint64_t>();
    case ValueType::i64:
      return cursor.read<std::int64_t>();
    case ValueType::f32:
      return double{cursor.read<float>()};
    case ValueType::f64:
      return cursor.read<double>();
    case ValueType::boolean: {
      const auto byte = cursor.read<std::uint8_t>();
      if (byte > 1) throw cursor.error("has a boolean that is neither 0 nor 1");
      return byte == 1;
    }
    case ValueType::string:
      return std::string(cursor.string(cursor.remaining()));
    case ValueType::array:
      break;
  }
  throw cursor.error("has an array within an array", "this reader knows no use of nested arrays; write the file anew");
}

double as_number(const GgufValue& value) {
  if (const auto* u = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*u);
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&value)) return *d;
  if (const auto* b = std::get_if<bool>(&value)) return *b ? 1 : 0;
  return std::nan("");
}

GgufValue read_value(Cursor& cursor) {
  const auto type = read_type(cursor);
  if (type != ValueType::array) return read_scalar(cursor, type);
  GgufArray array;
  const auto element = read_type(cursor);
  array.count = cursor.read<std::uint64_t>();
  // A string takes at least its length field.
  const std::uint64_t least = element == ValueType::string ? 8 : std::max<std::size_t>(1, value_size(element));
  if (array.count > cursor.remaining() / least)
    throw cursor.error(fmt::format("has an array of {} entries, more than the file can hold", array.count));
  if (element == ValueType::string) {
    for (std::uint64_t i = 0; i < array.count; ++i) (void)cursor.string(cursor.remaining());
  } else if (element == ValueType::array || array.count <= GgufFile::kKeptArray) {
    for (std::uint64_t i = 0; i < array.count; ++i) array.numbers.push_back(as_number(read_scalar(cursor, element)));
  } else {
    (void)cursor.take(array.count * value_size(element));
  }
  return array;
}

std::uint64_t read_alignment(const std::string& file, const std::optional<std::int64_t>& stored) {
  const auto alignment = static_cast<std::uint64_t>(stored.value_or(static_cast<std::int64_t>(kDefaultAlignment)));
  if (!std::has_single_bit(alignment))
    throw bad_input(file + ": general.alignment", fmt::format("{} is not a power of two", alignment), kFetchAgain);
  return alignment;
}

struct DirectoryEntry {
  GgufTensor tensor;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

DirectoryEntry read_entry(Cursor& cursor, std::uint64_t index) {
  DirectoryEntry entry;
  cursor.set_place(fmt::format("tensor {} of the directory", index));
  entry.tensor.name = cursor.string(kLongestName);
  cursor.set_place("tensor '" + entry.tensor.name + "'");
  const auto dimensions = cursor.read<std::uint32_t>();
  if (dimensions < 1 || dimensions > kMostDimensions) throw cursor.error(fmt::format("has {} dimensions", dimensions));
  std::uint64_t elements = 1;
  for (std::uint32_t d = 0; d < dimensions; ++d) {
    const auto size = cursor.read<std::uint64_t>();
    if (size == 0) throw cursor.error("has a dimension of size 0");
    // 2^56 elements exceed any file, and leave room for eight bytes an element.
    if (size > (std::uint64_t{1} << 56) / elements) throw cursor.error("is larger than any file");
    elements *= size;
    entry.tensor.shape.insert(entry.tensor.shape.begin(), static_cast<std::int64_t>(size));
  }
  const auto type = cursor.read<std::uint32_t>();
  entry.tensor.format = find_block_format(type);
  if (entry.tensor.format == nullptr)
    throw cursor.error(fmt::format("is stored as {} (type {}), which is not supported", ggml_type_name(type), type),
                       fmt::format("use a file with these formats only: {}", readable_formats()));
  const BlockFormat& format = *entry.tensor.format;
  if (static_cast<std::uint64_t>(entry.tensor.shape.back()) % format.values != 0)
    throw cursor.error(fmt::format("has rows of {} values, which {} cannot store in blocks of {}",
                                   entry.tensor.shape.back(), format.name, format.values));
  entry.size = elements / format.values * format.bytes;
  entry.offset = cursor.read<std::uint64_t>();
  return entry;
}

void check_overlaps(const std::string& file, std::vector<DirectoryEntry>& entries) {
  std::ranges::sort(entries, {}, &DirectoryEntry::offset);
  for (std::size_t i = 1; i < entries.size(); ++i)
    if (entries[i].offset - entries[i - 1].offset < entries[i - 1].size)
      throw bad_input(file + ": tensor '" + entries[i].tensor.name + "'",
                      "overlaps tensor '" + entries[i - 1].tensor.name + "'", kFetchAgain);
}

}  // namespace

GgufFile::GgufFile(std::span<const std::byte> bytes, std::string file) : file_(std::move(file)) {
  static_assert(std::endian::native == std::endian::little, "GGUF is read as it lies in memory");
  Cursor cursor(bytes, file_);
  if (bytes.size() < 4 || std::memcmp(bytes.data(), "GGUF", 4) != 0)
    throw bad_input(file_, "is not a GGUF file (it does not begin with 'GGUF')", "give a .gguf model");
  (void)cursor.take(4);
  const auto version = cursor.read<std::uint32_t>();
  if (version != 2 && version != 3) {
    const bool swapped = version == 0x02000000u || version == 0x03000000u;
    throw bad_input(file_, swapped ? "is big-endian" : fmt::format("has GGUF version {}; 2 and 3 are known", version),
                    "convert it with a current llama.cpp");
  }
  const auto tensor_count = cursor.read<std::uint64_t>();
  const auto key_count = cursor.read<std::uint64_t>();
  // Smallest entries: key with length, type and one byte; tensor with length, count, one dimension, type and offset.
  if (key_count > cursor.remaining() / 13 || tensor_count > cursor.remaining() / 32)
    throw bad_input(file_, fmt::format("claims {} keys and {} tensors, more than it can hold", key_count, tensor_count),
                    kFetchAgain);

  for (std::uint64_t i = 0; i < key_count; ++i) {
    cursor.set_place(fmt::format("metadata entry {}", i));
    std::string key(cursor.string(kLongestName));
    cursor.set_place("metadata key '" + key + "'");
    auto value = read_value(cursor);
    if (!metadata_.emplace(std::move(key), std::move(value)).second) throw cursor.error("occurs twice");
  }
  const auto alignment = read_alignment(file_, integer("general.alignment", 1, 1 << 20));

  std::vector<DirectoryEntry> entries;
  entries.reserve(tensor_count);
  for (std::uint64_t i = 0; i < tensor_count; ++i) entries.push_back(read_entry(cursor, i));

  const std::uint64_t begin =
      std::min<std::uint64_t>((cursor.position() + alignment - 1) / alignment * alignment, bytes.size());
  const auto data = bytes.subspan(begin);
  for (auto& entry : entries) {
    cursor.set_place("tensor '" + entry.tensor.name + "'");
    if (entry.offset % alignment != 0)
      throw cursor.error(fmt::format("begins at offset {}, not a multiple of {}", entry.offset, alignment));
    if (entry.offset > data.size() || entry.size > data.size() - entry.offset)
      throw cursor.error(
          fmt::format("needs bytes {} to {} of {}", entry.offset, entry.offset + entry.size, data.size()));
    entry.tensor.bytes = data.subspan(entry.offset, entry.size);
  }
  check_overlaps(file_, entries);
  for (auto& entry : entries) tensors_.push_back(std::move(entry.tensor));
  std::ranges::sort(tensors_, {}, &GgufTensor::name);
  const auto twice = std::ranges::adjacent_find(tensors_, {}, &GgufTensor::name);
  if (twice != tensors_.end())
    throw bad_input(file_ + ": tensor '" + twice->name + "'", "is listed twice", kFetchAgain);
}

const GgufTensor* GgufFile::find(std::string_view name) const {
  const auto it = std::ranges::lower_bound(tensors_, name, {}, &GgufTensor::name);
  return it != tensors_.end() && it->name == name ? &*it : nullptr;
}

std::optional<std::int64_t> GgufFile::integer(std::string_view key, std::int64_t low, std::int64_t high) const {
  const auto it = metadata_.find(key);
  if (it == metadata_.end()) return std::nullopt;
  const std::string where = file_ + ": metadata key '" + std::string(key) + "'";
  std::optional<std::int64_t> value;
  if (const auto* u = std::get_if<std::uint64_t>(&it->second); u != nullptr && *u <= std::uint64_t(INT64_MAX))
    value = static_cast<std::int64_t>(*u);
  if (const auto* i = std::get_if<std::int64_t>(&it->second)) value = *i;
  if (!value) throw bad_input(where, "is not a whole number", kFetchAgain);
  if (*value < low || *value > high)
    throw bad_input(where, fmt::format("is {}, outside {} to {}", *value, low, high), kFetchAgain);
  return value;
}

std::optional<double> GgufFile::number(std::string_view key) const {
  const auto it = metadata_.find(key);
  if (it == metadata_.end()) return std::nullopt;
  const double value = as_number(it->second);
  if (!std::isfinite(value) || std::holds_alternative<bool>(it->second))
    throw bad_input(file_ + ": metadata key '" + std::string(key) + "'", "is not a finite number", kFetchAgain);
  return value;
}

std::optional<std::string> GgufFile::text(std::string_view key) const {
  const auto it = metadata_.find(key);
  if (it == metadata_.end()) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(&it->second)) return *text;
  throw bad_input(file_ + ": metadata key '" + std::string(key) + "'", "is not a string", kFetchAgain);
}

std::optional<bool> GgufFile::boolean(std::string_view key) const {
  const auto it = metadata_.find(key);
  if (it == metadata_.end()) return std::nullopt;
  if (const auto* value = std::get_if<bool>(&it->second)) return *value;
  throw bad_input(file_ + ": metadata key '" + std::string(key) + "'", "is not a boolean", kFetchAgain);
}

std::optional<std::vector<double>> GgufFile::numbers(std::string_view key) const {
  const auto it = metadata_.find(key);
  if (it == metadata_.end()) return std::nullopt;
  if (const auto* array = std::get_if<GgufArray>(&it->second)) {
    if (array->numbers.size() == array->count) return array->numbers;
  } else if (!std::holds_alternative<std::string>(it->second)) {
    return std::vector<double>{as_number(it->second)};
  }
  throw bad_input(file_ + ": metadata key '" + std::string(key) + "'", "is not a list of numbers", kFetchAgain);
}

}  // namespace difr::gpu
