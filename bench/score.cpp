// Whole Token-DiFR scoring of rows of fp32 logits at T = 1, with and without top-p, single thread.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <vector>

#include "core/scoring/token_difr.h"
#ifdef DIFR_RIVAL_TORCH
#include "rival.h"
#endif

namespace {

double score_seconds(const std::vector<float>& logits, int rows, int vocab, double top_p, const char* profile,
                     int repetitions) {
  difr::Claim claim;
  claim.seed = 42;
  claim.sampling.top_p = top_p;
  std::mt19937 ids(7);
  for (int r = 0; r < rows; ++r)
    claim.output.push_back(static_cast<difr::TokenId>(ids() % static_cast<unsigned>(vocab)));
  std::vector<double> runs;
  for (int i = 0; i < repetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    difr::RowScorer scorer(claim, *difr::find_profile(profile), vocab, {.noise_sigma = 0.02});
    for (int r = 0; r < rows; ++r) {
      scorer.add({logits.data() + static_cast<std::size_t>(r) * static_cast<std::size_t>(vocab),
                  static_cast<std::size_t>(vocab)});
    }
    runs.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::nth_element(runs, runs.begin() + repetitions / 2);
  return runs[static_cast<std::size_t>(repetitions / 2)];
}

}  // namespace

int main(int argc, char** argv) {
  const int rows = argc > 1 ? std::atoi(argv[1]) : 64, vocab = 128256, repetitions = 3;
  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0.0F, 2.5F);
  std::vector<float> logits(static_cast<std::size_t>(rows) * static_cast<std::size_t>(vocab));
  for (float& z : logits) z = normal(generator);
  std::string cases;
  for (const double top_p : {1.0, 0.95}) {
    double rival = 0.0;
#ifdef DIFR_RIVAL_TORCH
    rival = rival_score_seconds(logits, rows, vocab, top_p, repetitions);
#endif
    for (const char* profile : {"vllm-cpu-splitmix64", "torch-cpu-exponential"}) {
      const double own = score_seconds(logits, rows, vocab, top_p, profile, repetitions);
      cases += fmt::format(
          "{}{{\"profile\":\"{}\",\"top_p\":{},\"ms_per_row\":{:.4f},\"rival_ms_per_row\":{:.4f},\"times_rival\":{:.2f}"
          "}}",
          cases.empty() ? "" : ",", profile, top_p, 1e3 * own / rows, 1e3 * rival / rows, rival / own);
    }
  }
  fmt::print("{{\"schema_version\":1,\"bench\":\"score\",\"rows\":{},\"vocab\":{},\"threads\":1,\"cases\":[{}]}}\n",
             rows, vocab, cases);
  return 0;
}
