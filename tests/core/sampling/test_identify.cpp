// Identification on real provider logs: the demo case and its wrong-seed, cheating and greedy siblings.

#include <QtTest>
#include <algorithm>
#include <cmath>
#include <random>

#include "core/sampling/identify.h"
#include "core/scoring/token_difr.h"
#include "core/statistics/intervals.h"
#include "core/support/tiny_llama.h"

using namespace difr;
using namespace difr::test;

namespace {

struct Log {
  std::vector<Claim> claims;
  std::vector<Evidence> evidence;
  [[nodiscard]] std::vector<IdentifySample> samples() const {
    std::vector<IdentifySample> out;
    for (std::size_t i = 0; i < claims.size(); ++i) out.push_back({&claims[i], &evidence[i]});
    return out;
  }
};

}  // namespace

class TestIdentify : public QObject {
  Q_OBJECT

 private slots:
  void honestIsUnique() {
    const auto log = load("honest", 8);
    const auto samples = log.samples();
    QElapsedTimer clock;
    clock.start();
    const auto r = identify_sampler(samples);
    qInfo("%s; %lld ms, %zu candidates", r.text.c_str(), static_cast<long long>(clock.elapsed()), r.candidates.size());
    QVERIFY(clock.elapsed() < 10000);
    QCOMPARE(r.conclusion, Conclusion::unique);
    QCOMPARE(r.candidates[0].profile, std::string("vllm-cpu-splitmix64"));
    QCOMPARE(r.candidates[0].shift, 0);
    QVERIFY(r.candidates[0].match_rate >= 0.97);
    // Every other hypothesis is at chance: within 4.5 sigma, for about a hundred of them.
    for (std::size_t i = 1; i < r.candidates.size(); ++i) {
      const auto& c = r.candidates[i];
      if (c.profile == "greedy") continue;
      QVERIFY2(std::abs(c.z) < 4.5, qPrintable(QString("%1 %2: %3").arg(c.profile.c_str()).arg(c.shift).arg(c.z)));
    }
    QVERIFY(r.plausibility.plausible);
    QVERIFY(r.plausibility.low < 0 && r.plausibility.high > 0);
    QVERIFY(r.not_tested.size() >= 7);
  }

  void filteredLogIsUnique() {
    const auto log = load("honest-t07-topp09-topk50", 8);
    const auto r = identify_sampler(log.samples());
    qInfo("%s", r.text.c_str());
    QCOMPARE(r.conclusion, Conclusion::unique);
    QCOMPARE(r.candidates[0].profile, std::string("vllm-cpu-splitmix64"));
    QVERIFY(r.candidates[0].match_rate >= 0.97);
  }

  void wrongSeedIsNoneAndPlausible() {
    const auto r = identify_sampler(load("wrong-seed", 8).samples());
    qInfo("%s", r.text.c_str());
    QCOMPARE(r.conclusion, Conclusion::none);
    QVERIFY(r.plausibility.plausible);
    QVERIFY(r.candidates[0].z < 5);
  }

  void cheatsKeepTheirSampler() {
    for (const char* name : {"int4", "sampling-bug", "temp-1.1"}) {
      const auto r = identify_sampler(load(name, 6).samples());
      QCOMPARE(r.conclusion, Conclusion::unique);
      QCOMPARE(r.candidates[0].profile, std::string("vllm-cpu-splitmix64"));
    }
  }

  void greedyIsGreedy() {
    const auto r = identify_sampler(load("greedy", 6).samples());
    qInfo("%s", r.text.c_str());
    QCOMPARE(r.conclusion, Conclusion::unique);
    QCOMPARE(r.candidates[0].profile, std::string("greedy"));
    // And greedy output that was declared as sampling is found out too.
    auto log = load("greedy", 6);
    for (auto& claim : log.claims) claim.sampling.temperature = 1.0;
    const auto lied = identify_sampler(log.samples());
    QCOMPARE(lied.conclusion, Conclusion::unique);
    QCOMPARE(lied.candidates[0].profile, std::string("greedy"));
    QVERIFY(!lied.plausibility.plausible);
  }

  void everyProfileIsFoundInItsOwnTokens() {
    // Tokens drawn here from the model's rows by each profile's own noise: a check of the search, not of the noise.
    const auto rows = load("honest", 4);
    for (const auto& profile : sampler_profiles()) {
      if (!reproducible(profile) || profile.family == SamplerFamily::greedy) continue;
      for (const int shift : {0, 1}) {
        Log log = rows;
        resample(log, profile, shift);
        const auto r = identify_sampler(log.samples(), {.max_tokens = 200, .shifts = {0, 1}, .all_orders = false});
        const QByteArray where = QByteArray::fromStdString(std::string(profile.id) + ": " + r.text);
        QVERIFY2(r.conclusion != Conclusion::none, where);
        // The same stream under two names is one noise: those two cannot be told apart without filters.
        const bool found = std::ranges::any_of(r.candidates, [&](const SamplerCandidate& c) {
          return c.profile == profile.id && c.shift == shift && c.match_rate == r.candidates[0].match_rate;
        });
        QVERIFY2(found, where);
      }
    }
  }

  void windowsSeeAChangeOfVersion() {
    Log log = load("honest", 8);
    for (std::size_t i = 4; i < 8; ++i) {
      Log half{{log.claims[i]}, {log.evidence[i]}};
      resample(half, *find_profile("vllm-mrv2-murmur"), 0);
      log.claims[i] = half.claims[0];
      log.evidence[i] = half.evidence[0];
    }
    const auto windows = identify_windows(log.samples(), 2);
    QCOMPARE(windows.size(), std::size_t{2});
    QCOMPARE(windows[0].result.candidates[0].profile, std::string("vllm-cpu-splitmix64"));
    QCOMPARE(windows[1].result.candidates[0].profile, std::string("vllm-mrv2-murmur"));
    QCOMPARE(windows[1].first, std::size_t{4});
  }

  void noSeedNothingTested() {
    auto log = load("honest", 2);
    for (auto& claim : log.claims) claim.seed.reset();
    const auto r = identify_sampler(log.samples());
    QCOMPARE(r.conclusion, Conclusion::none);
    QVERIFY(r.plausibility.tokens > 0);
    QVERIFY(identify_sampler({}).candidates.empty());
  }

  void wilsonInterval() {
    // Brown, Cai and DasGupta's textbook case: 0 of 10 gives (0, 0.2775).
    QVERIFY(std::abs(wilson_interval(0, 10, 0.95).high - 0.27753) < 1e-4);
    QVERIFY(std::abs(wilson_interval(5, 10, 0.95).low - 0.23659) < 1e-4);
  }

 private:
  const Log& load(const std::string& name, std::size_t requests) {
    const auto key = name + std::to_string(requests);
    if (const auto found = logs_.find(key); found != logs_.end()) return found->second;
    Log log;
    log.claims = demo_claims(DIFR_DEMO_DATA "/logs/" + name + ".json", requests);
    for (auto& claim : log.claims) {
      if (claim.output.size() > 64) claim.output.resize(64);
      const auto logits = model_.logits(claim.prompt, claim.output);
      Evidence evidence;
      for (std::size_t t = 0; t < claim.output.size(); ++t) {
        append_evidence(evidence, {logits.data() + t * TinyLlama::kVocab, TinyLlama::kVocab}, claim.output[t], 128);
      }
      log.evidence.push_back(std::move(evidence));
    }
    return logs_[key] = std::move(log);
  }

  /// Replaces each claimed token by what the profile draws from the same row's candidates.
  static void resample(Log& log, const SamplerProfile& profile, int shift) {
    for (std::size_t r = 0; r < log.claims.size(); ++r) {
      auto& claim = log.claims[r];
      auto& evidence = log.evidence[r];
      claim.sampling.top_k = profile.family == SamplerFamily::inverse_cdf ? 40 : 0;
      const NoiseKey key{.seed = *claim.seed,
                         .prompt_len = static_cast<int>(claim.prompt.size()),
                         .vocab = evidence.vocab,
                         .shift = shift};
      auto noise = make_noise(profile, key);
      auto uniform = make_uniform(profile, key);
      for (std::size_t t = 0; t < evidence.size(); ++t) {
        const auto ids = evidence.ids(t);
        const auto logits = evidence.logits(t);
        std::size_t best = 0;
        if (uniform != nullptr) {
          std::vector<double> p(40);
          for (std::size_t i = 0; i < p.size(); ++i) p[i] = std::exp(static_cast<double>(logits[i] - logits[0]));
          double total = 0, sum = 0;
          for (const double v : p) total += v;
          const double u = uniform->at(static_cast<int>(t));
          while (best < 39 && (sum += p[best]) < u * total) ++best;
        } else {
          std::vector<TokenId> column(ids.begin(), ids.end());
          if (profile.column_is_rank) std::iota(column.begin(), column.end(), 0);
          std::vector<double> g(ids.size());
          noise->at(static_cast<int>(t), column, g);
          for (std::size_t i = 1; i < g.size(); ++i) {
            if (logits[i] + g[i] > logits[best] + g[best]) best = i;
          }
        }
        claim.output[t] = ids[best];
        evidence.claimed_logit[t] = logits[best];
        evidence.claimed_rank[t] = static_cast<int>(best);
      }
    }
  }

  TinyLlama model_{DIFR_DEMO_DATA "/model"};
  std::map<std::string, Log> logs_;
};

QTEST_APPLESS_MAIN(TestIdentify)
#include "test_identify.moc"
