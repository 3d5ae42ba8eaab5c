#include "gpu/weights/gguf_blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace difr::gpu {

float half_bits_to_float(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t exponent = (bits >> 10) & 31u;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
float half_at(const std::byte* at) {
  return half_bits_to_float(load<std::uint16_t>(at));
}
unsigned byte_at(const std::byte* at) {
  return std::to_integer<unsigned>(*at);
}

void decode_f32(const std::byte* block, float* out) {
  *out = load<float>(block);
}
void decode_f16(const std::byte* block, float* out) {
  *out = half_at(block);
}
void decode_bf16(const std::byte* block, float* out) {
  *out = std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(block)} << 16);
}
void decode_f64(const std::byte* block, float* out) {
  *out = static_cast<float>(load<double>(block));
}

// 32 values; the low nibbles are the first half of the block, the high ones the second.
void decode_q4_0(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (int i = 0; i < 16; ++i) {
    const unsigned q = byte_at(block + 2 + i);
    out[i] = static_cast<float>(static_cast<int>(q & 15u) - 8) * d;
    out[i + 16] = static_cast<float>(static_cast<int>(q >> 4) - 8) * d;
  }
}

void decode_q4_1(const std::byte* block, float* out) {
  const float d = half_at(block);
  const float m = half_at(block + 2);
  for (int i = 0; i < 16; ++i) {
    const unsigned q = byte_at(block + 4 + i);
    out[i] = static_cast<float>(q & 15u) * d + m;
    out[i + 16] = static_cast<float>(q >> 4) * d + m;
  }
}

void decode_q5_0(const std::byte* block, float* out) {
  const float d = half_at(block);
  const auto high = load<std::uint32_t>(block + 2);
  for (int i = 0; i < 16; ++i) {
    const unsigned q = byte_at(block + 6 + i);
    out[i] = static_cast<float>(static_cast<int>((q & 15u) | (((high >> i) & 1u) << 4)) - 16) * d;
    out[i + 16] = static_cast<float>(static_cast<int>((q >> 4) | (((high >> (i + 16)) & 1u) << 4)) - 16) * d;
  }
}

void decode_q5_1(const std::byte* block, float* out) {
  const float d = half_at(block);
  const float m = half_at(block + 2);
  const auto high = load<std::uint32_t>(block + 4);
  for (int i = 0; i < 16; ++i) {
    const unsigned q = byte_at(block + 8 + i);
    out[i] = static_cast<float>((q & 15u) | (((high >> i) & 1u) << 4)) * d + m;
    out[i + 16] = static_cast<float>((q >> 4) | (((high >> (i + 16)) & 1u) << 4)) * d + m;
  }
}

void decode_q8_0(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(load<std::int8_t>(block + 2 + i)) * d;
}

struct ScaleMin {
  unsigned scale = 0;
  unsigned min = 0;
};

/// Eight 6-bit scales and eight 6-bit minima share 12 bytes: the upper four have their top two bits in the lower
/// four's.
ScaleMin scale_min(const std::byte* packed, int j) {
  if (j < 4) return {byte_at(packed + j) & 63u, byte_at(packed + j + 4) & 63u};
  const unsigned both = byte_at(packed + j + 4);
  return {(both & 15u) | ((byte_at(packed + j - 4) >> 6) << 4), (both >> 4) | ((byte_at(packed + j) >> 6) << 4)};
}

// 256 values in eight groups of 32; groups 2j and 2j+1 are the low and high nibbles of the same 32 bytes.
void decode_q4_k(const std::byte* block, float* out) {
  const float d = half_at(block);
  const float dmin = half_at(block + 2);
  const std::byte* const quants = block + 16;
  for (int j = 0; j < 8; ++j) {
    const auto [scale, min] = scale_min(block + 4, j);
    const float step = d * static_cast<float>(scale);
    const float low = dmin * static_cast<float>(min);
    for (int i = 0; i < 32; ++i) {
      const unsigned q = (byte_at(quants + (j / 2) * 32 + i) >> (4 * (j % 2))) & 15u;
      out[j * 32 + i] = step * static_cast<float>(q) - low;
    }
  }
}

// As Q4_K, with the fifth bits in 32 bytes, one bit plane a group.
void decode_q5_k(const std::byte* block, float* out) {
  const float d = half_at(block);
  const float dmin = half_at(block + 2);
  const std::byte* const high = block + 16;
  const std::byte* const quants = block + 48;
  for (int j = 0; j < 8; ++j) {
    const auto [scale, min] = scale_min(block + 4, j);
    const float step = d * static_cast<float>(scale);
    const float low = dmin * static_cast<float>(min);
    for (int i = 0; i < 32; ++i) {
      const unsigned nibble = (byte_at(quants + (j / 2) * 32 + i) >> (4 * (j % 2))) & 15u;
      const unsigned q = nibble | (((byte_at(high + i) >> j) & 1u) << 4);
      out[j * 32 + i] = step * static_cast<float>(q) - low;
    }
  }
}

// 256 values in two halves of four rows of 32: rows 0/2 and 1/3 share 32 bytes of nibbles each, all four share 32 bytes
// of upper bit pairs. Sixteen values share a signed 8-bit scale.
void decode_q6_k(const std::byte* block, float* out) {
  const float d = half_at(block + 208);
  for (int half = 0; half < 2; ++half) {
    const std::byte* const low = block + half * 64;
    const std::byte* const high = block + 128 + half * 32;
    const std::byte* const scales = block + 192 + half * 8;
    for (int row = 0; row < 4; ++row) {
      for (int i = 0; i < 32; ++i) {
        const unsigned nibble = (byte_at(low + (row % 2) * 32 + i) >> (4 * (row / 2))) & 15u;
        const unsigned q = nibble | (((byte_at(high + i) >> (2 * row)) & 3u) << 4);
        const float step = d * static_cast<float>(load<std::int8_t>(scales + 2 * row + i / 16));
        out[half * 128 + row * 32 + i] = step * static_cast<float>(static_cast<int>(q) - 32);
      }
    }
  }
}

constexpr std::array<BlockFormat, 12> kFormats{{
    {0, "F32", 1, 4, decode_f32},
    {1, "F16", 1, 2, decode_f16},
    {2, "Q4_0", 32, 18, decode_q4_0},
    {3, "Q4_1", 32, 20, decode_q4_1},
    {6, "Q5_0", 32, 22, decode_q5_0},
    {7, "Q5_1", 32, 24, decode_q5_1},
    {8, "Q8_0", 32, 34, decode_q8_0},
    {12, "Q4_K", 256, 144, decode_q4_k},
    {13, "Q5_K", 256, 176, decode_q5_k},
    {14, "Q6_K", 256, 210, decode_q6_k},
    {28, "F64", 1, 8, decode_f64},
    {30, "BF16", 1, 2, decode_bf16},
}};
constexpr std::size_t kLargestBlock = 256;

constexpr std::array<std::string_view, 40> kNames{
    "F32",    "F16",      "Q4_0",     "Q4_1",     "Q4_2",  "Q4_3",  "Q5_0",       "Q5_1",       "Q8_0",       "Q8_1",
    "Q2_K",   "Q3_K",     "Q4_K",     "Q5_K",     "Q6_K",  "Q8_K",  "IQ2_XXS",    "IQ2_XS",     "IQ3_XXS",    "IQ1_S",
    "IQ4_NL", "IQ3_S",    "IQ2_S",    "IQ4_XS",   "I8",    "I16",   "I32",        "I64",        "F64",        "IQ1_M",
    "BF16",   "Q4_0_4_4", "Q4_0_4_8", "Q4_0_8_8", "TQ1_0", "TQ2_0", "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4"};

}  // namespace

const BlockFormat* find_block_format(std::uint32_t id) {
  const auto it = std::ranges::find(kFormats, id, &BlockFormat::id);
  return it == kFormats.end() ? nullptr : &*it;
}

std::string_view ggml_type_name(std::uint32_t id) {
  return id < kNames.size() ? kNames[id] : std::string_view("of an unknown type");
}

std::string_view readable_formats() {
  return "F32, F16, BF16, F64, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K";
}

void dequantise(const BlockFormat& format, std::span<const std::byte> data, std::uint64_t first, std::span<float> out) {
  const std::uint64_t capacity = data.size() / format.bytes * format.values;
  if (first > capacity || out.size() > capacity - first)
    throw std::out_of_range("dequantise: range outside the tensor");
  std::array<float, kLargestBlock> scratch;
  const std::byte* block = data.data() + first / format.values * format.bytes;
  std::size_t skip = first % format.values;
  for (std::size_t done = 0; done < out.size(); block += format.bytes) {
    const std::size_t take = std::min(format.values - skip, out.size() - done);
    if (take == format.values) {
      format.decode(block, out.data() + done);
    } else {
      format.decode(block, scratch.data());
      std::copy_n(scratch.data() + skip, take, out.data() + done);
    }
    skip = 0;
    done += take;
  }
}

}  // namespace difr::gpu
