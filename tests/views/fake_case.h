#pragma once
// The services of the views over memory: answers come through the event loop, as from the reader threads.

#include <QTimer>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "views/data/case_source.h"
#include "views/data/job_service.h"

namespace difr::test {

class FakeCase final : public views::CaseSource {
 public:
  explicit FakeCase(int requests = 0) { fill(requests); }

  void fill(int requests) {
    rows.clear();
    for (int i = 0; i < requests; ++i) {
      RequestSummary row;
      row.id = i + 1;
      row.provider_id = 1 + i % 3;
      row.provider = "provider-" + std::to_string(row.provider_id);
      row.external_id = "q" + std::to_string(i);
      row.prompt_tokens = 10;
      row.output_tokens = 20 + i % 100;
      row.seed = 1000 + i;
      row.exact_match = i % 11 == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0 - (i % 10) / 100.0;
      // A permutation of the rows, with ties, so that sorting is seen to do something.
      row.mean_margin = double((i * 7919) % 1000) / 1000.0;
      row.max_margin = i % 97 == 0 ? std::numeric_limits<double>::infinity() : row.mean_margin * 10;
      row.cross_entropy = 2.5;
      row.p_value = 1.0 / (1 + i % 50);
      row.q_value = row.p_value;
      row.flagged = i % 20 == 0;
      rows.push_back(row);
    }
  }

  bool is_open() const override { return open_; }
  QString path() const override { return open_ ? QStringLiteral("/cases/fake.difr") : QString(); }
  void open(const QString& file, bool) override {
    if (file.contains(QLatin1String("broken"))) {
      emit problem(
          {views::Problem::Severity::error, file, QStringLiteral("is no case file"), QStringLiteral("choose another")});
      return;
    }
    open_ = true;
    emit opened();
  }
  void close() override {
    open_ = false;
    emit closed();
  }

  void reload() override { emit changed(); }

  void load_overview(QObject* context, views::Reply<std::shared_ptr<const views::CaseOverview>> reply) override {
    later(context, [this, reply] { reply(std::shared_ptr<const views::CaseOverview>(overview())); });
  }
  void load_page(QObject* context, const RequestQuery& query,
                 views::Reply<std::vector<RequestSummary>> reply) override {
    ++pages_asked;
    later(context, [this, query, reply] {
      if (fail_pages)
        return reply(tl::unexpected(
            views::Problem{views::Problem::Severity::error, QStringLiteral("case"), QStringLiteral("disk gone"), {}}));
      reply(page(query));
    });
  }
  void count(QObject* context, const RequestQuery& query, views::Reply<std::int64_t> reply) override {
    later(context, [this, query, reply] { reply(static_cast<std::int64_t>(selected(query).size())); });
  }
  void load_request(QObject* context, std::int64_t id,
                    views::Reply<std::shared_ptr<const views::RequestDetail>> reply) override {
    later(context, [this, id, reply] { reply(std::shared_ptr<const views::RequestDetail>(detail(id))); });
  }

  void add_finding(QObject* context, const Finding& finding, views::Reply<std::int64_t> reply) override {
    later(context, [this, finding, reply] {
      findings.push_back(finding);
      findings.back().id = ++last_finding;
      findings.back().created_at = "2026-12-07T10:00:00Z";
      emit changed();
      reply(last_finding);
    });
  }
  void remove_finding(QObject* context, std::int64_t id, views::Reply<bool> reply) override {
    later(context, [this, id, reply] {
      std::erase_if(findings, [id](const Finding& finding) { return finding.id == id; });
      emit changed();
      reply(true);
    });
  }

  std::vector<RequestSummary> selected(const RequestQuery& query) const {
    std::vector<RequestSummary> out;
    for (const RequestSummary& row : rows) {
      if (!query.provider_ids.empty() &&
          std::ranges::find(query.provider_ids, row.provider_id) == query.provider_ids.end())
        continue;
      if (row.external_id.find(query.external_id_contains) == std::string::npos) continue;
      if (query.flagged_only && !row.flagged) continue;
      out.push_back(row);
    }
    const auto key = [&](const RequestSummary& row) {
      switch (query.sort) {
        case RequestSort::mean_margin:
          return row.mean_margin;
        case RequestSort::output_tokens:
          return double(row.output_tokens);
        default:
          return 0.0;
      }
    };
    if (query.sort != RequestSort::id)
      std::ranges::stable_sort(
          out, [&](const auto& a, const auto& b) { return query.descending ? key(a) > key(b) : key(a) < key(b); });
    return out;
  }
  std::vector<RequestSummary> page(const RequestQuery& query) const {
    const auto all = selected(query);
    auto from = all.begin();
    if (query.after) from = std::next(std::ranges::find(all, query.after->id, &RequestSummary::id));
    const auto n = std::min<std::ptrdiff_t>(query.limit, all.end() - from);
    return {from, from + n};
  }

  std::shared_ptr<views::CaseOverview> overview() const {
    auto out = std::make_shared<views::CaseOverview>();
    for (int p = 1; p <= 4; ++p) {
      ProviderRow provider;
      provider.id = p;
      provider.role = p == 4 ? ProviderRole::calibration : ProviderRole::subject;
      provider.config.name = p == 4 ? "trusted" : "provider-" + std::to_string(p);
      provider.config.sampler = "vllm-cpu-splitmix64";
      provider.requests = static_cast<std::int64_t>(rows.size()) / 3;
      provider.output_tokens = provider.requests * 60;
      if (!rows.empty()) out->providers.push_back(provider);
      if (rows.empty() || p == 4) continue;
      ProviderDecision decision;
      decision.provider_id = p;
      decision.name = provider.config.name;
      decision.statistic = "mean clipped margin";
      decision.exact_match = 0.99 - 0.1 * p;
      decision.score = decision.mean_clipped_margin = 0.001 * p;
      decision.threshold = 0.002;
      decision.p_value = p == 3 ? 1e-5 : 0.4;
      decision.clip = 0.07;
      decision.verdict = p == 3 ? Outcome::fail : p == 2 ? Outcome::undetermined : Outcome::pass;
      decision.reason = "because of reason " + std::to_string(p);
      out->decisions.push_back(decision);
      views::ProviderScores scores{p, {}};
      for (int i = 0; i < 96; ++i) scores.scores.push_back(0.0003 * p * (1 + i % 7));
      out->scores.push_back(scores);
    }
    if (!rows.empty()) {
      out->trusted_scores["mean clipped margin"] = std::vector<double>(96, 0.0003);
      out->calibration_name = QStringLiteral("trusted");
      out->clip = 0.07;
      out->decision_options = decision_options;
      out->findings = findings;
      if (recomputed) {
        out->run.emplace();
        out->run->id = 1;
        out->run->requests_done = out->run->requests_total = static_cast<std::int64_t>(rows.size());
        out->run->environment.model_name = "demo";
      }
    }
    return out;
  }

  std::shared_ptr<views::RequestDetail> detail(std::int64_t id) const {
    auto out = std::make_shared<views::RequestDetail>();
    out->claim.id = id;
    out->claim.provider_id = 1;
    out->claim.external_id = "q" + std::to_string(id - 1);
    out->claim.prompt = {1, 2, 3};
    out->claim.seed = 7;
    out->provider = QStringLiteral("provider-1");
    out->clip = 0.07;
    const std::size_t n = output_tokens;
    const int m = 4;
    Evidence evidence;
    evidence.vocab = 100;
    evidence.top_m = m;
    TokenScores scores;
    scores.resize(n);
    for (std::size_t t = 0; t < n; ++t) {
      const auto claimed = static_cast<TokenId>(t % 50);
      out->claim.output.push_back(claimed);
      const bool differs = t % 9 == 4;
      scores.margin[t] = scores.margin_hi[t] = differs ? 0.05F : 0.0F;
      scores.gap[t] = differs ? -0.05F : 1.0F;
      scores.log_prob[t] = -0.5F;
      scores.logit_rank[t] = differs ? 1 : 0;
      scores.gumbel_rank[t] = differs ? 1 : 0;
      scores.reference_token[t] = differs ? claimed + 1 : claimed;
      scores.flags[t] = differs ? 0 : TokenFlag::exact_match;
      evidence.claimed_logit.push_back(differs ? 4.0F : 5.0F);
      evidence.claimed_rank.push_back(differs ? 1 : 0);
      evidence.log_sum_exp.push_back(5.5F);
      for (int c = 0; c < m; ++c) {
        evidence.top_ids.push_back(differs ? (c == 0 ? claimed + 1 : c == 1 ? claimed : claimed + c) : claimed + c);
        evidence.top_logits.push_back(5.0F - static_cast<float>(c));
      }
    }
    if (n > 12) {
      scores.margin[12] = scores.margin_hi[12] = std::numeric_limits<float>::infinity();
      scores.flags[12] = TokenFlag::filtered;
    }
    out->evidence = evidence;
    out->scores = scores;
    return out;
  }

  std::vector<RequestSummary> rows;
  std::size_t output_tokens = 40;
  int pages_asked = 0;
  int delay_ms = 0;
  bool fail_pages = false;
  bool recomputed = true;
  DecisionOptions decision_options;
  std::vector<Finding> findings;
  std::int64_t last_finding = 0;

 private:
  void later(QObject* context, std::function<void()> answer) {
    QTimer::singleShot(delay_ms, context, std::move(answer));
  }
  bool open_ = false;
};

class FakeJobs final : public views::JobService {
 public:
  std::vector<views::JobInfo> jobs() const override { return list; }
  QString suggested_model_dir() const override { return QStringLiteral("/models/demo"); }
  void import_logs(const QStringList& logs, ProviderRole) override { imported << logs; }
  void recompute(const views::RecomputeRequest& request) override { recomputed.push_back(request); }
  void decide(const DecisionOptions& options) override { decided.push_back(options); }
  void open_demo() override { ++demos; }
  void cancel(quint64 id) override { cancelled.push_back(id); }
  void clear_finished() override {
    std::erase_if(list, [](const views::JobInfo& job) { return !job.active(); });
    emit changed();
  }
  void add(const views::JobInfo& job) {
    list.push_back(job);
    emit changed();
  }
  void advance(quint64 id, qint64 done) {
    for (auto& job : list)
      if (job.id == id) job.done = done;
    emit updated(id);
  }

  std::vector<views::JobInfo> list;
  QStringList imported;
  std::vector<views::RecomputeRequest> recomputed;
  std::vector<DecisionOptions> decided;
  std::vector<quint64> cancelled;
  int demos = 0;
};

}  // namespace difr::test
