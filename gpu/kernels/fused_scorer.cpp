#include "gpu/kernels/fused_scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "core/util/error.h"
#include "gpu/kernels/backend.h"

namespace difr::gpu::kernels {
namespace {

/// Logits beyond the tolerance, so that the window also holds the neighbours of the cut.
constexpr double kSlack = 1.0 / 32.0;

RowTask first_task(const RowJob& job, int row) {
  RowTask task;
  task.row = row;
  task.claimed = job.claimed;
  task.noise = job.noise;
  task.divisor = static_cast<float>(job.temperature);
  // A filtered race waits for its cut; what the cut needs is gathered on the way.
  task.race = job.race && !job.filters.active();
  if (job.filters.active()) task.filter_inverse_t = 1.0 / job.filters.temperature;
  return task;
}

/// The top M as the filters see them.
class Head {
 public:
  Head(const FilterPlan& plan, const RowReport& report, std::span<const float> top) {
    for (const float x : top) {
      if (is_finite(x)) values_.push_back(x);
    }
    head_.values = values_;
    head_.rest_count = static_cast<std::size_t>(report.finite) - values_.size();
    if (!plan.active()) return;
    head_.rest_mass = report.mass;
    head_.rest_square = report.square;
    for (const double x : values_) {
      const double weight = std::exp((x - values_[0]) / plan.temperature);
      head_.rest_mass -= weight;
      head_.rest_square -= weight * weight;
    }
    // The difference of nearly equal sums may fall below what it stands for.
    head_.rest_mass = head_.rest_count == 0 ? 0.0 : std::max(head_.rest_mass, 0.0);
    head_.rest_square = head_.rest_count == 0 ? 0.0 : std::max(head_.rest_square, 0.0);
  }
  [[nodiscard]] const RowHead& get() const { return head_; }

 private:
  std::vector<double> values_;
  RowHead head_;
};

FilterCut cut_with(const FilterPlan& plan, const FilterTolerance& tolerance, const RowHead& head,
                   const RowReport& report) {
  ClaimedEntry claimed{report.claimed_logit, std::nullopt};
  if (claimed.value < head.values.back()) claimed.mass_above = report.mass_above_claimed;
  return cut_row(plan, tolerance, head, claimed);
}

/// One stage alone can be looked for by radix select; filters that build on each other need more of the row.
bool searchable(const FilterPlan& plan) {
  return plan.min_p == 0.0 && (plan.top_k > 0) != (plan.top_p < 1.0);
}

}  // namespace

std::span<const TokenId> FusedChunk::ids(std::size_t row) const {
  const auto m = static_cast<std::size_t>(top_m);
  return std::span(top_ids).subspan(row * m, m);
}
std::span<const float> FusedChunk::logits(std::size_t row) const {
  const auto m = static_cast<std::size_t>(top_m);
  return std::span(top_logits).subspan(row * m, m);
}

FusedScorer::FusedScorer(std::unique_ptr<KernelBackend> backend, const FusedOptions& options)
    : backend_(std::move(backend)), options_(options), flights_(kSlots) {
  if (options.top_m < 1 || options.top_m > kMaxTopM) {
    throw Error(ExitCode::usage, "top_m", fmt::format("must lie in 1..{}", kMaxTopM), "128 is the usual choice");
  }
}
FusedScorer::~FusedScorer() = default;
FusedScorer::FusedScorer(FusedScorer&&) noexcept = default;

void FusedScorer::submit(const LogitsChunk& chunk, std::span<const RowJob> jobs) {
  if (pending_ == kSlots) throw Error(ExitCode::usage, "logits", "two chunks are in flight", "collect one first");
  if (jobs.size() != static_cast<std::size_t>(chunk.rows) || chunk.vocab < 1 || chunk.stride < chunk.vocab) {
    throw bad_input("logits", fmt::format("a chunk of {} rows of {} entries, {} apart, for {} claimed tokens",
                                          chunk.rows, chunk.vocab, chunk.stride, jobs.size()));
  }
  std::vector<RowTask> tasks;
  for (const auto& job : jobs) {
    if (job.claimed < 0 || job.claimed >= chunk.vocab) {
      throw bad_input(fmt::format("token {}", job.claimed),
                      fmt::format("the claimed id is outside the reference's vocabulary of {}", chunk.vocab),
                      "check that the log and the reference model belong together");
    }
    tasks.push_back(first_task(job, static_cast<int>(tasks.size())));
  }
  const int slot = (oldest_ + pending_) % kSlots;
  backend_->start(slot, chunk, tasks, std::min(options_.top_m, chunk.vocab));
  flights_[static_cast<std::size_t>(slot)] = {chunk, {jobs.begin(), jobs.end()}};
  ++pending_;
}

namespace {

void take_race(FusedRow& row, const RowReport& report) {
  row.race.winner = report.winner;
  row.race.winner_score = report.winner_score;
  row.race.winner_at_edge = report.winner >= 0 && report.winner_logit < row.cut.sure_min;
  row.race.rival = report.rival;
  row.race.second_rival = report.second_rival;
  row.race.claimed = report.claimed_score;
  row.race.above_claimed = report.above_claimed_score;
}

}  // namespace

FusedChunk FusedScorer::collect() {
  if (pending_ == 0) throw Error(ExitCode::usage, "logits", "no chunk is in flight", "submit one first");
  const int slot = std::exchange(oldest_, (oldest_ + 1) % kSlots);
  --pending_;
  const auto& flight = flights_[static_cast<std::size_t>(slot)];
  const auto results = backend_->finish(slot);
  FusedChunk out;
  out.top_m = std::min(options_.top_m, flight.chunk.vocab);
  out.rows.resize(flight.jobs.size());
  out.top_ids.assign(results.top_ids.begin(), results.top_ids.end());
  out.top_logits.assign(results.top_logits.begin(), results.top_logits.end());
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    const RowReport& report = results.reports[i];
    FusedRow& row = out.rows[i];
    row.refused = report.unsound > 0 || report.finite == 0;
    row.claimed_logit = report.claimed_logit;
    row.log_sum_exp = static_cast<double>(report.largest) + std::log(report.sum);
    row.claimed_rank = report.above_claimed_logit;
  }
  place_cuts(slot, out, results.reports);
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    if (!flight.jobs[i].filters.active()) take_race(out.rows[i], results.reports[i]);
  }
  race_filtered(slot, out);
  return out;
}

void FusedScorer::place_cuts(int slot, FusedChunk& out, std::span<const RowReport> reports) {
  const auto& jobs = flights_[static_cast<std::size_t>(slot)].jobs;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (out.rows[i].refused) continue;
    const Head head(jobs[i].filters, reports[i], out.logits(i));
    out.rows[i].cut = cut_with(jobs[i].filters, options_.tolerance, head.get(), reports[i]);
    if (out.rows[i].cut.needs_more && head.get().rest_count > 0) open.push_back(i);
  }
  // Wide enough for the tolerance at the cut; once more, wider, for cuts with few entries around them.
  for (const double factor : {1.0, 4.0}) search_cuts(slot, out, reports, factor, open);
  // What is left is rare enough for a sort on the host.
  for (const std::size_t i : open) {
    std::vector<double> values;
    for (const float x : backend_->row(slot, static_cast<int>(i))) {
      if (is_finite(x)) values.push_back(x);
    }
    std::ranges::sort(values, std::greater<>{});
    out.rows[i].cut = cut_with(jobs[i].filters, options_.tolerance, {.values = values}, reports[i]);
  }
}

void FusedScorer::search_cuts(int slot, FusedChunk& out, std::span<const RowReport> reports, double factor,
                              std::vector<std::size_t>& open) {
  const auto& jobs = flights_[static_cast<std::size_t>(slot)].jobs;
  std::vector<CutTask> tasks;
  for (const std::size_t i : open) {
    const FilterPlan& plan = jobs[i].filters;
    if (!searchable(plan)) continue;
    const double reach = factor * (options_.tolerance.logits(reports[i].largest) + kSlack);
    tasks.push_back({static_cast<int>(i), plan.top_k, plan.top_p, 1.0 / plan.temperature, reports[i].largest, reach});
  }
  if (tasks.empty()) return;
  const auto found = backend_->search(slot, tasks);
  for (std::size_t n = 0; n < tasks.size(); ++n) {
    const CutReport& report = found.reports[n];
    if (report.window < 1 || report.window > kWindow) continue;
    const auto i = static_cast<std::size_t>(tasks[n].row);
    const auto window = found.windows.subspan(n * kWindow, static_cast<std::size_t>(report.window));
    const std::vector<double> values(window.begin(), window.end());
    const RowHead head{.values = values,
                       .rest_count = static_cast<std::size_t>(report.rest),
                       .rest_mass = report.rest_mass,
                       .rest_square = report.rest_square,
                       .above_count = static_cast<std::size_t>(report.above),
                       .above_mass = report.above_mass,
                       .above_square = report.above_square,
                       .top = tasks[n].largest};
    const auto cut = cut_with(jobs[i].filters, options_.tolerance, head, reports[i]);
    if (cut.needs_more) continue;
    out.rows[i].cut = cut;
    std::erase(open, i);
  }
}

void FusedScorer::race_filtered(int slot, FusedChunk& out) {
  const auto& jobs = flights_[static_cast<std::size_t>(slot)].jobs;
  std::vector<RowTask> tasks;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!jobs[i].race || !jobs[i].filters.active() || out.rows[i].refused) continue;
    RowTask task = first_task(jobs[i], static_cast<int>(i));
    task.summarise = false;
    task.race = true;
    task.filter_inverse_t = 0.0;
    task.keep_min = out.rows[i].cut.keep_min;
    task.sure_min = out.rows[i].cut.sure_min;
    tasks.push_back(task);
  }
  if (tasks.empty()) return;
  const auto raced = backend_->race(slot, tasks);
  for (std::size_t n = 0; n < tasks.size(); ++n) take_race(out.rows[static_cast<std::size_t>(tasks[n].row)], raced[n]);
}

FusedScorer make_twin_scorer(const FusedOptions& options) {
  return {make_twin_backend(), options};
}
FusedScorer make_cuda_scorer(const FusedOptions& options, int device) {
  return {make_cuda_backend(device), options};
}

}  // namespace difr::gpu::kernels
