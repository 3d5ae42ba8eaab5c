// From the case file to the report's model. Reads only; the same case gives the same model.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "core/report/case_scores.h"
#include "core/report/report_model.h"
#include "core/sampling/profile.h"
#include "core/util/error.h"
#include "core/util/sha256.h"
#include "core/util/version.h"

namespace difr {
namespace {

std::string ids_sha256(const std::vector<TokenId>& ids) {
  return sha256_hex({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(TokenId)});
}

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

const char* describe(Verification verification) {
  switch (verification) {
    case Verification::real_logs:
      return "real logs";
    case Verification::golden_vectors:
      return "golden vectors";
    case Verification::emulated:
      return "an emulation";
    case Verification::source_only:
      return "reading the source only";
    case Verification::not_reproducible:
      break;
  }
  return "nothing: not reproducible";
}

const char* describe(RunState state) {
  switch (state) {
    case RunState::running:
      return "not finished";
    case RunState::done:
      return "done";
    case RunState::cancelled:
      return "cancelled";
    case RunState::failed:
      break;
  }
  return "failed";
}

std::string read_logo(const std::filesystem::path& path) {
  if (path.empty()) return {};
  constexpr std::uintmax_t most_bytes = 4u << 20;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw bad_input(path.string(), "cannot read the logo", "give a PNG file that this user may read");
  std::string bytes;
  char buffer[1 << 16];
  while (bytes.size() <= most_bytes && (in.read(buffer, sizeof buffer) || in.gcount() > 0))
    bytes.append(buffer, static_cast<std::size_t>(in.gcount()));
  if (!bytes.starts_with("\x89PNG\r\n\x1a\n") || bytes.size() > most_bytes) {
    throw bad_input(path.string(),
                    bytes.size() > most_bytes ? "the logo is larger than 4 MiB" : "the logo is not a PNG file",
                    "give a small PNG");
  }
  return bytes;
}

/// Accepts what cairo's metadata and a reader understand: a date, or date and time in UTC.
void require_date(const std::string& text) {
  static constexpr std::string_view pattern = "dddd-dd-ddTdd:dd:ddZ";
  const bool length_ok = text.size() == 10 || text.size() == pattern.size();
  const bool shape_ok = length_ok && std::equal(text.begin(), text.end(), pattern.begin(), [](char c, char p) {
                          return p == 'd' ? c >= '0' && c <= '9' : c == p;
                        });
  if (!shape_ok)
    throw Error(ExitCode::usage, "created_at", "“" + text + "” is not a UTC time", "write it as 2026-12-01T04:00:00Z");
}

ReportCalibration summarise(const Calibration& c) {
  ReportCalibration out{c.name,     c.providers, c.environment, c.sampling, c.requests(),
                        c.tokens(), c.clip,      c.noise_sigma, {},         {}};
  std::vector<std::int64_t> offsets(c.offsets.begin(), c.offsets.end());
  Sha256 digest;
  digest.field(bytes_of(offsets)).field(bytes_of(c.margin)).field(bytes_of(c.gap)).field(bytes_of(c.runner_up));
  out.sha256 = to_hex(digest.finish());
  return out;
}

class ModelBuilder {
 public:
  ModelBuilder(const CaseFile& file, const ReportOptions& options) : file_(file), options_(options) {}

  ReportModel build() {
    model_.title = options_.title;
    model_.subject = options_.subject;
    model_.auditor = options_.auditor;
    model_.software = std::string("DiFR Workbench ") + version();
    model_.redaction = options_.redaction;
    model_.limits = options_.limits;
    model_.parameters = options_.decision;
    model_.logo_png = read_logo(options_.logo_png);
    add_run();
    add_sources();
    add_providers();
    add_calibration();
    choose_detailed();
    if (const auto trail = file_.trail(); !trail.empty()) {
      model_.trail_rows = trail.size();
      model_.trail_head = trail.back().hash;
    }
    return std::move(model_);
  }

 private:
  void add_run() {
    const auto run = file_.latest_run();
    if (!run)
      throw bad_input(file_.path().string(), "holds no recomputation, so there is nothing to report",
                      "run recompute and decide first");
    run_id_ = run->id;
    model_.reference = run->environment;
    model_.run_created_at = run->created_at;
    model_.run_state = describe(run->state);
    model_.run_requests_done = run->requests_done;
    model_.run_requests_total = run->requests_total;
    model_.created_at = options_.created_at.empty() ? run->created_at : options_.created_at;
    if (!options_.created_at.empty()) require_date(options_.created_at);
  }

  void add_sources() {
    for (const SourceRow& row : file_.sources()) {
      paths_[row.id] = row.path;
      std::size_t found = 0;
      for (const auto& kind : file_.issue_counts(row.id)) found += static_cast<std::size_t>(kind.count);
      const std::size_t room = options_.limits.issues - model_.issues.size();
      if (found > 0 && room > 0) {
        for (auto& issue : file_.issues_page(row.id, 0, static_cast<std::int64_t>(room)))
          model_.issues.push_back({row.path, std::move(issue)});
      }
      model_.issues_total += found;
      model_.sources.push_back({row, found});
    }
  }

  void add_providers() {
    std::map<std::int64_t, ProviderDecision> decisions;
    for (auto& d : file_.decisions()) decisions[d.provider_id] = std::move(d);
    for (const ProviderRow& row : file_.providers()) {
      if (row.role != ProviderRole::subject) continue;
      const auto found = decisions.find(row.id);
      if (found == decisions.end()) {
        model_.undecided.push_back(row.config.name);
        continue;
      }
      ReportProvider p;
      p.decision = found->second;
      p.config = row.config;
      p.requests_total = static_cast<std::size_t>(std::max<std::int64_t>(0, row.requests));
      p.source = paths_[row.source_id];
      if (const SamplerProfile* profile = find_profile(p.decision.sampler)) {
        p.sampler_title = profile->title;
        p.sampler_verification = describe(profile->verification);
      }
      for (const RequestDecision& d : file_.request_decisions(row.id)) {
        p.flagged += d.flagged;
        if (d.tokens > 0) p.request_scores.push_back(d.score);
      }
      p.margin_standard_error = standard_error(row.id);
      model_.providers.push_back(std::move(p));
    }
    if (model_.providers.empty())
      throw bad_input(file_.path().string(), "holds no decision, so there is nothing to report", "run decide first");
  }

  /// Of the ratio (sum of n·mean) / (sum of n) over requests: linearised, with k/(k-1).
  [[nodiscard]] double standard_error(std::int64_t provider_id) const {
    std::vector<std::pair<double, double>> requests;  // tokens, mean
    RequestQuery query;
    query.provider_ids = {provider_id};
    query.limit = 4096;
    for (;;) {
      const auto page = file_.request_page(query);
      for (const auto& r : page) {
        if (std::isfinite(r.mean_margin) && r.output_tokens > 0) requests.emplace_back(r.output_tokens, r.mean_margin);
      }
      if (page.size() < static_cast<std::size_t>(query.limit)) break;
      query.after = page.back();
    }
    if (requests.size() < 2) return std::numeric_limits<double>::quiet_NaN();
    double tokens = 0, sum = 0;
    for (const auto& [n, mean] : requests) tokens += n, sum += n * mean;
    const double pooled = sum / tokens;
    double squares = 0;
    for (const auto& [n, mean] : requests) squares += n * n * (mean - pooled) * (mean - pooled);
    const auto k = static_cast<double>(requests.size());
    return std::sqrt(squares * k / (k - 1)) / tokens;
  }

  void add_calibration() {
    const auto all = file_.calibrations();
    if (all.empty()) return;
    const Calibration& newest = all.back();  // decisions are stored with the calibration made for them
    noise_sigma_ = newest.noise_sigma;
    ReportCalibration entry = summarise(newest);
    for (const auto& p : model_.providers) {
      const std::string& statistic = p.decision.statistic;
      if (!statistic.empty() && !entry.request_scores.contains(statistic))
        entry.request_scores[statistic] = calibration_request_scores(newest, statistic);
    }
    model_.calibrations.push_back(std::move(entry));
  }

  void choose_detailed() {
    std::size_t room = options_.limits.detailed_providers;
    for (const Outcome outcome : {Outcome::fail, Outcome::undetermined, Outcome::pass}) {
      for (auto& p : model_.providers) {
        if (room == 0) return;
        if (p.decision.verdict != outcome) continue;
        p.detailed = true;
        --room;
        add_requests(p);
      }
    }
  }

  void add_requests(ReportProvider& p) {
    auto decisions = file_.request_decisions(p.decision.provider_id);
    std::stable_sort(decisions.begin(), decisions.end(), [](const auto& a, const auto& b) {
      return a.flagged != b.flagged ? a.flagged : a.score > b.score;
    });
    // Of an unremarkable provider one request is enough to show what unremarkable looks like.
    const std::size_t wanted = p.flagged > 0 ? std::min(p.flagged, options_.limits.requests_per_provider)
                                             : std::min<std::size_t>(1, options_.limits.requests_per_provider);
    for (const auto& decision : decisions) {
      if (p.requests.size() == wanted) break;
      const auto claim = file_.claim(decision.request_id);
      const auto summary = file_.request_summary(decision.request_id);
      if (claim && summary) p.requests.push_back(request(p, decision, *claim, *summary));
    }
  }

  ReportRequest request(const ReportProvider& p, const RequestDecision& decision, const Claim& claim,
                        const RequestSummary& summary) const {
    ReportRequest r;
    r.summary = summary;
    r.summary.p_value = decision.p_value;
    r.summary.q_value = decision.q_value;
    r.summary.flagged = decision.flagged;
    r.prompt_sha256 = ids_sha256(claim.prompt);
    r.output_sha256 = ids_sha256(claim.output);
    if (options_.token_text && options_.redaction == Redaction::none) {
      for (const TokenId id : claim.prompt) {
        if (r.prompt_text.size() > 4000) break;
        r.prompt_text += options_.token_text(id);
      }
    }
    const auto scores = report::decided_scores(file_, run_id_, claim, p.decision.sampler, noise_sigma_);
    r.tokens_total = claim.output.size();
    if (!scores) return r;
    const std::size_t shown = std::min({claim.output.size(), scores->size(), options_.limits.tokens_per_request});
    const bool words = options_.token_text && options_.redaction != Redaction::text;
    for (std::size_t t = 0; t < shown; ++t) {
      ReportToken token;
      token.id = claim.output[t];
      token.reference_id = scores->reference_token[t];
      token.margin = scores->margin[t];
      token.flags = scores->flags[t];
      if (words) token.text = options_.token_text(token.id);
      if (words && token.reference_id >= 0 && token.reference_id != token.id)
        token.reference_text = options_.token_text(token.reference_id);
      r.tokens.push_back(std::move(token));
    }
    return r;
  }

  const CaseFile& file_;
  const ReportOptions& options_;
  ReportModel model_;
  std::map<std::int64_t, std::string> paths_;
  std::int64_t run_id_ = 0;
  double noise_sigma_ = 0;
};

}  // namespace

ReportModel build_report_model(const CaseFile& file, const ReportOptions& options) {
  return ModelBuilder(file, options).build();
}

}  // namespace difr
