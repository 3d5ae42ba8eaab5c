#include "core/sampling/processing.h"

#include <algorithm>
#include <limits>

namespace difr {
namespace {

constexpr float kOut = -std::numeric_limits<float>::infinity();
// Defaults of llama.cpp (penalty_last_n) and mlx-lm (repetition_context_size); logs do not carry them.
constexpr std::size_t kLlamaCppWindow = 64;
constexpr std::size_t kMlxWindow = 20;

}  // namespace

double effective_temperature(ProcessingOrder order, double temperature) {
  switch (order) {
    case ProcessingOrder::vllm:
      if (temperature < 1e-5) return 0.0;
      return std::max(temperature, 0.01);
    case ProcessingOrder::hugging_face:
    case ProcessingOrder::llama_cpp:
    case ProcessingOrder::mlx:
      break;
  }
  return temperature <= 0.0 ? 0.0 : temperature;
}

FilterPlan make_filter_plan(ProcessingOrder order, const SamplingParams& sampling) {
  FilterPlan plan;
  plan.top_p = sampling.top_p;
  plan.top_k = std::max(sampling.top_k, 0);
  plan.min_p = sampling.min_p;
  const double t = effective_temperature(order, sampling.temperature);
  switch (order) {
    case ProcessingOrder::vllm:
      plan.temperature = t;
      plan.stages = {FilterStage::min_p, FilterStage::top_k, FilterStage::top_p};
      break;
    case ProcessingOrder::hugging_face:
      plan.temperature = t;
      plan.stages = {FilterStage::top_k, FilterStage::top_p, FilterStage::min_p};
      break;
    case ProcessingOrder::llama_cpp:
      plan.stages = {FilterStage::top_k, FilterStage::top_p, FilterStage::min_p};
      plan.top_k_keeps_ties = false;
      break;
    case ProcessingOrder::mlx:
      plan.stages = {FilterStage::top_p, FilterStage::min_p, FilterStage::top_k};
      plan.top_k_keeps_ties = false;
      break;
  }
  if (t == 0.0) {
    // A greedy engine takes the argmax of the processed logits; filters cannot change it.
    plan.top_p = 1.0;
    plan.top_k = 0;
    plan.min_p = 0.0;
    plan.temperature = 1.0;
  }
  return plan;
}

LogitProcessing::LogitProcessing(ProcessingOrder order, const SamplingParams& sampling, std::span<const TokenId> prompt)
    : order_(order),
      repetition_(sampling.repetition_penalty),
      frequency_(sampling.frequency_penalty),
      presence_(sampling.presence_penalty),
      min_tokens_(sampling.min_tokens),
      bias_(sampling.logit_bias),
      allowed_(sampling.allowed_token_ids),
      stop_(sampling.stop_token_ids) {
  if (order == ProcessingOrder::llama_cpp) window_ = kLlamaCppWindow;
  if (order == ProcessingOrder::mlx) window_ = kMlxWindow;
  std::ranges::sort(bias_);
  std::ranges::sort(allowed_);
  if (penalised()) {
    for (const TokenId id : prompt) count(id, false);
  }
}

bool LogitProcessing::penalised() const {
  return repetition_ != 1.0 || frequency_ != 0.0 || presence_ != 0.0;
}

bool LogitProcessing::neutral() const {
  return bias_.empty() && allowed_.empty() && !penalised() && (stop_.empty() || emitted_ >= min_tokens_);
}

void LogitProcessing::count(TokenId id, bool output) {
  auto& c = counts_[id];
  ++(output ? c.output : c.prompt);
  if (window_ == 0) return;
  recent_.emplace_back(id, output);
  if (recent_.size() > window_) {
    const auto [old, was_output] = recent_.front();
    recent_.erase(recent_.begin());
    auto& o = counts_[old];
    --(was_output ? o.output : o.prompt);
    if (o.output == 0 && o.prompt == 0) counts_.erase(old);
  }
}

void LogitProcessing::emit(TokenId id) {
  if (penalised()) count(id, true);
  ++emitted_;
}

float LogitProcessing::penalise(float x, const Count& count) const {
  // fp32 throughout, as the engines do it. vLLM and HF count repetition over prompt and output, frequency and presence
  // over the output alone; llama.cpp counts everything over its window.
  const int seen = count.prompt + count.output;
  const int counted = order_ == ProcessingOrder::llama_cpp || order_ == ProcessingOrder::mlx ? seen : count.output;
  if (seen > 0 && repetition_ != 1.0) {
    const auto p = static_cast<float>(repetition_);
    x = x > 0 ? x / p : x * p;
  }
  x -= static_cast<float>(frequency_) * static_cast<float>(counted);
  if (counted > 0) x -= static_cast<float>(presence_);
  return x;
}

bool LogitProcessing::suppressed(TokenId id) const {
  return emitted_ < min_tokens_ && std::ranges::find(stop_, id) != stop_.end();
}

float LogitProcessing::apply(TokenId id, float raw) const {
  if (!allowed_.empty() && !std::ranges::binary_search(allowed_, id)) return kOut;
  if (suppressed(id)) return kOut;
  float x = raw;
  const auto bias = std::ranges::lower_bound(bias_, id, {}, &std::pair<TokenId, double>::first);
  if (bias != bias_.end() && bias->first == id) x += static_cast<float>(bias->second);
  const auto seen = counts_.find(id);
  return seen == counts_.end() ? x : penalise(x, seen->second);
}

void LogitProcessing::apply(std::span<float> row) const {
  const auto inside = [&](TokenId id) { return id >= 0 && static_cast<std::size_t>(id) < row.size(); };
  if (!allowed_.empty()) {
    std::vector<float> kept;
    for (const TokenId id : allowed_) kept.push_back(inside(id) ? row[static_cast<std::size_t>(id)] : kOut);
    std::ranges::fill(row, kOut);
    for (std::size_t i = 0; i < allowed_.size(); ++i) {
      if (inside(allowed_[i])) row[static_cast<std::size_t>(allowed_[i])] = kept[i];
    }
  }
  for (const TokenId id : touched()) {
    if (inside(id)) row[static_cast<std::size_t>(id)] = apply(id, row[static_cast<std::size_t>(id)]);
  }
}

std::vector<TokenId> LogitProcessing::touched() const {
  std::vector<TokenId> ids;
  for (const auto& [id, value] : bias_) ids.push_back(id);
  if (emitted_ < min_tokens_) ids.insert(ids.end(), stop_.begin(), stop_.end());
  for (const auto& [id, value] : counts_) ids.push_back(id);
  std::ranges::sort(ids);
  const auto [first, last] = std::ranges::unique(ids);
  ids.erase(first, last);
  return ids;
}

}  // namespace difr
