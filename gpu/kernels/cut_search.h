#pragma once
// Where a filter cuts a row: radix select by count (top-k) or by mass (top-p) instead of a sort, then the values around
// the cut. Shared by the device and its twin as row_pass.h is. Internal to gpu/kernels.

#include "gpu/kernels/row_pass.h"

namespace difr::gpu::kernels {

inline constexpr int kDigitBits = 8;
inline constexpr int kDigits = 1 << kDigitBits;

struct CutShared {
  std::uint32_t window[kWindow];
  std::uint64_t masses[kDigits];
  std::uint32_t counts[kDigits];
  CutReport reports[kThreads];
  std::uint64_t target, above;  ///< in entries or in fixed-point mass
  std::uint32_t prefix;         ///< digits of the key found so far
  int count;
};
// What a block may declare statically.
static_assert(sizeof(CutShared) <= 48 * 1024 && sizeof(RowShared) <= 48 * 1024);

DIFR_HD inline double weight_of(const CutTask& task, float x) {
  return std::exp((static_cast<double>(x) - static_cast<double>(task.largest)) * task.inverse_t);
}

/// One digit more of the key sought: the first, from above, with which the running sum reaches the target.
DIFR_HD inline void choose_digit(CutShared& shared, const CutTask& task, int shift) {
  const bool by_count = task.count > 0;
  const auto amount = [&](int digit) { return by_count ? shared.counts[digit] : shared.masses[digit]; };
  if (shift == 32 - kDigitBits) {
    std::uint64_t total = 0;
    for (int d = 0; d < kDigits; ++d) total += amount(d);
    shared.target = by_count ? static_cast<std::uint64_t>(task.count)
                             : static_cast<std::uint64_t>(std::ceil(task.share * static_cast<double>(total)));
    if (shared.target > total) shared.target = total;
    shared.above = 0;
  }
  int digit = kDigits - 1;
  while (digit > 0 && shared.above + amount(digit) < shared.target) shared.above += amount(digit--);
  shared.prefix |= static_cast<std::uint32_t>(digit) << shift;
}

template <class Block, class Logit>
DIFR_HD float select_value(Block& block, CutShared& shared, const Logit* row, int vocab, const CutTask& task) {
  block.each([&](int thread) {
    if (thread == 0) shared.prefix = 0;
  });
  for (int shift = 32 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    const std::uint32_t prefix = block.uniform(shared.prefix);
    // Shifted twice: a shift by all 32 bits is not defined.
    const auto known = [shift](std::uint32_t key) { return (key >> shift) >> kDigitBits; };
    block.each([&](int thread) {
      for (int d = thread; d < kDigits; d += kThreads) shared.counts[d] = 0, shared.masses[d] = 0;
    });
    block.each([&](int thread) {
      for (int i = thread; i < vocab; i += kThreads) {
        const float x = logit_of(row[i]);
        const std::uint32_t key = ordered_key(x);
        if (!is_finite(x) || known(key) != known(prefix)) continue;
        const std::uint32_t digit = (key >> shift) & (kDigits - 1);
        if (task.count > 0) {
          block.add(shared.counts[digit], 1U);
        } else {
          block.add(shared.masses[digit], fixed_mass(weight_of(task, x)));
        }
      }
    });
    block.each([&](int thread) {
      if (thread == 0) choose_digit(shared, task, shift);
    });
  }
  return ordered_value(block.uniform(shared.prefix));
}

DIFR_HD inline void merge(CutReport& r, const CutReport& o) {
  r.above += o.above;
  r.rest += o.rest;
  r.above_mass += o.above_mass;
  r.above_square += o.above_square;
  r.rest_mass += o.rest_mass;
  r.rest_square += o.rest_square;
}

/// Writes `report` and the window's values in descending order to values[kWindow]. The row must be sound.
template <class Block, class Logit>
DIFR_HD void cut_search(Block& block, CutShared& shared, const Logit* row, int vocab, const CutTask& task,
                        CutReport& report, float* values) {
  const auto cut = static_cast<double>(select_value(block, shared, row, vocab, task));
  block.each([&](int thread) {
    if (thread == 0) shared.count = 0;
  });
  block.each([&](int thread) {
    CutReport mine;
    for (int i = thread; i < vocab; i += kThreads) {
      const float x = logit_of(row[i]);
      if (!is_finite(x)) continue;
      const double distance = static_cast<double>(x) - cut, weight = weight_of(task, x);
      if (distance > task.reach) {
        ++mine.above;
        mine.above_mass += weight;
        mine.above_square += weight * weight;
      } else if (distance < -task.reach) {
        ++mine.rest;
        mine.rest_mass += weight;
        mine.rest_square += weight * weight;
      } else {
        const int slot = block.add(shared.count, 1);
        if (slot < kWindow) shared.window[slot] = ordered_key(x);
      }
    }
    shared.reports[thread] = mine;
  });
  for (int width = kThreads / 2; width > 0; width /= 2) {
    block.each([&](int thread) {
      if (thread < width) merge(shared.reports[thread], shared.reports[thread + width]);
    });
  }
  const int count = block.uniform(shared.count);
  block.each([&](int thread) {
    if (thread != 0) return;
    report = shared.reports[0];
    report.window = count;
  });
  if (count > kWindow) return;
  const int n = power_of_two_from(count);
  block.each([&](int thread) {
    for (int i = count + thread; i < n; i += kThreads) shared.window[i] = 0;
  });
  sort_descending(block, shared.window, n);
  block.each([&](int thread) {
    for (int i = thread; i < count; i += kThreads) values[i] = ordered_value(shared.window[i]);
  });
}

}  // namespace difr::gpu::kernels
