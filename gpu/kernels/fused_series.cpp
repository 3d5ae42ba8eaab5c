#include "gpu/kernels/fused_series.h"

#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "core/sampling/counter_hash.h"
#include "core/sampling/processing.h"
#include "core/util/error.h"

namespace difr::gpu::kernels {
namespace {

constexpr std::array<std::pair<std::string_view, NoiseKind>, 8> kKinds{{
    {"vllm-cpu-splitmix64", NoiseKind::splitmix64},
    {"vllm-mrv2-philox-0.16", NoiseKind::philox_fp64_eps},
    {"vllm-mrv2-philox-fp64", NoiseKind::philox_fp64_two_words},
    {"vllm-mrv2-philox-0.22", NoiseKind::philox_fp32_tiny},
    {"vllm-mrv2-philox", NoiseKind::philox_fp32_log1p},
    {"vllm-mrv2-murmur", NoiseKind::murmur_fp32},
    {"vllm-mrv2-murmur-fp64", NoiseKind::murmur_fp64},
    {"sglang-murmur", NoiseKind::sglang_murmur},
}};

NoiseKind kind_of(std::string_view profile) {
  for (const auto& [id, kind] : kKinds) {
    if (id == profile) return kind;
  }
  return NoiseKind::none;
}

}  // namespace

std::optional<FusedSeries> FusedSeries::make(const Claim& claim, const SamplerProfile& profile) {
  const double t = effective_temperature(profile.order, claim.sampling.temperature);
  FusedSeries out;
  out.greedy_ = profile.family == SamplerFamily::greedy || t == 0.0;
  if (!out.greedy_ && profile.family != SamplerFamily::gumbel_max) return std::nullopt;
  if (!LogitProcessing(profile.order, claim.sampling, claim.prompt).neutral()) return std::nullopt;
  if (!out.greedy_) {
    out.pattern_.temperature = t;
    out.pattern_.filters = make_filter_plan(profile.order, claim.sampling);
    out.pattern_.noise.kind = claim.seed ? kind_of(profile.id) : NoiseKind::none;
    if (claim.seed && out.pattern_.noise.kind == NoiseKind::none) return std::nullopt;
    out.pattern_.race = claim.seed.has_value();
  }
  out.output_ = claim.output;
  out.seed_ = static_cast<std::uint64_t>(claim.seed.value_or(0)) + static_cast<std::uint64_t>(claim.choice);
  out.position_ = static_cast<std::int64_t>(claim.prompt.size()) - 1;
  if (out.pattern_.noise.kind == NoiseKind::splitmix64) out.generator_.emplace(static_cast<std::uint32_t>(out.seed_));
  // A position before the first: the counter-based streams of an empty prompt have not begun.
  if (out.position_ < 0 && out.pattern_.noise.kind != NoiseKind::none && !out.generator_) return std::nullopt;
  return out;
}

NoiseState FusedSeries::next_noise() {
  NoiseState state = pattern_.noise;
  const auto position = static_cast<std::uint64_t>(position_++);
  const auto low_position = static_cast<std::uint32_t>(position);
  switch (state.kind) {
    case NoiseKind::none:
      break;
    case NoiseKind::splitmix64:
      // The second of two words is the step seed.
      generator_->discard(1);
      state.key = splitmix64_mix((*generator_)() & 0x7fffffffU);
      break;
    case NoiseKind::murmur_fp32:
    case NoiseKind::sglang_murmur:
      state.key = murmur3_prefix(seed_, low_position, 0);
      break;
    case NoiseKind::murmur_fp64:
      state.key = (std::uint64_t{murmur3_prefix(seed_, low_position, 0x9E3779B9U)} << 32) |
                  murmur3_prefix(seed_, low_position, 0);
      break;
    default:
      state.key = philox4x32({low_position, static_cast<std::uint32_t>(position >> 32), 0, 0},
                             static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32))[0];
      break;
  }
  return state;
}

RowJob FusedSeries::next_job() {
  if (asked_ >= output_.size()) throw bad_input("logits", "more rows than claimed output tokens");
  RowJob job = pattern_;
  job.claimed = output_[asked_++];
  job.noise = next_noise();
  return job;
}

void FusedSeries::append(const FusedRow& row, std::span<const TokenId> ids, std::span<const float> logits, int vocab) {
  const TokenId claimed = output_.at(scores_.size());
  evidence_.vocab = vocab;
  evidence_.top_m = static_cast<int>(ids.size());
  if (row.refused) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    evidence_.claimed_logit.push_back(kNan);
    evidence_.log_sum_exp.push_back(kNan);
    evidence_.claimed_rank.push_back(-1);
    evidence_.top_ids.insert(evidence_.top_ids.end(), ids.size(), -1);
    evidence_.top_logits.insert(evidence_.top_logits.end(), logits.size(), kNan);
    append_refused(scores_);
    return;
  }
  evidence_.claimed_logit.push_back(row.claimed_logit);
  evidence_.log_sum_exp.push_back(static_cast<float>(row.log_sum_exp));
  evidence_.claimed_rank.push_back(row.claimed_rank);
  evidence_.top_ids.insert(evidence_.top_ids.end(), ids.begin(), ids.end());
  evidence_.top_logits.insert(evidence_.top_logits.end(), logits.begin(), logits.end());
  const RawMetrics raw{static_cast<double>(row.claimed_logit) - row.log_sum_exp, row.claimed_rank};
  if (greedy_ || pattern_.race) {
    append_scores(scores_, raw, row.cut, row.race, claimed, greedy_ ? 1.0 : pattern_.temperature, greedy_);
  } else {
    append_without_noise(scores_, raw, row.cut);
  }
}

}  // namespace difr::gpu::kernels
