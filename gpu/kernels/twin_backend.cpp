// The kernels' twin: the same text with a block whose threads run one after another.

#include <array>
#include <memory>
#include <utility>

#include "core/util/error.h"
#include "gpu/kernels/backend.h"
#include "gpu/kernels/cut_search.h"
#include "gpu/kernels/row_pass.h"

namespace difr::gpu::kernels {
namespace {

struct SerialBlock {
  template <class T>
  using Registers = std::array<T, kThreads>;

  template <class F>
  void each(F f) {
    for (int thread = 0; thread < kThreads; ++thread) f(thread);
  }
  template <class T>
  T uniform(const T& shared) {
    return shared;
  }
  template <class T>
  T add(T& shared, T amount) {
    return std::exchange(shared, shared + amount);
  }
};

class TwinBackend final : public KernelBackend {
 public:
  void start(int slot, const LogitsChunk& chunk, std::span<const RowTask> tasks, int top_m) override {
    if (chunk.on_device)
      throw Error(ExitCode::usage, "logits", "lie on a device", "copy them to the host, or score them there");
    Slot& s = slots_[static_cast<std::size_t>(slot)];
    s.chunk = chunk;
    s.reports.resize(tasks.size());
    s.top_ids.resize(tasks.size() * static_cast<std::size_t>(top_m));
    s.top_logits.resize(s.top_ids.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const std::size_t at = i * static_cast<std::size_t>(top_m);
      run(s, tasks[i], top_m, s.reports[i], s.top_ids.data() + at, s.top_logits.data() + at);
    }
  }
  RowResults finish(int slot) override {
    const Slot& s = slots_[static_cast<std::size_t>(slot)];
    return {s.reports, s.top_ids, s.top_logits};
  }
  CutResults search(int slot, std::span<const CutTask> tasks) override {
    Slot& s = slots_[static_cast<std::size_t>(slot)];
    s.cuts.resize(tasks.size());
    s.windows.resize(tasks.size() * kWindow);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      with_row(s.chunk, tasks[i].row, [&](const auto* row) {
        SerialBlock block;
        cut_search(block, *cut_shared_, row, s.chunk.vocab, tasks[i], s.cuts[i], s.windows.data() + i * kWindow);
      });
    }
    return {s.cuts, s.windows};
  }
  std::vector<RowReport> race(int slot, std::span<const RowTask> tasks) override {
    Slot& s = slots_[static_cast<std::size_t>(slot)];
    std::vector<RowReport> reports(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) run(s, tasks[i], 0, reports[i], nullptr, nullptr);
    return reports;
  }
  std::vector<float> row(int slot, int row) override {
    const LogitsChunk& chunk = slots_[static_cast<std::size_t>(slot)].chunk;
    std::vector<float> out(static_cast<std::size_t>(chunk.vocab));
    with_row(chunk, row, [&](const auto* x) {
      for (float& value : out) value = logit_of(*x++);
    });
    return out;
  }

 private:
  struct Slot {
    LogitsChunk chunk;
    std::vector<RowReport> reports;
    std::vector<std::int32_t> top_ids;
    std::vector<float> top_logits;
    std::vector<CutReport> cuts;
    std::vector<float> windows;
  };

  template <class F>
  static void with_row(const LogitsChunk& chunk, int row, F f) {
    const std::int64_t at = row * chunk.stride;
    if (chunk.dtype == LogitsDtype::fp32) {
      f(static_cast<const float*>(chunk.data) + at);
    } else {
      f(static_cast<const Bf16*>(chunk.data) + at);
    }
  }
  void run(const Slot& s, const RowTask& task, int top_m, RowReport& report, std::int32_t* ids, float* logits) {
    with_row(s.chunk, task.row, [&](const auto* row) {
      SerialBlock block;
      row_pass(block, *row_shared_, row, s.chunk.vocab, task, top_m, report, ids, logits);
    });
  }

  std::array<Slot, FusedScorer::kSlots> slots_;
  std::unique_ptr<RowShared> row_shared_ = std::make_unique<RowShared>();
  std::unique_ptr<CutShared> cut_shared_ = std::make_unique<CutShared>();
};

}  // namespace

std::unique_ptr<KernelBackend> make_twin_backend() {
  return std::make_unique<TwinBackend>();
}

}  // namespace difr::gpu::kernels
