#pragma once
// A small case with everything in it, made from a seed.

#include <QTemporaryDir>
#include <random>

#include "core/casefile/case_file.h"

namespace difr::testing {

inline Claim make_claim(std::mt19937& random, std::int64_t provider_id, std::int64_t record, int tokens = 12) {
  Claim claim;
  claim.provider_id = provider_id;
  claim.record = record;
  claim.external_id = "q" + std::to_string(record);
  for (int i = 0; i < 5; ++i) claim.prompt.push_back(static_cast<TokenId>(random() % 2048));
  for (int i = 0; i < tokens; ++i) claim.output.push_back(static_cast<TokenId>(random() % 2048));
  claim.seed = static_cast<std::int64_t>(random());
  claim.seed_origin = SeedOrigin::requested;
  claim.finish_reason = "stop";
  return claim;
}

inline Evidence make_evidence(std::mt19937& random, std::size_t tokens, int vocab = 256, int top_m = 16) {
  std::normal_distribution<float> normal(0, 3);
  Evidence e;
  e.vocab = vocab;
  e.top_m = top_m;
  for (std::size_t t = 0; t < tokens; ++t) {
    std::vector<std::pair<float, TokenId>> row;
    for (int v = 0; v < vocab; ++v) row.emplace_back(-normal(random), v);
    std::sort(row.begin(), row.end());
    e.claimed_logit.push_back(-row[0].first);
    e.log_sum_exp.push_back(normal(random) + 12);
    e.claimed_rank.push_back(0);
    for (int j = 0; j < top_m; ++j) {
      e.top_ids.push_back(row[static_cast<std::size_t>(j)].second);
      e.top_logits.push_back(-row[static_cast<std::size_t>(j)].first);
    }
  }
  return e;
}

inline TokenScores make_scores(std::mt19937& random, std::size_t tokens) {
  TokenScores s;
  s.resize(tokens);
  for (std::size_t t = 0; t < tokens; ++t) {
    s.margin[t] = s.margin_hi[t] = static_cast<float>(random() % 1000) / 1000.f;
    s.gap[t] = -s.margin[t];
    s.log_prob[t] = -static_cast<float>(random() % 1000) / 100.f;
    s.logit_rank[t] = static_cast<int>(random() % 9);
    s.reference_token[t] = static_cast<TokenId>(random() % 2048);
    s.flags[t] = random() % 2 ? TokenFlag::exact_match : 0;
  }
  return s;
}

inline ReferenceEnvironment environment(const std::string& dtype = "fp32") {
  return {"tiny", "abcd", dtype, "cpu", "difr 0.1", "", 2, 4096};
}

/// One source, `providers` providers, `requests` requests each, one run with scores of all.
inline void fill(CaseFile& file, int providers = 2, int requests = 7) {
  std::mt19937 random(7);
  SourceRow source;
  source.path = "/nowhere/log.json";
  source.sha256 = std::string(64, 'a');
  source.format = "difr-samples";
  const auto source_id = file.add_source(source);
  for (int p = 0; p < providers; ++p) {
    ProviderConfig config;
    config.name = "provider-" + std::to_string(p);
    const auto provider = file.add_provider(source_id, ProviderRole::subject, config);
    std::vector<Claim> claims;
    for (int i = 0; i < requests; ++i) claims.push_back(make_claim(random, provider, i));
    file.add_claims(claims);
  }
  file.finish_source(source_id, providers * requests, 0);
  const auto run = file.begin_run(environment());
  std::vector<ScoredRequest> batch;
  for (const auto id : file.pending_requests(run, {}))
    batch.push_back({id, make_evidence(random, 12), "profile", make_scores(random, 12)});
  file.store_batch(run, batch);
  file.set_run_state(run, RunState::done);
}

}  // namespace difr::testing
