// What the charts of the report show: which numbers, over which range.

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/report/chart.h"
#include "core/report/text.h"
#include "core/verdict/decide.h"

namespace difr::report {
namespace {

constexpr int bins = 40;

/// 1, 2 or 5 times a power of ten, so that about `wanted` steps fill `span`.
double nice_step(double span, int wanted) {
  const double raw = span / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double fraction = raw / power;
  return power * (fraction <= 1 ? 1 : fraction <= 2 ? 2 : fraction <= 5 ? 5 : 10);
}

std::string tick_label(double value) {
  std::string text = number(value, 3);
  if (text.find('.') != std::string::npos && text.find('e') == std::string::npos) {
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::vector<Tick> linear_ticks(double from, double to, int wanted) {
  std::vector<Tick> ticks;
  if (!(to > from)) return {{from, tick_label(from)}};
  const double step = nice_step(to - from, wanted);
  const double first = std::ceil(from / step - 1e-9);
  for (double k = first; k * step <= to + step * 1e-9; ++k) ticks.push_back({k * step, tick_label(k * step)});
  return ticks;
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

void count_into(std::vector<std::size_t>& counts, std::span<const double> scores, const Histogram& h) {
  counts.assign(h.edges.size() - 1, 0);
  for (const double score : scores) {
    if (!std::isfinite(score)) continue;
    const auto upper = std::upper_bound(h.edges.begin(), h.edges.end(), score);
    const auto bin =
        std::clamp<std::ptrdiff_t>(upper - h.edges.begin() - 1, 0, static_cast<std::ptrdiff_t>(counts.size()) - 1);
    ++counts[static_cast<std::size_t>(bin)];
  }
}

double total(const std::vector<std::size_t>& counts) {
  double sum = 0;
  for (const std::size_t n : counts) sum += static_cast<double>(n);
  return sum;
}

/// Ticks of a compressed axis: zero and powers of ten (and threes, while there is room).
std::vector<Tick> compressed_ticks(const Histogram& h) {
  std::vector<Tick> ticks{{0, "0"}};
  const double low = h.scale / 3, high = h.edges.back();
  for (int power = static_cast<int>(std::floor(std::log10(low))); std::pow(10.0, power) <= high; ++power) {
    for (const double lead : {1.0, 3.0}) {
      const double value = lead * std::pow(10.0, power);
      if (value >= low && value <= high) ticks.push_back({std::asinh(value / h.scale), tick_label(value)});
    }
  }
  if (ticks.size() > 9) {  // powers of ten only
    std::erase_if(ticks, [&](const Tick& t) { return t.label.find('3') != std::string::npos; });
  }
  return ticks;
}

Ink ink_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass:
      return Ink::pass;
    case Outcome::fail:
      return Ink::fail;
    case Outcome::undetermined:
      break;
  }
  return Ink::undetermined;
}

}  // namespace

Histogram histogram(std::span<const double> provider, std::span<const double> calibration, double mark) {
  Histogram h;
  double low = 0, high = std::isfinite(mark) ? std::max(mark, 0.0) : 0.0;
  for (const auto scores : {provider, calibration}) {
    for (const double s : scores) {
      if (std::isfinite(s)) low = std::min(low, s), high = std::max(high, s);
    }
  }
  if (!(high > low)) high = low + 1;
  const auto trusted = calibration.empty() ? provider : calibration;
  // A cheating provider may score a thousand times the honest band; a linear axis would hide the honest shape.
  h.scale = std::max(quantile({trusted.begin(), trusted.end()}, 0.5), high * 1e-4);
  h.compressed = low >= 0 && high > 12 * h.scale;
  h.edges.resize(bins + 1);
  const double a = h.compressed ? 0 : low, b = h.compressed ? std::asinh(high / h.scale) : high;
  for (int i = 0; i <= bins; ++i) {
    const double at = a + (b - a) * i / bins;
    h.edges[static_cast<std::size_t>(i)] = h.compressed ? h.scale * std::sinh(at) : at;
  }
  count_into(h.provider, provider, h);
  count_into(h.calibration, calibration, h);
  return h;
}

Histogram score_counts(const ReportProvider& provider, const ReportCalibration* calibration) {
  const auto& d = provider.decision;
  const double mark =
      std::max(std::isfinite(d.score) ? d.score : 0.0, d.threshold && std::isfinite(*d.threshold) ? *d.threshold : 0.0);
  return histogram(provider.request_scores, trusted_scores(provider, calibration), mark);
}

std::string score_unit(const ProviderDecision& decision) {
  if (decision.statistic.empty() || decision.statistic == kClippedMargin) return "logits";
  return "multiples of what honest noise predicts";
}

std::span<const double> trusted_scores(const ReportProvider& provider, const ReportCalibration* calibration) {
  if (!calibration) return {};
  const auto found = calibration->request_scores.find(provider.decision.statistic);
  return found == calibration->request_scores.end() ? std::span<const double>()
                                                    : std::span<const double>(found->second);
}

Chart score_histogram(const ReportProvider& provider, const ReportCalibration* calibration) {
  const auto& decision = provider.decision;
  const std::span<const double> trusted = trusted_scores(provider, calibration);
  const double mean = decision.score;
  const Histogram h = score_counts(provider, calibration);
  const auto at = [&](double score) { return h.compressed ? std::asinh(score / h.scale) : score; };

  Chart chart;
  chart.x_label =
      "request score: " + (decision.statistic.empty() ? std::string(kClippedMargin) : visible(decision.statistic)) +
      ", " + score_unit(decision) + (h.compressed ? " (axis compressed towards the right)" : "");
  chart.y_label = "share of requests";
  chart.x_min = at(h.edges.front());
  chart.x_max = at(h.edges.back());
  const double n_provider = total(h.provider), n_trusted = total(h.calibration);
  double top = 0;
  std::vector<std::pair<double, double>> outline{{chart.x_min, 0}};
  for (std::size_t i = 0; i + 1 < h.edges.size(); ++i) {
    const double x0 = at(h.edges[i]), x1 = at(h.edges[i + 1]);
    const double share = n_provider > 0 ? static_cast<double>(h.provider[i]) / n_provider : 0;
    const double honest = n_trusted > 0 ? static_cast<double>(h.calibration[i]) / n_trusted : 0;
    chart.bars.push_back({x0, x1, share});
    outline.emplace_back(x0, honest);
    outline.emplace_back(x1, honest);
    top = std::max({top, share, honest});
  }
  outline.emplace_back(chart.x_max, 0);
  chart.y_max = top > 0 ? top * 1.12 : 1;
  chart.x_ticks = h.compressed ? compressed_ticks(h) : linear_ticks(chart.x_min, chart.x_max, 6);
  for (Tick tick : linear_ticks(0, chart.y_max, 4))
    chart.y_ticks.push_back({tick.value, tick_label(100 * tick.value) + " %"});
  if (n_provider > 0)
    chart.legend.push_back(
        {"this provider (" + plural(provider.request_scores.size(), "request", "requests") + ")", Ink::bar, true});
  if (n_trusted > 0) {
    chart.lines.push_back({std::move(outline), Ink::trusted, false});
    chart.legend.push_back(
        {"calibration (" + plural(trusted.size(), "request", "requests") + ")", Ink::trusted, false});
  }
  if (std::isfinite(mean)) chart.thresholds.push_back({at(mean), "pooled score " + number(mean, 3), Ink::text, false});
  if (decision.threshold)
    chart.thresholds.push_back(
        {at(*decision.threshold), "its threshold " + number(*decision.threshold, 3), Ink::threshold, true});
  chart.description = "Histogram of request scores of " + shorten(visible(provider.decision.name), 60) +
                      ": pooled score " + number(mean) +
                      (n_trusted > 0 ? ", drawn over the calibration's distribution." : ".");
  return chart;
}

Chart verdict_chart(std::span<const ReportProvider> providers, std::size_t rows) {
  Chart chart;
  std::vector<const ReportProvider*> shown;
  for (const ReportProvider& p : providers) {
    const auto& d = p.decision;
    if (shown.size() < rows && d.threshold && *d.threshold > 0 && std::isfinite(d.score)) shown.push_back(&p);
  }
  if (shown.empty()) return chart;
  double high = 1;
  for (const auto* p : shown) high = std::max(high, p->decision.score / *p->decision.threshold);
  const bool compressed = high > 12;
  const auto at = [&](double ratio) { return compressed ? std::asinh(std::max(ratio, 0.0) * 2) : ratio; };
  chart.x_max = at(high * (compressed ? 1.3 : 1.08));
  chart.y_max = static_cast<double>(shown.size());
  chart.height = 30 + 38 + 17 * static_cast<double>(shown.size());
  chart.left_margin = 170;
  chart.x_label = std::string("score as a multiple of the provider's threshold") +
                  (compressed ? " (axis compressed towards the right)" : "");
  if (compressed) {
    for (const double value : {0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e4, 1e5}) {
      if (at(value) <= chart.x_max) chart.x_ticks.push_back({at(value), tick_label(value)});
    }
  } else {
    chart.x_ticks = linear_ticks(0, chart.x_max, 6);
  }
  chart.thresholds.push_back({at(1), "", Ink::threshold, true});
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const double y = static_cast<double>(shown.size() - i) - 0.5;
    const auto& d = shown[i]->decision;
    chart.y_ticks.push_back({y, shorten(visible(d.name), 27)});
    chart.points.push_back({at(d.score / *d.threshold), y, ink_of(d.verdict)});
  }
  chart.legend = {{"threshold", Ink::threshold, false}};
  chart.description = "Score of each provider as a multiple of its threshold; above 1 the threshold is exceeded.";
  return chart;
}

}  // namespace difr::report
