#pragma once
// A small case on disk with synthetic scores: one trusted log, one provider like it and one far off. Decided for real.

#include <filesystem>
#include <fstream>

#include "core/casefile/case_file.h"
#include "core/util/sha256.h"
#include "core/verdict/decide.h"
#include "sample_model.h"

namespace difr::test {

inline constexpr std::size_t sample_requests = 60, sample_tokens = 40;

inline TokenScores synthetic_scores(double off_share, double scale, Random& random) {
  TokenScores s;
  s.resize(sample_tokens);
  for (std::size_t t = 0; t < sample_tokens; ++t) {
    const bool off = random.next() < off_share;
    s.margin[t] = s.margin_hi[t] = off ? static_cast<float>(-scale * std::log(random.next())) : 0.0F;
    s.gap[t] = off ? -s.margin[t] : static_cast<float>(-std::log(random.next()));
    s.runner_up[t] = static_cast<float>(-std::log(random.next()));
    s.log_prob[t] = static_cast<float>(std::log(random.next()));
    s.logit_rank[t] = s.gumbel_rank[t] = off ? 1 : 0;
    s.reference_token[t] = off ? 3 : static_cast<TokenId>(t % 16);
    s.filter_distance[t] = 0;
    s.flags[t] = off ? 0 : exact_match;
  }
  return s;
}

inline Evidence synthetic_evidence(const Claim& claim) {
  Evidence e;
  e.vocab = 16;
  e.top_m = 2;
  for (const TokenId id : claim.output) {
    e.claimed_logit.push_back(3);
    e.log_sum_exp.push_back(4);
    e.claimed_rank.push_back(0);
    e.top_ids.insert(e.top_ids.end(), {id, (id + 1) % 16});
    e.top_logits.insert(e.top_logits.end(), {3.0F, 1.0F});
  }
  return e;
}

struct SampleCase {
  std::filesystem::path folder, case_path, log_path;
};

inline void add_scored_provider(CaseFile& file, std::int64_t source, std::int64_t run, ProviderRole role,
                                const std::string& name, double off_share, double scale, std::uint64_t seed,
                                std::vector<ScoredProvider>& out) {
  ProviderConfig config;
  config.name = name;
  config.model = "toy";
  config.engine = "vllm";
  config.sampler = "vllm-cpu-splitmix64";
  const std::int64_t id = file.add_provider(source, role, config);
  std::vector<Claim> claims(sample_requests);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    claims[i].provider_id = id;
    claims[i].external_id = name + "-q" + std::to_string(i);
    claims[i].record = static_cast<std::int64_t>(i);
    claims[i].prompt = {1, 2, static_cast<TokenId>(i % 16)};
    for (std::size_t t = 0; t < sample_tokens; ++t) claims[i].output.push_back(static_cast<TokenId>(t % 16));
    claims[i].seed = static_cast<std::int64_t>(1000 + i);
    claims[i].seed_origin = SeedOrigin::requested;
  }
  file.add_claims(claims);
  Random random(seed);
  ScoredProvider scored{id, name, config.sampler, config.sampling, {}, {}};
  std::vector<ScoredRequest> batch;
  file.for_each_claim(id, [&](Claim&& claim) {
    batch.push_back({claim.id, synthetic_evidence(claim), config.sampler, synthetic_scores(off_share, scale, random)});
    scored.requests.push_back({claim.id, claim.external_id, batch.back().scores});
    return true;
  });
  file.store_batch(run, batch);
  out.push_back(std::move(scored));
}

inline SampleCase make_sample_case(const std::filesystem::path& folder) {
  SampleCase sample{folder, folder / "case.difr", folder / "provider.json"};
  std::ofstream(sample.log_path) << "{\"a log\": true}\n";
  CaseFile file = CaseFile::open(sample.case_path, OpenMode::create_or_open);
  SourceRow source;
  source.path = sample.log_path.string();
  source.sha256 = sha256_file(sample.log_path);
  source.size = 16;
  source.format = "difr-samples";
  const std::int64_t source_id = file.add_source(source);
  const std::vector<SourceIssue> issues = {{source_id, 4, 99, true, "missing-seed", "has no seed", "log the seed"}};
  file.add_issues(issues);
  const std::int64_t run = file.begin_run({"toy", std::string(64, 'e'), "fp32", "cpu", "test engine", "", 1, 2048});
  std::vector<ScoredProvider> trusted, subjects;
  add_scored_provider(file, source_id, run, ProviderRole::calibration, "trusted", 0.05, 0.05, 1, trusted);
  add_scored_provider(file, source_id, run, ProviderRole::subject, "like-trusted", 0.05, 0.05, 2, subjects);
  add_scored_provider(file, source_id, run, ProviderRole::subject, "far-off", 0.4, 0.8, 3, subjects);
  file.finish_source(source_id, 180, 1);  // seals the claims: after they are in
  file.set_run_state(run, RunState::done);
  const Calibration calibration = make_calibration("trusted logs", trusted, "toy fp32 on cpu");
  const Decisions decisions = decide(calibration, subjects);
  file.store_decisions(run, file.store_calibration(run, calibration), decisions.providers, decisions.requests);
  return sample;
}

inline ReportOptions sample_options() {
  ReportOptions options;
  options.subject = "Example";
  options.created_at = "2026-12-01T04:00:00Z";
  options.token_text = [](TokenId id) { return " w" + std::to_string(id); };
  return options;
}

}  // namespace difr::test
