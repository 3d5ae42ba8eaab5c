#pragma once
// Splitting a recomputation over many machines: each works on a part file of its own, which is merged back.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace difr {

/// Part `index` of `count`, both counted from 1. A request belongs to exactly one part, whichever requests are added
/// later; all choices of one record share a part, since they share a prompt that is then computed once.
struct Shard {
  int index = 1;
  int count = 1;

  [[nodiscard]] std::string text() const;  ///< "2/16"
  friend bool operator==(const Shard&, const Shard&) = default;
};

/// Reads "i/n". Throws difr::Error (usage) naming `--shard` unless 1 <= i <= n <= 100,000.
[[nodiscard]] Shard parse_shard(std::string_view text);

/// What a merge did with one run of a part.
struct MergedRun {
  std::int64_t run_id = 0;  ///< in the case that was merged into
  std::int64_t added = 0;
  std::int64_t already_there = 0;
};

struct MergeResult {
  Shard shard;
  std::vector<MergedRun> runs;
};

}  // namespace difr
