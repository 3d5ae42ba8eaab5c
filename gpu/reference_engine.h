#pragma once
// The trusted reference: teacher-forced logits of claimed outputs. Public headers of gpu/ do not include LibTorch.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "core/domain/claim.h"
#include "core/domain/evidence.h"

namespace difr::gpu {

enum class Dtype : std::uint8_t { fp32, bf16, fp16 };
[[nodiscard]] const char* to_string(Dtype dtype);
/// Throws difr::Error (usage) for an unknown name.
[[nodiscard]] Dtype parse_dtype(std::string_view name);

struct EngineOptions {
  Dtype dtype = Dtype::fp32;
  std::string device = "cpu";  ///< cpu | cuda | cuda:N
  std::string variant = {};        ///< empty, int4-g32, int4-g128, int8, fp8, fp8-kv
  int threads = 0;             ///< 0: all cores this process may use
  int batch_tokens = 2048;     ///< packed tokens per forward pass
};

struct ModelInfo {
  std::string name;
  std::string architecture;
  int vocab = 0;
  int hidden = 0;
  int layers = 0;
  int max_positions = 0;
  std::int64_t parameters = 0;
  std::int64_t weight_bytes = 0;
  std::string weights_digest;
};

/// One sequence to be teacher-forced. Rows are wanted for the positions that predict output tokens.
struct Sequence {
  std::span<const TokenId> prompt;
  std::span<const TokenId> output;
};

/// Rows of one sequence in order: `first` is the output index t of the first row; `logits` is rows×V, row-major fp32;
/// `hidden` is rows×d (final norm's output, fp32), empty unless asked for.
using RowSink = std::function<void(std::size_t sequence, int first, int rows, std::span<const float> logits,
                                   std::span<const float> hidden)>;

/// Where numbers broke down, over all calls of an engine. Rows with NaN or Inf still go to the sink as they are.
struct EngineDiagnostics {
  std::int64_t non_finite_rows = 0;
  int first_layer = -1;  ///< earliest origin: 0 embedding, i layer i (from 1), layers + 1 final norm or head; -1 none
  std::size_t first_sequence = 0;  ///< of that origin: sequence of its score() call, output index
  int first_output = 0;
};

/// Chooses the token that follows from one row of logits (V, fp32) and the state it came from (final norm's output, d,
/// fp32); nothing ends the sequence. Steps t = 0, 1, ... of a sequence come in order; different sequences may be asked
/// from different threads at once.
using NextToken = std::function<std::optional<TokenId>(
    std::size_t sequence, int t, std::span<const float> logits, std::span<const float> hidden)>;

struct GenerateLimits {
  int max_tokens = 256;  ///< per sequence; the model's positions end it too
  int group = 16;        ///< sequences that step together; their number is part of the numbers' environment
};

class ReferenceEngine {
 public:
  virtual ~ReferenceEngine() = default;
  [[nodiscard]] virtual const ModelInfo& info() const = 0;
  [[nodiscard]] virtual ReferenceEnvironment environment() const = 0;
  [[nodiscard]] virtual const EngineDiagnostics& diagnostics() const = 0;
  /// Runs all sequences in packed batches; never holds more than a chunk of logits. Sequences reach the sink in any
  /// order, each one's rows together and ascending. Returns early when stopped: the last sequence may be incomplete.
  /// Throws difr::Error (bad input) for an empty prompt or a token id outside 0..V-1, before anything is computed.
  virtual void score(std::span<const Sequence> sequences, const RowSink& sink, std::stop_token stop,
                     bool want_hidden = false) = 0;
  /// Step-by-step generation with a KV cache: prompts in groups of limits.group as they come, one packed prefill a
  /// group. The shapes of all passes, and so the rounding of all rows, follow from the prompts, the limits and when each
  /// sequence ends. Throws difr::Error (bad input) as score() does, and for a prompt longer than the model's positions.
  virtual void generate(std::span<const std::span<const TokenId>> prompts, const GenerateLimits& limits,
                        const NextToken& next, std::stop_token stop) = 0;
};

/// Loads config.json + safetensors (directory) or a GGUF file. Throws difr::Error naming file, place and remedy.
[[nodiscard]] std::unique_ptr<ReferenceEngine> load_engine(const std::filesystem::path& model,
                                                           const EngineOptions& options);
/// Reads headers only; weights_digest is empty unless `digest`.
[[nodiscard]] ModelInfo inspect_model(const std::filesystem::path& model, bool digest = false);

}  // namespace difr::gpu
