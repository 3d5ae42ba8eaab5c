#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <sched.h>
#include <torch/version.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "core/util/error.h"
#include "core/util/version.h"
#include "gpu/engine/group_decoder.h"
#include "gpu/engine/packer.h"
#include "gpu/model/cpu_backend.h"
#include "gpu/model/decoder.h"
#include "gpu/model/open_model.h"
#include "gpu/reference_engine.h"

namespace difr::gpu {

namespace {

/// Logits held at a time by all threads together (128 MiB), but at least 32 rows each.
constexpr std::int64_t kLogitBlock = std::int64_t{1} << 25;
constexpr int kSmallestPass = 256;
constexpr int kPassesPerThread = 4;
/// Logits of all sequences of a group are held at once.
constexpr int kLargestGroup = 256;

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

at::Device parse_device(const std::string& name) {
  try {
    const at::Device device(name);
    if (device.is_cpu()) return device;
    if (device.is_cuda()) {
      if (!at::hasCUDA())
        throw environment_error("--device " + name, "this LibTorch has no CUDA",
                                "use --device cpu, or build with a CUDA LibTorch");
      return device;
    }
  } catch (const c10::Error&) {
  }
  throw Error(ExitCode::usage, "--device", "unknown device '" + name + "'", "use cpu, cuda or cuda:N");
}

Numerics numerics_for(Dtype dtype, at::Device device) {
  switch (dtype) {
    case Dtype::fp32:
      return {at::kFloat, false};
    case Dtype::bf16:
      return {at::kBFloat16, false};
    case Dtype::fp16:
      break;
  }
  if (device.is_cpu()) return {at::kFloat, true};
  return {at::kHalf, false};
}

ModelInfo describe(const OpenedModel& model, bool digest) {
  ModelInfo info;
  info.name = model.config.name;
  info.architecture = model.config.architecture;
  info.vocab = model.config.vocab;
  info.hidden = model.config.hidden;
  info.layers = static_cast<int>(model.config.layers.size());
  info.max_positions = model.config.max_positions;
  for (const auto& tensor : model.weights->tensors()) {
    info.parameters += tensor.elements();
    info.weight_bytes += static_cast<std::int64_t>(tensor.bytes.size());
  }
  if (digest) info.weights_digest = weights_digest(*model.weights);
  return info;
}

class LocalEngine final : public ReferenceEngine {
 public:
  LocalEngine(ModelInfo info, ReferenceEnvironment environment, Decoder decoder)
      : info_(std::move(info)), environment_(std::move(environment)), decoder_(std::move(decoder)) {}

  [[nodiscard]] const ModelInfo& info() const override { return info_; }
  [[nodiscard]] ReferenceEnvironment environment() const override { return environment_; }
  [[nodiscard]] const EngineDiagnostics& diagnostics() const override { return diagnostics_; }

  void score(std::span<const Sequence> sequences, const RowSink& sink, std::stop_token stop,
             bool want_hidden) override {
    check(sequences);
    run_passes(plan(sequences), sink, stop, want_hidden);
  }

  void generate(std::span<const std::span<const TokenId>> prompts, const GenerateLimits& limits, const NextToken& next,
                std::stop_token stop) override {
    if (limits.group < 1 || limits.group > kLargestGroup)
      throw Error(ExitCode::usage, "--group", fmt::format("must lie in 1..{}", kLargestGroup), "use 16");
    std::vector<Sequence> sequences;
    for (const auto prompt : prompts) sequences.push_back({prompt, {}});
    check(sequences);
    for (std::size_t i = 0; i < prompts.size(); ++i)
      if (prompts[i].size() > static_cast<std::size_t>(info_.max_positions))
        throw bad_input("sequence " + std::to_string(i),
                        fmt::format("has {} prompt tokens, more than the model's {} positions", prompts[i].size(),
                                    info_.max_positions),
                        "leave the request out");
    const auto group = static_cast<std::size_t>(limits.group);
    spread((prompts.size() + group - 1) / group, stop, [&](std::size_t g, int) {
      const std::size_t first = g * group;
      run_group(prompts.subspan(first, std::min(group, prompts.size() - first)), first, limits, next, stop);
    });
  }

 private:
  void check(std::span<const Sequence> sequences) const {
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const std::string where = "sequence " + std::to_string(i);
      if (sequences[i].prompt.empty())
        throw bad_input(where, "has an empty prompt",
                        "the first output token has nothing to be predicted from: leave the request out");
      for (const auto part : {sequences[i].prompt, sequences[i].output})
        for (const auto id : part)
          if (id < 0 || id >= info_.vocab)
            throw bad_input(where, fmt::format("holds token id {} outside 0..{}", id, info_.vocab - 1),
                            "the log was made with another tokenizer or model");
    }
  }

  /// Passes small enough that every thread gets some, and large enough that the matrices pay.
  [[nodiscard]] std::vector<PackedPlan> plan(std::span<const Sequence> sequences) const {
    std::int64_t total = 0;
    for (const auto& s : sequences) total += static_cast<std::int64_t>(s.prompt.size() + s.output.size());
    const std::int64_t share = total / (std::int64_t{kPassesPerThread} * environment_.threads);
    const auto rows =
        std::clamp<std::int64_t>(share, std::min(kSmallestPass, environment_.batch_tokens), environment_.batch_tokens);
    Packer packer(sequences, static_cast<int>(rows));
    std::vector<PackedPlan> plans;
    while (auto next = packer.next()) plans.push_back(std::move(*next));
    std::ranges::stable_sort(plans, std::greater<>{}, [](const PackedPlan& p) { return p.tokens.size(); });
    return plans;
  }

  /// Threads take whole passes, so that they never wait for each other inside a layer. Only when there are fewer passes
  /// than threads do several threads share one.
  void run_passes(const std::vector<PackedPlan>& plans, const RowSink& sink, const std::stop_token& stop,
                  bool want_hidden) {
    std::mutex guard;
    const RowSink serial = [&](std::size_t sequence, int first, int rows, std::span<const float> logits,
                               std::span<const float> hidden) {
      const std::lock_guard lock(guard);
      sink(sequence, first, rows, logits, hidden);
    };
    spread(plans.size(), stop,
           [&](std::size_t i, int workers) { run(plans[i], workers, serial, stop, want_hidden); });
  }

  /// Calls task(i, workers) for every i, from `workers` threads.
  void spread(std::size_t tasks, const std::stop_token& stop, const std::function<void(std::size_t, int)>& task) {
    const int most = decoder_.options().device.is_cpu() ? environment_.threads : 1;
    const int workers = static_cast<int>(std::clamp<std::size_t>(tasks, 1, static_cast<std::size_t>(most)));
    const int inner = std::max(1, environment_.threads / workers);
    set_blas_threads(inner);
    std::atomic<std::size_t> next{0};
    std::exception_ptr failed;
    std::mutex failed_guard;
    const auto work = [&] {
      try {
        const c10::InferenceMode inference;
        at::set_num_threads(inner);
        for (std::size_t i = next++; i < tasks && !stop.stop_requested(); i = next++) task(i, workers);
      } catch (...) {
        const std::lock_guard lock(failed_guard);
        failed = std::current_exception();
        next = tasks;
      }
    };
    {
      std::vector<std::jthread> helpers;
      for (int i = 1; i < workers; ++i) helpers.emplace_back(work);
      work();
    }
    if (failed) std::rethrow_exception(failed);
  }

  void run_group(std::span<const std::span<const TokenId>> prompts, std::size_t first, const GenerateLimits& limits,
                 const NextToken& next, const std::stop_token& stop) {
    GroupDecoder group(decoder_, prompts, limits.max_tokens, environment_.batch_tokens);
    auto normed = group.prefill();
    while (!group.active().empty() && !stop.stop_requested()) {
      const auto logits = decoder_.logits(normed).cpu().contiguous();
      const auto hidden = normed.to(at::kFloat).cpu().contiguous();
      std::vector<std::optional<TokenId>> chosen;
      for (std::size_t row = 0; row < group.active().size(); ++row) {
        const auto view = [&](const at::Tensor& t) {
          const auto width = static_cast<std::size_t>(t.size(1));
          return std::span<const float>(t.data_ptr<float>() + row * width, width);
        };
        const auto index = group.active()[row];
        chosen.push_back(next(first + index, group.emitted(), view(logits), view(hidden)));
      }
      normed = group.step(chosen);
    }
  }

  void run(const PackedPlan& plan, int workers, const RowSink& sink, const std::stop_token& stop, bool want_hidden) {
    struct Wanted {
      std::size_t sequence = 0;
      int t = 0;
      int row = 0;
    };
    std::vector<Wanted> wanted;
    for (const auto& output : plan.outputs)
      for (std::size_t t = 0; t < output.rows.size(); ++t)
        wanted.push_back({output.sequence, static_cast<int>(t), output.rows[t]});
    const auto rows = decoder_.forward(plan);
    const auto block =
        static_cast<std::size_t>(std::clamp<std::int64_t>(kLogitBlock / info_.vocab / workers, 32, 2048));
    bool traced = false;
    for (std::size_t first = 0; first < wanted.size(); first += block) {
      if (stop.stop_requested()) return;
      const std::span part(wanted.data() + first, std::min(block, wanted.size() - first));
      const auto index = at::empty({static_cast<std::int64_t>(part.size())}, at::kLong);
      std::ranges::transform(part, index.data_ptr<std::int64_t>(), &Wanted::row);
      const auto normed = decoder_.final_norm(rows.index_select(0, index.to(rows.device())));
      const auto logits = decoder_.logits(normed).cpu().contiguous();
      const auto hidden = want_hidden ? normed.to(at::kFloat).cpu().contiguous() : at::Tensor();
      const auto good = at::isfinite(logits.sum(-1));
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (good.data_ptr<bool>()[i]) continue;
        const int layer = traced ? -1 : first_bad_layer(plan, part[i].row);
        traced = true;
        note_non_finite(part[i].sequence, part[i].t, layer);
      }
      for (std::size_t begin = 0; begin < part.size();) {
        std::size_t end = begin;
        while (end < part.size() && part[end].sequence == part[begin].sequence) ++end;
        const auto view = [&](const at::Tensor& t) {
          if (!t.defined()) return std::span<const float>();
          const auto width = static_cast<std::size_t>(t.size(1));
          return std::span<const float>(t.data_ptr<float>() + begin * width, (end - begin) * width);
        };
        sink(part[begin].sequence, part[begin].t, static_cast<int>(end - begin), view(logits), view(hidden));
        begin = end;
      }
    }
  }

  /// Runs the pass again to see at which layer the row ceased to be finite. Once per pass: it costs as much.
  [[nodiscard]] int first_bad_layer(const PackedPlan& plan, int row) const {
    int found = info_.layers + 1;
    (void)decoder_.forward(plan, [&](int layer, const at::Tensor& x) {
      if (found > info_.layers && !at::isfinite(x.select(0, row).to(at::kFloat).sum()).item<bool>()) found = layer;
    });
    return found;
  }

  void note_non_finite(std::size_t sequence, int t, int layer) {
    const std::lock_guard lock(diagnostics_guard_);
    ++diagnostics_.non_finite_rows;
    if (layer < 0 || (diagnostics_.first_layer >= 0 && layer >= diagnostics_.first_layer)) return;
    diagnostics_.first_layer = layer;
    diagnostics_.first_sequence = sequence;
    diagnostics_.first_output = t;
  }

  ModelInfo info_;
  ReferenceEnvironment environment_;
  Decoder decoder_;
  EngineDiagnostics diagnostics_;
  std::mutex diagnostics_guard_;
};

}  // namespace

std::unique_ptr<ReferenceEngine> load_engine(const std::filesystem::path& path, const EngineOptions& options) {
  const auto device = parse_device(options.device);
  if (options.batch_tokens < 1) throw Error(ExitCode::usage, "--batch-tokens", "must be positive", "use 2048");
  const int threads = options.threads > 0 ? options.threads : usable_cores();
  keep_scratch_memory();
  set_blas_threads(threads);
  at::set_num_threads(threads);
  const c10::InferenceMode inference;
  const auto model = open_model(path);
  DecoderLoadOptions load;
  load.decoder.numerics = numerics_for(options.dtype, device);
  load.decoder.device = device;
  load.variant = options.variant;
  auto decoder = load_decoder(model.config, *model.weights, load);
  auto info = describe(model, true);
  ReferenceEnvironment environment;
  environment.model_name = info.name;
  environment.weights_digest = info.weights_digest;
  environment.dtype = to_string(options.dtype);
  environment.device = options.device;
  environment.engine_build = fmt::format("difr-local {} LibTorch {}", version(), TORCH_VERSION);
  environment.variant = options.variant;
  environment.threads = threads;
  environment.batch_tokens = options.batch_tokens;
  return std::make_unique<LocalEngine>(std::move(info), std::move(environment), std::move(decoder));
}

ModelInfo inspect_model(const std::filesystem::path& path, bool digest) {
  const auto model = open_model(path);
  check_tensors(model.config, *model.weights);
  return describe(model, digest);
}

}  // namespace difr::gpu
