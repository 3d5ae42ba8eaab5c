#include "gpu/model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace difr::gpu {

namespace {

void scale_llama3(const RopeSpec& spec, std::vector<float>& frequencies) {
  const double low_wavelength = spec.original_positions / spec.low_freq_factor;
  const double high_wavelength = spec.original_positions / spec.high_freq_factor;
  for (auto& f : frequencies) {
    const double wavelength = 2 * std::numbers::pi / f;
    if (wavelength < high_wavelength) continue;
    if (wavelength > low_wavelength) {
      f = static_cast<float>(f / spec.factor);
      continue;
    }
    const double smooth =
        (spec.original_positions / wavelength - spec.low_freq_factor) / (spec.high_freq_factor - spec.low_freq_factor);
    f = static_cast<float>((1 - smooth) * f / spec.factor + smooth * f);
  }
}

double yarn_mscale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

/// Low dimensions keep their frequency, high ones are interpolated, with a linear ramp between.
float scale_yarn(const RopeSpec& spec, int head_dim, std::vector<float>& frequencies) {
  const auto dimension_of = [&](double rotations) {
    return head_dim * std::log(spec.original_positions / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(spec.theta));
  };
  double low = dimension_of(spec.beta_fast);
  double high = dimension_of(spec.beta_slow);
  if (spec.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, head_dim - 1.0);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    const double f = frequencies[i];
    frequencies[i] = static_cast<float>(f / spec.factor * ramp + f * (1 - ramp));
  }
  if (spec.attention_factor) return static_cast<float>(*spec.attention_factor);
  if (spec.mscale && spec.mscale_all_dim && *spec.mscale != 0 && *spec.mscale_all_dim != 0)
    return static_cast<float>(yarn_mscale(spec.factor, *spec.mscale) / yarn_mscale(spec.factor, *spec.mscale_all_dim));
  return static_cast<float>(yarn_mscale(spec.factor, 1.0));
}

}  // namespace

RopeTable make_rope(const RopeSpec& spec, int head_dim) {
  RopeTable table;
  for (int i = 0; i < head_dim; i += 2)
    table.inverse_frequency.push_back(
        static_cast<float>(1.0 / std::pow(spec.theta, static_cast<double>(i) / head_dim)));
  for (std::size_t i = 0; i < spec.frequency_divisors.size(); ++i)
    table.inverse_frequency.at(i) /= spec.frequency_divisors[i];
  switch (spec.kind) {
    case RopeKind::standard:
      break;
    case RopeKind::linear:
      for (auto& f : table.inverse_frequency) f = static_cast<float>(f / spec.factor);
      break;
    case RopeKind::llama3:
      scale_llama3(spec, table.inverse_frequency);
      break;
    case RopeKind::yarn:
      table.amplitude = scale_yarn(spec, head_dim, table.inverse_frequency);
      break;
  }
  return table;
}

void rope_row(const RopeTable& table, int position, float* cos, float* sin) {
  for (std::size_t i = 0; i < table.inverse_frequency.size(); ++i) {
    const float angle = static_cast<float>(position) * table.inverse_frequency[i];
    cos[i] = static_cast<float>(std::cos(static_cast<double>(angle))) * table.amplitude;
    sin[i] = static_cast<float>(std::sin(static_cast<double>(angle))) * table.amplitude;
  }
}

}  // namespace difr::gpu
