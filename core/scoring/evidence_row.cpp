#include "core/scoring/evidence_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/scoring/scoring_rows.h"
#include "core/scoring/token_difr.h"
#include "core/util/error.h"

namespace difr {

RowSummary summarise_row(std::span<const float> logits, TokenId claimed) {
  if (claimed < 0 || static_cast<std::size_t>(claimed) >= logits.size()) {
    throw bad_input(fmt::format("token {}", claimed),
                    fmt::format("the claimed id is outside the reference's vocabulary of {}", logits.size()),
                    "check that the log and the reference model belong together");
  }
  RowSummary out;
  const auto level = vector_level();
  const auto extent = row_extent(level, logits, logits[static_cast<std::size_t>(claimed)]);
  if (!extent.sound || extent.largest == -std::numeric_limits<float>::infinity()) return out;
  // In blocks, so that no second row is held.
  std::array<double, 2048> weights;
  double sum = 0.0;
  for (std::size_t begin = 0; begin < logits.size(); begin += weights.size()) {
    const auto part = logits.subspan(begin, std::min(weights.size(), logits.size() - begin));
    row_weights(level, part, extent.largest, 1.0, weights);
    sum += row_sum(level, std::span(weights).first(part.size()));
  }
  out.claimed_rank = extent.above_own;
  out.log_sum_exp = extent.largest + std::log(sum);
  out.finite = true;
  return out;
}

void append_evidence(Evidence& evidence, std::span<const float> logits, TokenId claimed, int top_m) {
  if (top_m < 1) throw bad_input("top_m", "must be at least 1", "128 is the usual choice");
  const int vocab = static_cast<int>(logits.size());
  const int m = std::min(top_m, vocab);
  if (evidence.size() == 0) {
    evidence.vocab = vocab;
    evidence.top_m = m;
  } else if (evidence.vocab != vocab || evidence.top_m != m) {
    throw bad_input("evidence", fmt::format("rows of width {} and {} cannot be mixed", evidence.vocab, vocab));
  }
  const auto row = summarise_row(logits, claimed);
  const auto count = static_cast<std::size_t>(m);
  if (!row.finite) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    evidence.claimed_logit.push_back(kNan);
    evidence.log_sum_exp.push_back(kNan);
    evidence.claimed_rank.push_back(-1);
    evidence.top_ids.insert(evidence.top_ids.end(), count, -1);
    evidence.top_logits.insert(evidence.top_logits.end(), count, kNan);
    return;
  }
  evidence.claimed_logit.push_back(logits[static_cast<std::size_t>(claimed)]);
  evidence.log_sum_exp.push_back(static_cast<float>(row.log_sum_exp));
  evidence.claimed_rank.push_back(row.claimed_rank);

  std::vector<float> copy(logits.begin(), logits.end());
  std::nth_element(copy.begin(), copy.begin() + (m - 1), copy.end(), std::greater<>{});
  const float cut = copy[count - 1];
  std::vector<TokenId> ids, ties;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > cut) ids.push_back(static_cast<TokenId>(i));
    if (logits[i] == cut && ties.size() < count) ties.push_back(static_cast<TokenId>(i));
  }
  std::ranges::sort(ids, [&](TokenId a, TokenId b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  ids.insert(ids.end(), ties.begin(), ties.begin() + static_cast<std::ptrdiff_t>(count - ids.size()));
  for (const TokenId id : ids) {
    evidence.top_ids.push_back(id);
    evidence.top_logits.push_back(logits[static_cast<std::size_t>(id)]);
  }
}

}  // namespace difr
