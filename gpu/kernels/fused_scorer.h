#pragma once
// Evidence and Token-DiFR races of whole chunks of logits rows in one pass, on a CUDA device or by a twin of the same
// algorithm on the CPU (method: DESIGN §3; filters: docs/sampling.md). No CUDA types here.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/sampling/filter.h"
#include "core/scoring/token_race.h"
#include "gpu/kernels/passes.h"

namespace difr::gpu::kernels {

enum class LogitsDtype : std::uint8_t { fp32, bf16 };

/// rows x vocab raw logits of the reference, `stride` entries apart. They must stay as they are until collect() has
/// returned the chunk. Host rows suit every scorer; device rows (the scorer's own device) only the CUDA one.
struct LogitsChunk {
  const void* data = nullptr;
  int rows = 0;
  int vocab = 0;
  std::int64_t stride = 0;
  LogitsDtype dtype = LogitsDtype::fp32;
  bool on_device = false;
  void* producer_stream = nullptr;  ///< cudaStream_t that writes device rows; null: the default stream
};

/// What is wanted of one row.
struct RowJob {
  TokenId claimed = 0;
  bool race = true;          ///< false: evidence and filters alone (no seed)
  NoiseState noise;          ///< kind none: greedy
  double temperature = 1.0;  ///< > 0; divides the logits in fp32, as engines do
  FilterPlan filters;
};

/// Of one row. `race` is in units of logit / T + noise.
struct FusedRow {
  bool refused = false;  ///< NaN, +inf or nothing finite in the row: nothing else holds
  float claimed_logit = 0.0F;
  double log_sum_exp = 0.0;
  int claimed_rank = 0;  ///< entries with a strictly larger logit
  FilterCut cut;
  Race race;
};

/// Rows in the order of the jobs; top_ids and top_logits are rows x top_m, descending, lower id first on ties.
struct FusedChunk {
  int top_m = 0;
  std::vector<FusedRow> rows;
  std::vector<TokenId> top_ids;
  std::vector<float> top_logits;

  [[nodiscard]] std::span<const TokenId> ids(std::size_t row) const;
  [[nodiscard]] std::span<const float> logits(std::size_t row) const;
};

struct FusedOptions {
  int top_m = 128;            ///< 1..kMaxTopM; a narrower vocabulary keeps all of its entries
  FilterTolerance tolerance;  ///< of the filters' cuts
};

class KernelBackend;

/// Two chunks may be in flight: submit the next before collecting the last, and a device copies one while it scores the
/// other. Not thread-safe.
class FusedScorer {
 public:
  /// Throws difr::Error (usage) for a top_m out of range.
  FusedScorer(std::unique_ptr<KernelBackend> backend, const FusedOptions& options);
  ~FusedScorer();
  FusedScorer(FusedScorer&&) noexcept;

  static constexpr int kSlots = 2;
  /// One job per row. Throws difr::Error: bad_input for a claimed id outside the row, usage when kSlots chunks wait.
  void submit(const LogitsChunk& chunk, std::span<const RowJob> jobs);
  /// The oldest chunk submitted. Throws difr::Error (environment) when the device fails.
  [[nodiscard]] FusedChunk collect();
  [[nodiscard]] int pending() const { return pending_; }

 private:
  struct Flight {
    LogitsChunk chunk;
    std::vector<RowJob> jobs;
  };
  void place_cuts(int slot, FusedChunk& out, std::span<const RowReport> reports);
  void search_cuts(int slot, FusedChunk& out, std::span<const RowReport> reports, double factor,
                   std::vector<std::size_t>& open);
  void race_filtered(int slot, FusedChunk& out);

  std::unique_ptr<KernelBackend> backend_;
  FusedOptions options_;
  std::vector<Flight> flights_;
  int oldest_ = 0;
  int pending_ = 0;
};

/// The kernels' own algorithm, block by block and thread by thread, on one CPU thread: what every machine can test.
[[nodiscard]] FusedScorer make_twin_scorer(const FusedOptions& options);
/// Whether this build has the kernels and this machine a device they run on.
[[nodiscard]] bool cuda_scorer_available();
/// Throws difr::Error (environment) when there is no such device, or the build has no CUDA.
[[nodiscard]] FusedScorer make_cuda_scorer(const FusedOptions& options, int device = 0);

}  // namespace difr::gpu::kernels
