#pragma once
// One pass over a row of logits by one block of threads: log-sum-exp, rank, top M, and the race under seeded noise that
// is made in registers. The text is shared by the device and by its twin: a Block runs each() for all its threads and
// waits for them. Internal to gpu/kernels.

#include "gpu/kernels/passes.h"

namespace difr::gpu::kernels {

struct RowShared {
  std::uint64_t entries[kEntryBuffer];
  RowReport reports[kThreads];
  std::uint64_t threshold;  ///< entries at or below cannot be among the top M
  int count;
};

/// Sorts keys[0..n) in descending order; n is a power of two.
template <class Block, class Key>
DIFR_HD void sort_descending(Block& block, Key* keys, int n) {
  for (int k = 2; k <= n; k *= 2) {
    for (int j = k / 2; j > 0; j /= 2) {
      block.each([&](int thread) {
        for (int i = thread; i < n; i += kThreads) {
          const int partner = i ^ j;
          if (partner < i) continue;
          const Key a = keys[i], b = keys[partner];
          if ((a < b) == ((i & k) == 0)) {
            keys[i] = b;
            keys[partner] = a;
          }
        }
      });
    }
  }
}

DIFR_HD inline int power_of_two_from(int n) {
  int p = 1;
  while (p < n) p *= 2;
  return p;
}

/// Leaves the largest top_m entries in front, sorted, and raises the threshold to the last of them.
template <class Block>
DIFR_HD void keep_largest(Block& block, RowShared& shared, int top_m) {
  const int count = block.uniform(shared.count);
  const int n = power_of_two_from(count > top_m ? count : top_m);
  block.each([&](int thread) {
    for (int i = count + thread; i < n; i += kThreads) shared.entries[i] = 0;
  });
  sort_descending(block, shared.entries, n);
  block.each([&](int thread) {
    if (thread != 0) return;
    shared.count = count < top_m ? count : top_m;
    shared.threshold = shared.entries[top_m - 1];
  });
}

DIFR_HD inline double larger(double a, double b) {
  return a > b ? a : b;
}

/// Brings sums that refer to r.largest to a larger reference.
DIFR_HD inline void rescale(RowReport& r, float largest, double inverse_t) {
  if (!(largest > r.largest)) return;
  const double drop = static_cast<double>(r.largest) - static_cast<double>(largest);
  r.largest = largest;
  r.sum *= std::exp(drop);
  if (inverse_t == 0.0) return;
  const double scale = std::exp(drop * inverse_t);
  r.mass *= scale;
  r.square *= scale * scale;
  r.mass_above_claimed *= scale;
}

DIFR_HD inline void count_entry(RowReport& r, const RowTask& task, float x, float own) {
  ++r.finite;
  rescale(r, x, task.filter_inverse_t);
  const double below = static_cast<double>(x) - static_cast<double>(r.largest);
  r.sum += std::exp(below);
  if (task.filter_inverse_t == 0.0) return;
  const double weight = std::exp(below * task.filter_inverse_t);
  r.mass += weight;
  r.square += weight * weight;
  if (x > own) r.mass_above_claimed += weight;
}

DIFR_HD inline void offer_winner(RowReport& r, double score, std::int32_t id, float x) {
  if (score > r.winner_score || (score == r.winner_score && id < r.winner)) {
    r.winner_score = score;
    r.winner = id;
    r.winner_logit = x;
  }
}

DIFR_HD inline double score_of(const RowTask& task, float x, std::int32_t id) {
  return static_cast<double>(x / task.divisor) + noise_of(task.noise, static_cast<std::uint32_t>(id));
}

DIFR_HD inline void race_entry(RowReport& r, const RowTask& task, float x, std::int32_t id) {
  if (!is_kept(x, task.keep_min)) return;
  const double score = score_of(task, x, id);
  if (score == kNever) return;
  if (score > r.claimed_score) ++r.above_claimed_score;
  offer_winner(r, score, id, x);
  if (id == task.claimed || static_cast<double>(x) < task.sure_min) return;
  r.second_rival = larger(r.second_rival, score < r.rival ? score : r.rival);
  r.rival = larger(r.rival, score);
}

DIFR_HD inline void merge(RowReport& r, RowReport o, double inverse_t) {
  rescale(r, o.largest, inverse_t);
  rescale(o, r.largest, inverse_t);
  r.unsound += o.unsound;
  r.finite += o.finite;
  r.above_claimed_logit += o.above_claimed_logit;
  r.sum += o.sum;
  r.mass += o.mass;
  r.square += o.square;
  r.mass_above_claimed += o.mass_above_claimed;
  r.above_claimed_score += o.above_claimed_score;
  if (o.winner >= 0) offer_winner(r, o.winner_score, o.winner, o.winner_logit);
  const double loser = r.rival < o.rival ? r.rival : o.rival;
  r.second_rival = larger(loser, larger(r.second_rival, o.second_rival));
  r.rival = larger(r.rival, o.rival);
}

/// Pairs of threads in a fixed order: sums come out alike on every machine, up to exp and log.
template <class Block>
DIFR_HD void merge_all(Block& block, RowShared& shared, double inverse_t) {
  for (int width = kThreads / 2; width > 0; width /= 2) {
    block.each([&](int thread) {
      if (thread < width) merge(shared.reports[thread], shared.reports[thread + width], inverse_t);
    });
  }
}

/// Writes `report`, and where the task summarises, top_ids[top_m] and top_logits[top_m] (descending, lower id first).
template <class Block, class Logit>
DIFR_HD void row_pass(Block& block, RowShared& shared, const Logit* row, int vocab, const RowTask& task, int top_m,
                      RowReport& report, std::int32_t* top_ids, float* top_logits) {
  typename Block::template Registers<RowReport> part;
  const float own = logit_of(row[task.claimed]);
  block.each([&](int thread) {
    part[thread] = RowReport{};
    part[thread].claimed_logit = own;
    if (task.race) part[thread].claimed_score = score_of(task, own, task.claimed);
    if (thread == 0) shared.threshold = 0, shared.count = 0;
  });
  for (int begin = 0; begin < vocab; begin += kTile) {
    block.each([&](int thread) {
      RowReport& mine = part[thread];
      for (int j = 0; j < kItems; ++j) {
        const int i = begin + j * kThreads + thread;
        if (i >= vocab) break;
        const float x = logit_of(row[i]);
        if (!is_sound(x)) {
          ++mine.unsound;
          continue;
        }
        if (task.summarise) {
          const std::uint64_t key = entry_key(x, static_cast<std::uint32_t>(i));
          if (key > shared.threshold) shared.entries[block.add(shared.count, 1)] = key;
          if (x > own) ++mine.above_claimed_logit;
          if (is_finite(x)) count_entry(mine, task, x, own);
        }
        if (task.race) race_entry(mine, task, x, i);
      }
    });
    if (task.summarise && block.uniform(shared.count) > kEntryBuffer - kTile) keep_largest(block, shared, top_m);
  }
  if (task.summarise) {
    keep_largest(block, shared, top_m);
    block.each([&](int thread) {
      for (int i = thread; i < top_m; i += kThreads) {
        // Key 0 pads rows in which unsound entries were left out; those rows are refused.
        const std::uint64_t key = shared.entries[i];
        top_ids[i] = key == 0 ? -1 : static_cast<std::int32_t>(entry_id(key));
        top_logits[i] = key == 0 ? 0.0F : logit_of(row[entry_id(key)]);
      }
    });
  }
  block.each([&](int thread) { shared.reports[thread] = part[thread]; });
  merge_all(block, shared, task.filter_inverse_t);
  block.each([&](int thread) {
    if (thread == 0) report = shared.reports[0];
  });
}

}  // namespace difr::gpu::kernels
