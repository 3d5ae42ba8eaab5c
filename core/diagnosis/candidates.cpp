#include "core/diagnosis/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace difr {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

void append_token(CandidateTable& table, const Claim& claim, const Evidence& evidence, std::size_t t) {
  const auto ids = evidence.ids(t);
  const auto logits = evidence.logits(t);
  const TokenId claimed = claim.output[t];
  table.logit.push_back(evidence.claimed_logit[t]);
  double mass = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != claimed) table.logit.push_back(logits[i]);
    mass += std::exp(static_cast<double>(logits[i]) - evidence.log_sum_exp[t]);
  }
  table.logit.resize((table.size() + 1) * table.m, kNone);
  const int outside = evidence.vocab - evidence.top_m;
  const double left = std::max(0.0, 1.0 - mass);
  table.tail_count.push_back(outside);
  table.tail.push_back(outside > 0 && left > 0 ? static_cast<float>(evidence.log_sum_exp[t] + std::log(left / outside)) : kNone);
  table.log_sum_exp.push_back(evidence.log_sum_exp[t]);
  table.position.push_back(static_cast<std::int32_t>(t));
  table.rank.push_back(evidence.claimed_rank[t]);
}

/// Ids in the order of the slots, so that noise lands where its logit is.
void slot_ids(const Claim& claim, const Evidence& evidence, std::size_t t, std::vector<TokenId>& ids) {
  ids.assign(1, claim.output[t]);
  for (const auto id : evidence.ids(t))
    if (id != claim.output[t]) ids.push_back(id);
}

}  // namespace

CandidateTable make_candidates(std::span<const DiagnosisRequest> requests, std::size_t max_tokens) {
  CandidateTable table;
  for (const auto& request : requests) table.m = std::max(table.m, request.evidence->top_m + 1);
  for (std::size_t r = 0; r < requests.size(); ++r) {
    const auto& [claim, evidence] = requests[r];
    table.sampling.push_back(&claim->sampling);
    if (table.size() > 0 && table.size() + claim->output.size() > max_tokens) continue;
    for (std::size_t t = 0; t < std::min(claim->output.size(), evidence->size()); ++t) {
      if (!std::isfinite(evidence->claimed_logit[t]) || !std::isfinite(evidence->log_sum_exp[t])) continue;
      append_token(table, *claim, *evidence, t);
      table.request.push_back(static_cast<std::int32_t>(r));
    }
  }
  return table;
}

std::vector<float> candidate_noise(const CandidateTable& table, std::span<const DiagnosisRequest> requests,
                                   const SamplerProfile& profile, const SeedRule& seed, int shift) {
  std::vector<float> noise(table.logit.size(), std::numeric_limits<float>::quiet_NaN());
  std::unique_ptr<NoiseSource> source;
  std::vector<TokenId> ids;
  std::vector<double> values;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto r = static_cast<std::size_t>(table.request[i]);
    const auto& [claim, evidence] = requests[r];
    if (i == 0 || table.request[i] != table.request[i - 1]) {
      const auto value = seed(r);
      source = value ? make_noise(profile, NoiseKey{*value, static_cast<int>(claim->prompt.size()), evidence->vocab, claim->choice, shift}) : nullptr;
    }
    if (!source) continue;
    slot_ids(*claim, *evidence, static_cast<std::size_t>(table.position[i]), ids);
    values.resize(ids.size());
    source->at(table.position[i], ids, values);
    std::copy(values.begin(), values.end(), noise.begin() + static_cast<std::ptrdiff_t>(i * table.m));
  }
  return noise;
}

}  // namespace difr
