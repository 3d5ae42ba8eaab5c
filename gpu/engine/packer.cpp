#include "gpu/engine/packer.h"

#include <algorithm>
#include <numeric>

namespace difr::gpu {

namespace {

/// Shorter shared prefixes are computed again: every further range costs a copy per layer.
constexpr std::size_t kMinShared = 8;

/// The first `count` rows of a list of ranges.
std::vector<RowRange> take(std::span<const RowRange> ranges, int count) {
  std::vector<RowRange> taken;
  for (const auto& range : ranges) {
    if (count <= 0) break;
    taken.push_back({range.first, std::min(range.count, count)});
    count -= range.count;
  }
  return taken;
}

int row_of(std::span<const RowRange> ranges, int position) {
  for (const auto& range : ranges) {
    if (position < range.count) return range.first + position;
    position -= range.count;
  }
  return -1;
}

void push_range(std::vector<RowRange>& ranges, RowRange range) {
  if (!ranges.empty() && ranges.back().first + ranges.back().count == range.first)
    ranges.back().count += range.count;
  else
    ranges.push_back(range);
}

}  // namespace

Packer::Packer(std::span<const Sequence> sequences, int batch_tokens)
    : sequences_(sequences), budget_(static_cast<std::size_t>(std::max(batch_tokens, 16))), order_(sequences.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::erase_if(order_, [&](std::size_t s) { return sequences_[s].output.empty(); });
  std::ranges::sort(order_, [&](std::size_t a, std::size_t b) {
    const std::size_t shared = shared_prefix(a, b);
    if (shared == length(a) || shared == length(b)) return std::pair(length(a), a) < std::pair(length(b), b);
    return token(a, shared) < token(b, shared);
  });
}

/// The last output token is predicted, never read.
std::size_t Packer::length(std::size_t sequence) const {
  return sequences_[sequence].prompt.size() + sequences_[sequence].output.size() - 1;
}

TokenId Packer::token(std::size_t sequence, std::size_t position) const {
  const auto& s = sequences_[sequence];
  return position < s.prompt.size() ? s.prompt[position] : s.output[position - s.prompt.size()];
}

std::size_t Packer::shared_prefix(std::size_t a, std::size_t b) const {
  const std::size_t limit = std::min(length(a), length(b));
  std::size_t n = 0;
  while (n < limit && token(a, n) == token(b, n)) ++n;
  return n;
}

void Packer::append(PackedPlan& plan, std::size_t sequence, std::size_t shared) {
  std::vector<RowRange> context = take(last_rows_, static_cast<int>(shared));
  const std::size_t total = length(sequence);
  std::size_t position = shared;
  while (position < total) {
    if (plan.chunks.empty() || static_cast<std::size_t>(plan.chunks.back().rows.count) >= budget_)
      plan.chunks.push_back({{static_cast<int>(plan.tokens.size()), 0}, plan.segments.size(), 0});
    auto& chunk = plan.chunks.back();
    const auto count =
        static_cast<int>(std::min(total - position, budget_ - static_cast<std::size_t>(chunk.rows.count)));
    const RowRange rows{static_cast<int>(plan.tokens.size()), count};
    push_range(context, rows);
    plan.segments.push_back({rows, static_cast<int>(position), context});
    chunk.rows.count += count;
    ++chunk.segments;
    for (int i = 0; i < count; ++i, ++position) {
      plan.tokens.push_back(token(sequence, position));
      plan.positions.push_back(static_cast<int>(position));
    }
  }
  OutputRows output{sequence, {}};
  const std::size_t first = sequences_[sequence].prompt.size() - 1;
  for (std::size_t t = 0; t < sequences_[sequence].output.size(); ++t)
    output.rows.push_back(row_of(context, static_cast<int>(first + t)));
  plan.outputs.push_back(std::move(output));
  last_rows_ = std::move(context);
}

std::optional<PackedPlan> Packer::next() {
  if (at_ == order_.size()) return std::nullopt;
  PackedPlan plan;
  last_rows_.clear();
  append(plan, order_[at_++], 0);
  for (; at_ < order_.size(); ++at_) {
    std::size_t shared = shared_prefix(order_[at_ - 1], order_[at_]);
    if (shared < kMinShared) shared = 0;
    if (plan.tokens.size() + length(order_[at_]) - shared > budget_) break;
    append(plan, order_[at_], shared);
  }
  return plan;
}

}  // namespace difr::gpu
