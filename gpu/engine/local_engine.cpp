#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sched.h>
#include <torch/version.h>

#include <algorithm>
#include <mutex>

#include "core/util/error.h"
#include "core/util/version.h"
#include "gpu/engine/packer.h"
#include "gpu/model/decoder.h"
#include "gpu/model/open_model.h"
#include "gpu/reference_engine.h"

namespace difr::gpu {

namespace {

/// One block of logits holds at most this many entries (128 MiB).
constexpr std::int64_t kLogitBlock = std::int64_t{1} << 25;

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
    const at::NoGradGuard no_grad;
    at::set_num_threads(environment_.threads);
    Packer packer(sequences, environment_.batch_tokens);
    while (!stop.stop_requested()) {
      const auto plan = packer.next();
      if (!plan) return;
      run(*plan, sink, stop, want_hidden);
    }
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

  void run(const PackedPlan& plan, const RowSink& sink, const std::stop_token& stop, bool want_hidden) {
    std::vector<at::Tensor> finite;  // per stage: [T], which rows were finite
    const auto rows = decoder_.forward(
        plan, [&](int, const at::Tensor& x) { finite.push_back(at::isfinite(x.sum(-1, false, at::kFloat)).cpu()); });
    const std::int64_t block = std::clamp<std::int64_t>(kLogitBlock / info_.vocab, 1, 4096);
    for (const auto& output : plan.outputs) {
      const auto total = static_cast<std::int64_t>(output.rows.size());
      const auto index = at::empty({total}, at::kLong);
      std::ranges::copy(output.rows, index.data_ptr<std::int64_t>());
      for (std::int64_t first = 0; first < total; first += block) {
        if (stop.stop_requested()) return;
        const auto count = std::min(block, total - first);
        const auto picked = rows.index_select(0, index.narrow(0, first, count).to(rows.device()));
        const auto normed = decoder_.final_norm(picked);
        const auto logits = decoder_.logits(normed).cpu().contiguous();
        at::Tensor hidden;
        if (want_hidden) hidden = normed.to(at::kFloat).cpu().contiguous();
        note_non_finite(output, first, logits, finite);
        const auto view = [](const at::Tensor& t) {
          return t.defined() ? std::span<const float>(t.data_ptr<float>(), static_cast<std::size_t>(t.numel()))
                             : std::span<const float>();
        };
        sink(output.sequence, static_cast<int>(first), static_cast<int>(count), view(logits), view(hidden));
      }
    }
  }

  /// Counts rows with NaN or Inf, and keeps the earliest layer at which one began.
  void note_non_finite(const OutputRows& output, std::int64_t first, const at::Tensor& logits,
                       const std::vector<at::Tensor>& finite) {
    const auto good = at::isfinite(logits.sum(-1));
    for (std::int64_t i = 0; i < good.size(0); ++i) {
      if (good.data_ptr<bool>()[i]) continue;
      ++diagnostics_.non_finite_rows;
      const auto row = output.rows[static_cast<std::size_t>(first + i)];
      int layer = static_cast<int>(finite.size());
      for (std::size_t stage = 0; stage < finite.size() && layer == static_cast<int>(finite.size()); ++stage)
        if (!finite[stage].data_ptr<bool>()[row]) layer = static_cast<int>(stage);
      if (diagnostics_.first_layer < 0 || layer < diagnostics_.first_layer) {
        diagnostics_.first_layer = layer;
        diagnostics_.first_sequence = output.sequence;
        diagnostics_.first_output = static_cast<int>(first + i);
      }
    }
  }

  ModelInfo info_;
  ReferenceEnvironment environment_;
  Decoder decoder_;
  EngineDiagnostics diagnostics_;
};

}  // namespace

std::unique_ptr<ReferenceEngine> load_engine(const std::filesystem::path& path, const EngineOptions& options) {
  const auto device = parse_device(options.device);
  if (options.batch_tokens < 1) throw Error(ExitCode::usage, "--batch-tokens", "must be positive", "use 2048");
  const int threads = options.threads > 0 ? options.threads : usable_cores();
  at::set_num_threads(threads);
  const at::NoGradGuard no_grad;
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
