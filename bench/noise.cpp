// Rows of noise per second for V = 151,936, single thread, each reproducible Gumbel profile.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/sampling/profile.h"
#ifdef DIFR_RIVAL_TORCH
#include "rival.h"
#endif

int main() {
  constexpr int kVocab = 151936, kRows = 15;
  double rival = 0.0;
#ifdef DIFR_RIVAL_TORCH
  rival = rival_noise_seconds(kVocab, kRows);
#endif
  std::string profiles;
  for (const auto& profile : difr::sampler_profiles()) {
    auto noise = difr::make_noise(profile, {.seed = 42, .prompt_len = 100, .vocab = kVocab});
    if (noise == nullptr) continue;
    std::vector<double> g(kVocab), runs;
    for (int t = 0; t < kRows; ++t) {
      const auto begin = std::chrono::steady_clock::now();
      noise->row(t, g);
      runs.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::ranges::nth_element(runs, runs.begin() + kRows / 2);
    const double median = runs[kRows / 2];
    profiles += fmt::format("{}\"{}\":{{\"rows_per_s\":{:.1f},\"ms_per_row\":{:.4f},\"times_rival\":{:.2f}}}",
                            profiles.empty() ? "" : ",", profile.id, 1.0 / median, 1e3 * median, rival / median);
  }
  fmt::print(
      "{{\"schema_version\":1,\"bench\":\"noise\",\"vocab\":{},\"threads\":1,\"rival_ms_per_row\":{:.4f},\"profiles\":{"
      "{{}}}}}\n",
      kVocab, 1e3 * rival, profiles);
  return 0;
}
