#pragma once
// Byte planes: the building block of every blob. Writers append, readers check the bounds.

#include <bit>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/util/error.h"
#include "core/util/zstd_codec.h"

namespace difr {

inline void put_integer(Bytes& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

/// Appends `width` planes of values.size() bytes each.
template <class Values, class ToBits>
void put_planes(Bytes& out, const Values& values, int width, ToBits to_bits) {
  const auto n = values.size();
  const auto start = out.size();
  out.resize(start + n * static_cast<std::size_t>(width));
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t bits = to_bits(values[i]);
    for (int plane = 0; plane < width; ++plane)
      out[start + static_cast<std::size_t>(plane) * n + i] = static_cast<std::uint8_t>(bits >> (8 * plane));
  }
}

inline void put_floats(Bytes& out, std::span<const float> values) {
  put_planes(out, values, 4, [](float v) { return std::bit_cast<std::uint32_t>(v); });
}

inline void put_ints(Bytes& out, std::span<const std::int32_t> values) {
  put_planes(out, values, 4, [](std::int32_t v) { return static_cast<std::uint32_t>(v); });
}

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  std::uint64_t integer(int bytes) {
    const auto part = take(static_cast<std::size_t>(bytes));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < part.size(); ++i) value |= std::uint64_t{part[i]} << (8 * i);
    return value;
  }

  template <class T, class FromBits>
  void planes(std::vector<T>& out, std::size_t n, int width, FromBits from_bits) {
    if (n > rest_.size()) throw damaged("shorter than its own header says");
    const auto part = take(n * static_cast<std::size_t>(width));
    out.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t bits = 0;
      for (int plane = 0; plane < width; ++plane)
        bits |= std::uint64_t{part[static_cast<std::size_t>(plane) * n + i]} << (8 * plane);
      out[i] = from_bits(bits);
    }
  }

  void floats(std::vector<float>& out, std::size_t n) {
    planes(out, n, 4, [](std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); });
  }
  void ints(std::vector<std::int32_t>& out, std::size_t n) {
    planes(out, n, 4, [](std::uint64_t bits) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)); });
  }

  std::span<const std::uint8_t> take(std::size_t bytes) {
    if (bytes > rest_.size()) throw damaged("shorter than its own header says");
    const auto part = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return part;
  }
  [[nodiscard]] std::span<const std::uint8_t> rest() const { return rest_; }
  void expect_end() const {
    if (!rest_.empty()) throw damaged("longer than its own header says");
  }

  static Error damaged(const char* why) {
    return bad_input("stored blob", why, "restore the case file from a copy, or recompute");
  }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace difr
