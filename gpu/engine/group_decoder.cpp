#include "gpu/engine/group_decoder.h"

#include <algorithm>

namespace difr::gpu {

GroupDecoder::GroupDecoder(const Decoder& decoder, std::span<const std::span<const TokenId>> prompts, int max_tokens,
                           int batch_tokens)
    : decoder_(decoder), batch_tokens_(std::max(batch_tokens, 1)) {
  int rows = 0;
  for (const auto prompt : prompts) {
    const int length = static_cast<int>(prompt.size());
    // The last token is predicted, never read.
    const int room = decoder.config().max_positions + 1 - length;
    const Lane lane{prompt, rows, std::min(max_tokens, room)};
    if (lane.most_tokens > 0) active_.push_back(lanes_.size());
    lanes_.push_back(lane);
    rows += length + std::max(0, lane.most_tokens - 1);
  }
  cache_ = decoder.make_cache(rows);
}

at::Tensor GroupDecoder::prefill() {
  if (active_.empty()) return {};
  PackedPlan plan;
  std::vector<std::int64_t> last;
  for (const auto index : active_) {
    const auto& lane = lanes_[index];
    const int length = static_cast<int>(lane.prompt.size());
    for (int position = 0; position < length;) {
      if (plan.chunks.empty() || plan.chunks.back().rows.count >= batch_tokens_)
        plan.chunks.push_back({{static_cast<int>(plan.tokens.size()), 0}, plan.segments.size(), 0});
      auto& chunk = plan.chunks.back();
      const int count = std::min(length - position, batch_tokens_ - chunk.rows.count);
      plan.segments.push_back({.rows = {static_cast<int>(plan.tokens.size()), count},
                               .position = position,
                               .context = {{lane.first_row, position + count}},
                               .stored = lane.first_row + position});
      chunk.rows.count += count;
      ++chunk.segments;
      for (int i = 0; i < count; ++i, ++position) {
        plan.tokens.push_back(lane.prompt[static_cast<std::size_t>(position)]);
        plan.positions.push_back(position);
      }
    }
    last.push_back(static_cast<std::int64_t>(plan.tokens.size()) - 1);
  }
  const auto rows = decoder_.forward(plan, cache_);
  return decoder_.final_norm(rows.index_select(0, at::tensor(last, at::kLong).to(rows.device())));
}

at::Tensor GroupDecoder::step(std::span<const std::optional<TokenId>> chosen) {
  PackedPlan plan;
  std::vector<std::size_t> still;
  ++emitted_;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const auto& lane = lanes_[active_[i]];
    if (!chosen[i] || emitted_ >= lane.most_tokens) continue;
    const int position = static_cast<int>(lane.prompt.size()) + emitted_ - 1;
    const int row = static_cast<int>(still.size());
    plan.segments.push_back({.rows = {row, 1},
                             .position = position,
                             .context = {{lane.first_row, position + 1}},
                             .stored = lane.first_row + position});
    plan.tokens.push_back(*chosen[i]);
    plan.positions.push_back(position);
    still.push_back(active_[i]);
  }
  active_ = std::move(still);
  if (active_.empty()) return {};
  plan.chunks.push_back({{0, static_cast<int>(active_.size())}, 0, active_.size()});
  return decoder_.final_norm(decoder_.forward(plan, cache_));
}

}  // namespace difr::gpu
