#pragma once
// Cuts many sequences into packed passes: no padding, shared prefixes computed once.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "gpu/model/plan.h"
#include "gpu/reference_engine.h"

namespace difr::gpu {

/// Sequences are visited in lexicographic order, where the longest prefix that a sequence shares with any earlier one
/// is the one it shares with its predecessor.
class Packer {
 public:
  /// `batch_tokens`: rows per pass and per chunk. A longer sequence gets a pass of its own, in several chunks.
  Packer(std::span<const Sequence> sequences, int batch_tokens);

  /// The next pass; absent when all sequences are out. Sequences without output are skipped.
  [[nodiscard]] std::optional<PackedPlan> next();

 private:
  [[nodiscard]] std::size_t length(std::size_t sequence) const;
  [[nodiscard]] TokenId token(std::size_t sequence, std::size_t position) const;
  [[nodiscard]] std::size_t shared_prefix(std::size_t a, std::size_t b) const;
  void append(PackedPlan& plan, std::size_t sequence, std::size_t shared);

  std::span<const Sequence> sequences_;
  std::size_t budget_;
  std::vector<std::size_t> order_;
  std::size_t at_ = 0;
  std::vector<RowRange> last_rows_;  // rows of the sequence appended last, by position
};

}  // namespace difr::gpu
