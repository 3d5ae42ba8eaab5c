#include "core/fingerprint/torch_randn.h"

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace difr {

namespace {

constexpr std::size_t kBlock = 16;

class Uniforms {
 public:
  explicit Uniforms(std::uint64_t seed) : engine_(static_cast<std::uint32_t>(seed)) {}
  /// 24 random bits of one word.
  double narrow() { return (engine_() & 0xFFFFFFu) * 0x1p-24; }
  /// 53 random bits of two words, the high word drawn first.
  double wide() {
    const std::uint64_t high = engine_();
    const std::uint64_t low = engine_();
    return static_cast<double>(((high << 32) | low) & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
  }

 private:
  std::mt19937 engine_;
};

/// In place: 16 uniforms to 16 normals.
template <typename T>
void box_muller(T* block) {
  for (std::size_t j = 0; j < kBlock / 2; ++j) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - static_cast<double>(block[j])));
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(block[j + kBlock / 2]);
    block[j] = static_cast<T>(radius * std::cos(angle));
    block[j + kBlock / 2] = static_cast<T>(radius * std::sin(angle));
  }
}

template <typename T, typename Draw>
std::vector<T> blocks(Uniforms& uniforms, std::size_t count, Draw draw) {
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(draw(uniforms));
  for (std::size_t i = 0; i + kBlock <= count; i += kBlock) box_muller(values.data() + i);
  if (count % kBlock != 0) {
    // Torch redraws the last 16 values as a whole.
    T* const tail = values.data() + count - kBlock;
    for (std::size_t j = 0; j < kBlock; ++j) tail[j] = static_cast<T>(draw(uniforms));
    box_muller(tail);
  }
  return values;
}

/// Fewer than 16 values come one by one from pairs of doubles, whatever the dtype.
template <typename T>
std::vector<T> few(Uniforms& uniforms, std::size_t count) {
  std::vector<T> values;
  while (values.size() < count) {
    const double turn = uniforms.wide();
    const double radius = std::sqrt(-2.0 * std::log1p(-uniforms.wide()));
    const double angle = 2.0 * std::numbers::pi * turn;
    values.push_back(static_cast<T>(radius * std::cos(angle)));
    if (values.size() < count) values.push_back(static_cast<T>(radius * std::sin(angle)));
  }
  return values;
}

}  // namespace

std::vector<float> torch_randn_fp32(std::uint64_t seed, std::size_t count) {
  Uniforms uniforms(seed);
  if (count < kBlock) return few<float>(uniforms, count);
  return blocks<float>(uniforms, count, [](Uniforms& u) { return u.narrow(); });
}

std::vector<double> torch_randn_fp64(std::uint64_t seed, std::size_t count) {
  Uniforms uniforms(seed);
  if (count < kBlock) return few<double>(uniforms, count);
  return blocks<double>(uniforms, count, [](Uniforms& u) { return u.wide(); });
}

}  // namespace difr
