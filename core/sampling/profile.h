#pragma once
// The registry of seeded samplers (DESIGN §4; authority: vLLM source readings kept with the fixtures).

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/domain/claim.h"

namespace difr {

enum class SamplerFamily : std::uint8_t { greedy, gumbel_max, inverse_cdf };
enum class ProcessingOrder : std::uint8_t { vllm, hugging_face, llama_cpp, mlx };
enum class Verification : std::uint8_t { real_logs, golden_vectors, emulated, source_only, not_reproducible };

/// One way in which an engine turns (seed, step, logits) into a token.
struct SamplerProfile {
  std::string_view id;
  std::string_view title;
  SamplerFamily family = SamplerFamily::gumbel_max;
  ProcessingOrder order = ProcessingOrder::vllm;
  std::string_view noise;      ///< the noise source in one line
  std::string_view alignment;  ///< what indexes the stream: step, position, batch row
  std::string_view versions;   ///< engines and versions that use it
  std::string_view needs;      ///< what the log must carry
  Verification verification = Verification::source_only;
  std::string_view verified_by;
  std::string_view missing;    ///< for not_reproducible: what would be needed
  bool column_is_rank = false; ///< noise belongs to the rank among processed logits, not to the token id
};

[[nodiscard]] std::span<const SamplerProfile> sampler_profiles();
[[nodiscard]] const SamplerProfile* find_profile(std::string_view id);

/// What the noise of a position may depend on.
struct NoiseKey {
  std::int64_t seed = 0;
  int prompt_len = 0;
  int vocab = 0;
  int choice = 0;   ///< n > 1: child index
  int shift = 0;    ///< identification: start this many draws later (or earlier)
  int cuda_blocks = 0; ///< torch-cuda-exponential: launch grid limit (SMs x 2048/256); 0: one thread per entry
};

/// Gumbel noise g_t(v) of one request under one profile. Sequential sources keep state: ask steps in ascending order
/// for speed; any order is correct. Not thread-safe.
class NoiseSource {
 public:
  virtual ~NoiseSource() = default;
  /// Fills g[0..V) for output step t.
  virtual void row(int t, std::span<double> g) = 0;
  /// Noise of single entries; `out[i]` belongs to `ids[i]`. Default goes through row().
  virtual void at(int t, std::span<const TokenId> ids, std::span<double> out);
  /// Upper bound of g over the whole vocabulary at step t that costs no full row, for the top-M certificate.
  /// Returns +inf when none is cheaper than the row itself.
  virtual double upper_bound(int t);
  /// Half-width of what is known of a noise value g; 0 unless the engine's own arithmetic cannot be pinned down.
  [[nodiscard]] virtual double uncertainty(double g) const;
};

/// Uniform number of one request per sampled token, for inverse-CDF samplers. NaN before the stream's start.
class UniformSource {
 public:
  virtual ~UniformSource() = default;
  virtual double at(int t) = 0;
};

/// Null for greedy and for profiles that are not Gumbel-max or not reproducible.
[[nodiscard]] std::unique_ptr<NoiseSource> make_noise(const SamplerProfile& profile, const NoiseKey& key);
/// Null unless the profile is a reproducible inverse-CDF sampler.
[[nodiscard]] std::unique_ptr<UniformSource> make_uniform(const SamplerProfile& profile, const NoiseKey& key);

[[nodiscard]] bool reproducible(const SamplerProfile& profile);
[[nodiscard]] const char* to_string(SamplerFamily family);
[[nodiscard]] const char* to_string(ProcessingOrder order);
[[nodiscard]] const char* to_string(Verification verification);

}  // namespace difr
