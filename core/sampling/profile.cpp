#include "core/sampling/profile.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/sampling/registry.h"

namespace difr {

std::span<const SamplerProfile> sampler_profiles() {
  static const std::vector<SamplerProfile> profiles = [] {
    std::vector<SamplerProfile> out;
    for (const auto& entry : registry()) out.push_back(entry.profile);
    return out;
  }();
  return profiles;
}

const SamplerProfile* find_profile(std::string_view id) {
  const auto profiles = sampler_profiles();
  const auto found = std::ranges::find(profiles, id, &SamplerProfile::id);
  return found == profiles.end() ? nullptr : &*found;
}

std::unique_ptr<NoiseSource> make_noise(const SamplerProfile& profile, const NoiseKey& key) {
  const auto found = std::ranges::find(registry(), profile.id, [](const RegistryEntry& e) { return e.profile.id; });
  return found == registry().end() || found->noise == nullptr ? nullptr : found->noise(key);
}

std::unique_ptr<UniformSource> make_uniform(const SamplerProfile& profile, const NoiseKey& key) {
  const auto found = std::ranges::find(registry(), profile.id, [](const RegistryEntry& e) { return e.profile.id; });
  return found == registry().end() || found->uniform == nullptr ? nullptr : found->uniform(key);
}

bool reproducible(const SamplerProfile& profile) {
  return profile.verification != Verification::not_reproducible;
}

const char* to_string(SamplerFamily family) {
  switch (family) {
    case SamplerFamily::greedy:
      return "greedy";
    case SamplerFamily::gumbel_max:
      return "gumbel-max";
    case SamplerFamily::inverse_cdf:
      return "inverse-cdf";
  }
  return "?";
}

const char* to_string(ProcessingOrder order) {
  switch (order) {
    case ProcessingOrder::vllm:
      return "vllm";
    case ProcessingOrder::hugging_face:
      return "hugging-face";
    case ProcessingOrder::llama_cpp:
      return "llama.cpp";
    case ProcessingOrder::mlx:
      return "mlx";
  }
  return "?";
}

const char* to_string(Verification verification) {
  switch (verification) {
    case Verification::real_logs:
      return "real logs";
    case Verification::golden_vectors:
      return "golden vectors";
    case Verification::emulated:
      return "emulated";
    case Verification::source_only:
      return "source only";
    case Verification::not_reproducible:
      return "not reproducible";
  }
  return "?";
}

void NoiseSource::at(int t, std::span<const TokenId> ids, std::span<double> out) {
  const auto highest = std::ranges::max_element(ids);
  if (highest == ids.end()) return;
  std::vector<double> g(static_cast<std::size_t>(*highest) + 1);
  row(t, g);
  for (std::size_t i = 0; i < ids.size(); ++i) out[i] = g[static_cast<std::size_t>(ids[i])];
}

double NoiseSource::upper_bound(int) {
  return std::numeric_limits<double>::infinity();
}
double NoiseSource::uncertainty(double) const {
  return 0.0;
}

}  // namespace difr
