#pragma once
// What one packed forward pass computes: rows of tokens without padding, and whom each row may attend to.

#include <cstddef>
#include <vector>

#include "core/domain/claim.h"

namespace difr::gpu {

/// Consecutive rows of the pass.
struct RowRange {
  int first = 0;
  int count = 0;
};

/// Query rows of one sequence; `context` lists the rows of positions 0 .. position + rows.count - 1 in order, the
/// segment's own rows included. Ranges of other segments are shared prefixes. With a cache that outlives the pass,
/// `context` and `stored` count the cache's rows, and the segment's keys and values go to `stored` and after.
struct Segment {
  RowRange rows;
  int position = 0;
  std::vector<RowRange> context = {};
  int stored = 0;
};

/// Segments that go through a layer together.
struct Chunk {
  RowRange rows;
  std::size_t first_segment = 0;
  std::size_t segments = 0;
};

/// Rows whose logits are wanted: `rows[i]` predicts output token first + i of the sequence.
struct OutputRows {
  std::size_t sequence = 0;
  std::vector<int> rows;
};

struct PackedPlan {
  std::vector<TokenId> tokens;
  std::vector<int> positions;
  std::vector<Segment> segments;  ///< in row order, so that a segment's context is computed before it
  std::vector<Chunk> chunks;
  std::vector<OutputRows> outputs;
};

}  // namespace difr::gpu
