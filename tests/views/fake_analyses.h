#pragma once
// The analyses of the views by script: fixed answers, through the event loop or when told to.

#include <QPointer>
#include <QTimer>
#include <map>
#include <utility>
#include <vector>

#include "views/data/analysis_service.h"

namespace difr::test {

/// Answers when told to, so that a test can look at a page that waits.
class FakeAnalyses final : public views::AnalysisService {
 public:
  quint64 diagnose(QObject* context, std::int64_t provider_id,
                   views::Reply<std::shared_ptr<const Diagnosis>> reply) override {
    asked.push_back(provider_id);
    return later(context, [this, provider_id, reply] {
      if (fail) return reply(tl::unexpected(broken()));
      reply(std::make_shared<const Diagnosis>(diagnosis(provider_id)));
    });
  }
  quint64 study_calibration(QObject* context, std::int64_t provider_id,
                            views::Reply<std::shared_ptr<const CalibrationStudy>> reply) override {
    asked.push_back(provider_id);
    return later(context, [this, provider_id, reply] {
      if (fail) return reply(tl::unexpected(broken()));
      reply(std::make_shared<const CalibrationStudy>(study(provider_id)));
    });
  }
  quint64 preview_decision(QObject* context, const DecisionOptions& options,
                           views::Reply<std::shared_ptr<const DecisionPreview>> reply) override {
    previewed.push_back(options);
    return later(context, [this, options, reply] {
      if (fail) return reply(tl::unexpected(broken()));
      reply(std::make_shared<const DecisionPreview>(preview(options)));
    });
  }
  void cancel(quint64 token) override {
    if (waiting.erase(token)) cancelled.push_back(token);
  }

  static Diagnosis diagnosis(std::int64_t provider_id) {
    Diagnosis out;
    out.provider = "provider-" + std::to_string(provider_id);
    out.tokens = 3910;
    out.exact_match = 0.9486;
    out.separation = 3;
    const auto add = [&](ExplanationKind kind, double log_likelihood, std::vector<FittedParameter> parameters) {
      Explanation e;
      e.kind = kind;
      e.log_likelihood = log_likelihood;
      e.parameters_fitted = static_cast<int>(parameters.size());
      e.parameters = std::move(parameters);
      e.text = "What " + std::string(to_string(kind)) + " says.";
      e.separates = "more tokens";
      out.explanations.push_back(std::move(e));
    };
    add(ExplanationKind::logit_noise, -515.6, {{"sigma", 0.1404, 0.1307, 0.1509, {}}});
    add(ExplanationKind::position_trend, -515.2,
        {{"sigma", 0.13, 0.12, 0.14, {}}, {"slope_per_100_tokens", 0.05, 0.05, 0.13, {}}});
    add(ExplanationKind::honest, -1700, {});
    add(ExplanationKind::seed_rule, -9000, {{"rule", 0.3, 0.3, 0.3, "the seed of the next request"}});
    out.not_separable = {{ExplanationKind::logit_noise, ExplanationKind::position_trend}};
    return out;
  }
  static CalibrationStudy study(std::int64_t provider_id) {
    CalibrationStudy out;
    out.facts.name = "trusted";
    out.facts.requests = 96;
    out.facts.tokens = 11228;
    out.facts.clip = 0.07;
    out.facts.studied = true;
    for (int i = 0; i < 96; ++i) out.request_scores.push_back(0.0001 * i);
    for (const double alpha : {0.1, 0.05, 0.01})
      out.promises.push_back({alpha, upper_tolerance_limit(out.request_scores, alpha, 0.05)});
    out.environments.push_back(out.facts);
    EnvironmentFacts other = out.facts;
    other.studied = false;
    other.name = "another GPU";
    other.drift = DriftCheck{0.001, 0.002, 0.02};
    out.environments.push_back(other);
    out.mixture_threshold = 0.003;
    PowerStudy power;
    power.provider_id = provider_id;
    power.provider = "provider-" + std::to_string(provider_id);
    power.statistic = provider_id == 2 ? kStandardisedMargin : kClippedMargin;
    power.request_scores = {0.001, 0.02, 0.03};
    power.roc = roc_curve(out.request_scores, power.request_scores);
    power.roc_auc = auc(power.roc);
    if (provider_id == 2) {
      power.refused = "it declares another sampling";
    } else {
      for (const std::size_t tokens : {1U, 10U, 100U, 1000U}) {
        PowerPoint point;
        point.tokens = tokens;
        point.auc = 0.5 + 0.1 * static_cast<double>(power.margin.size());
        point.auc_band = {point.auc - 0.05, point.auc + 0.05};
        point.tpr_1 = 0.2 * static_cast<double>(power.margin.size());
        power.margin.push_back(point);
      }
      power.gap = power.margin;
    }
    out.power = power;
    return out;
  }
  /// Three providers with p = 0.4, 0.004 and 1e-5, as the levels then have it.
  static DecisionPreview preview(const DecisionOptions& options) {
    DecisionPreview out;
    out.options = options;
    out.calibration_requests = 96;
    out.any_false_alarm = 3 * options.alpha;
    for (const auto& [id, p] : {std::pair<int, double>{1, 0.4}, {2, 0.004}, {3, 1e-5}}) {
      ProviderPreview row;
      row.decision.provider_id = id;
      row.decision.name = "provider-" + std::to_string(id);
      row.decision.statistic = kClippedMargin;
      row.decision.requests = 96;
      row.decision.tokens = 9600;
      row.decision.score = 0.001 * id;
      row.decision.threshold = 0.002;
      row.decision.p_value = p;
      row.decision.verdict = p <= options.alpha ? Outcome::fail : p <= 0.01 ? Outcome::undetermined : Outcome::pass;
      row.decision.reason = "because of reason " + std::to_string(id);
      row.q_value = p;
      row.flagged = static_cast<std::size_t>(id) * 10;
      row.limit = flag_limit(96, 96, options.request_alpha);
      out.providers.push_back(row);
    }
    if (options.alpha < 0.0005) out.cannot.push_back("That rate is out of reach.");
    return out;
  }
  static views::Problem broken() {
    return {views::Problem::Severity::error, QStringLiteral("case"), QStringLiteral("disk gone"), {}};
  }
  void answer_all() {
    for (auto& [token, task] : std::exchange(waiting, {}))
      if (task.first) task.second();
  }

  std::vector<std::int64_t> asked;
  std::vector<DecisionOptions> previewed;
  std::vector<quint64> cancelled;
  std::map<quint64, std::pair<QPointer<QObject>, std::function<void()>>> waiting;
  bool hold = false;  ///< keep the answers until answer_all()
  bool fail = false;

 private:
  quint64 later(QObject* context, std::function<void()> answer) {
    const quint64 token = next_++;
    waiting[token] = {context, std::move(answer)};
    if (!hold)
      QTimer::singleShot(0, this, [this, token] {
        const auto found = waiting.find(token);
        if (found == waiting.end()) return;
        const auto task = found->second;
        waiting.erase(found);
        if (task.first) task.second();
      });
    return token;
  }
  quint64 next_ = 1;
};

}  // namespace difr::test
