#include "gpu/model/quantise.h"

#include "core/util/error.h"

namespace difr::gpu {

namespace {

constexpr double kE4m3Max = 448;

}  // namespace

Quantiser parse_variant(std::string_view variant) {
  if (variant.empty()) return {};
  if (variant == "int4-g32") return {WeightRounding::int4, 32, false};
  if (variant == "int4-g128") return {WeightRounding::int4, 128, false};
  if (variant == "int8") return {WeightRounding::int8, 0, false};
  if (variant == "fp8") return {WeightRounding::fp8, 0, false};
  if (variant == "fp8-kv") return {WeightRounding::none, 0, true};
  throw Error(ExitCode::usage, "--variant", "unknown variant '" + std::string(variant) + "'",
              "use int4-g32, int4-g128, int8, fp8 or fp8-kv");
}

at::Tensor round_e4m3(const at::Tensor& x) {
  const auto wide = x.to(at::kFloat).clamp(-kE4m3Max, kE4m3Max);
  // 3 mantissa bits: the step is 2^(e-3), and 2^-9 below the smallest normal 2^-6.
  const auto exponent = std::get<1>(at::frexp(wide)) - 1;
  const auto step = at::ldexp(at::ones_like(wide), exponent.clamp_min(-6) - 3);
  return (at::round(wide / step) * step).to(x.scalar_type());
}

at::Tensor quantise(const at::Tensor& weight, const Quantiser& quantiser) {
  if (quantiser.rounding == WeightRounding::none) return weight;
  const auto columns = weight.size(1);
  // A last group shorter than the others has a scale of its own, as if padded with zeros.
  const std::int64_t group = quantiser.group == 0 ? columns : quantiser.group;
  const auto padding = (group - columns % group) % group;
  const auto padded = padding == 0 ? weight : at::constant_pad_nd(weight, {0, padding});
  const auto grouped = padded.reshape({weight.size(0), -1, group});
  const auto largest = grouped.abs().amax(-1, true);
  double top = kE4m3Max;
  if (quantiser.rounding == WeightRounding::int4) top = 7;
  if (quantiser.rounding == WeightRounding::int8) top = 127;
  const auto scale = at::where(largest > 0, largest / top, at::ones_like(largest));
  const auto scaled = grouped / scale;
  const auto rounded =
      quantiser.rounding == WeightRounding::fp8 ? round_e4m3(scaled) : at::round(scaled).clamp(-top, top);
  return (rounded * scale).reshape(padded.sizes()).narrow(1, 0, columns).contiguous();
}

}  // namespace difr::gpu
