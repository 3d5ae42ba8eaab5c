#include "core/report/verify_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>

#include "core/report/case_scores.h"
#include "core/report/manifest.h"
#include "core/util/error.h"
#include "core/util/sha256.h"

namespace difr::report {
namespace {

constexpr std::size_t most_differences = 20;

std::string brief(const Json& value) {
  return shorten(clean_utf8(value.dump(-1, ' ', false, Json::error_handler_t::replace)), 80);
}

/// Visits every place where the trees differ, as a JSON pointer.
void differ(const Json& said, const Json& made, const std::string& at,
            const std::function<void(const std::string&, const Json&, const Json&)>& report) {
  if (said.is_object() && made.is_object()) {
    for (const auto& [key, value] : made.items()) {
      const auto found = said.find(key);
      differ(found == said.end() ? Json() : *found, value, at + "/" + key, report);
    }
    for (const auto& [key, value] : said.items()) {
      if (!made.contains(key)) report(at + "/" + key, value, Json());
    }
  } else if (said.is_array() && made.is_array()) {
    if (said.size() != made.size())
      report(at, Json(fmt::format("{} entries", said.size())), Json(fmt::format("{} entries", made.size())));
    for (std::size_t i = 0; i < std::min(said.size(), made.size()); ++i)
      differ(said[i], made[i], fmt::format("{}/{}", at, i), report);
  } else if (said != made) {
    report(at, said, made);
  }
}

ReportOptions options_of(const Json& tree) {
  ReportOptions o;
  o.title = tree.value("title", "");
  o.subject = tree.value("subject", "");
  o.auditor = tree.value("auditor", "");
  o.created_at = tree.value("created_at", "");
  const std::string redaction = tree.value("redaction", "");
  o.redaction = redaction == "none" ? Redaction::none : redaction == "text" ? Redaction::text : Redaction::prompts;
  const Json& p = tree.at("parameters");
  o.decision.alpha = p.at("alpha").get<double>();
  o.decision.warn_alpha = p.at("warn_alpha").get<double>();
  o.decision.transfer_tolerance = p.at("transfer_tolerance").get<double>();
  o.decision.request_alpha = p.at("request_alpha").get<double>();
  o.decision.confidence = p.at("confidence").get<double>();
  o.decision.clip_quantile = p.at("clip_quantile").get<double>();
  o.decision.resamples = p.at("resamples").get<int>();
  o.decision.seed = p.at("seed").get<std::uint64_t>();
  const Json& l = tree.at("limits");
  o.limits = {l.at("provider_rows").get<std::size_t>(),
              l.at("detailed_providers").get<std::size_t>(),
              l.at("requests_per_provider").get<std::size_t>(),
              l.at("tokens_per_request").get<std::size_t>(),
              l.at("sources").get<std::size_t>(),
              l.at("issues").get<std::size_t>()};
  return o;
}

std::string string_in(const Json& tree, const char* key) {
  const auto found = tree.find(key);
  return found != tree.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Words are not in the case: they come from a tokenizer and are taken from the report, where ids and hashes agree.
void adopt_texts(ReportModel& model, const Json& tree) {
  const Json& providers = tree.at("providers");
  for (std::size_t i = 0; i < std::min(model.providers.size(), providers.size()); ++i) {
    auto& provider = model.providers[i];
    for (const Json& e : providers[i].value("explanations", Json::array())) {
      const auto likelihood = e.find("log_likelihood");
      provider.explanations.push_back(
          {string_in(e, "kind"), string_in(e, "text"),
           likelihood != e.end() && likelihood->is_number() ? likelihood->get<double>() : std::nan("")});
    }
    const Json requests = providers[i].value("requests_detail", Json::array());
    for (std::size_t r = 0; r < std::min(provider.requests.size(), requests.size()); ++r) {
      auto& request = provider.requests[r];
      request.prompt_text = string_in(requests[r], "prompt_text");
      const Json tokens = requests[r].value("tokens_detail", Json::array());
      for (std::size_t t = 0; t < std::min(request.tokens.size(), tokens.size()); ++t) {
        request.tokens[t].text = string_in(tokens[t], "text");
        request.tokens[t].reference_text = string_in(tokens[t], "reference_text");
      }
    }
  }
}

class CaseChecker {
 public:
  CaseChecker(const CaseFile& file, const Json& tree, const Json& manifest, const VerifyOptions& options,
              std::vector<ReportCheck>& checks)
      : file_(file), tree_(tree), manifest_(manifest), options_(options), checks_(checks) {}

  void run(const std::filesystem::path& base) {
    integrity();
    trail();
    decisions();
    try {
      ReportOptions rebuilt = options_of(tree_);
      rebuilt.logo_png = options_.logo_png;
      ReportModel model = build_report_model(file_, rebuilt);
      const std::string program = model.software;
      model.software = string_in(tree_, "software");
      adopt_texts(model, tree_);
      // The trail may have grown since the report; that it only grew is checked by trail().
      const auto trail_then = manifest_.find("audit_trail");
      model.trail_rows = trail_then != manifest_.end() ? trail_then->value("rows", std::size_t{0}) : 0;
      model.trail_head = trail_then != manifest_.end() ? string_in(*trail_then, "head") : std::string();
      numbers(model);
      if (program != model.software) {
        add(CheckState::unchecked, "pages",
            "made by " + model.software + ", this is " + program + ": the pages are not compared byte for byte");
      } else if (!string_in(manifest_, "logo_sha256").empty() &&
                 sha256_hex(model.logo_png) != string_in(manifest_, "logo_sha256")) {
        add(CheckState::unchecked, "pages", "carry a logo that was not given: they are not compared byte for byte");
      } else {
        pages(model, base);
      }
    } catch (const Json::exception& error) {
      add(CheckState::failed, "report",
          std::string("the report's JSON does not have the expected form: ") + error.what());
    } catch (const Error& error) {
      add(CheckState::failed, "case", std::string("the report cannot be made again from this case: ") + error.what());
    }
  }

 private:
  void add(CheckState state, std::string where, std::string message) {
    checks_.push_back({state, std::move(where), clean_utf8(message)});
  }

  void integrity() {
    const auto faults = file_.verify();
    for (std::size_t i = 0; i < faults.size() && i < most_differences; ++i)
      add(CheckState::failed, file_.path().string(), faults[i]);
    if (faults.empty()) add(CheckState::ok, file_.path().string(), "the case file is sound");
  }

  void trail() {
    const auto found = manifest_.find("audit_trail");
    const auto rows = found != manifest_.end() ? found->value("rows", std::size_t{0}) : 0;
    const std::string head = found != manifest_.end() ? string_in(*found, "head") : std::string();
    const auto now = file_.trail();
    if (rows > now.size() || (rows > 0 && now[rows - 1].hash != head)) {
      add(CheckState::failed, "audit trail",
          fmt::format("the case's trail does not continue the one that the report saw ({} rows): it was rewritten, or "
                      "this is another case",
                      rows));
    } else {
      add(CheckState::ok, "audit trail",
          fmt::format("continues the {} rows that the report saw; {} added since", rows, now.size() - rows));
    }
  }

  void numbers(const ReportModel& model) {
    std::size_t found = 0;
    const auto note = [&](const std::string& at, const Json& said, const Json& made) {
      if (++found <= most_differences)
        add(CheckState::failed, at, "the report says " + brief(said) + ", the case gives " + brief(made));
    };
    // Through text and back, as the file went: then equal numbers are equal.
    differ(tree_, Json::parse(report_json(model)), "", note);
    Json made = Json::parse(manifest_json(model));
    made.erase("report_json_sha256");  // follows from the numbers
    made.erase("logo_sha256");
    Json said = manifest_;
    for (const char* key : {"report_json_sha256", "logo_sha256", "files"}) said.erase(key);
    differ(said, made, "manifest:", note);
    if (found == 0) {
      add(CheckState::ok, "numbers", "every number of the report comes out of the case again");
      add(CheckState::unchecked, "words",
          "texts of tokens and prompts were not made again (that takes the tokenizer); their ids and hashes were");
    } else if (found > most_differences) {
      add(CheckState::failed, "numbers",
          fmt::format("{} differences in all; the first {} are listed", found, most_differences));
    }
  }

  void pages(const ReportModel& model, const std::filesystem::path& base) {
    const auto file_bytes = [&](const char* suffix) -> std::optional<std::string> {
      std::filesystem::path path = base;
      path += suffix;
      std::ifstream in(path, std::ios::binary);
      if (!in) return std::nullopt;
      return std::string(std::istreambuf_iterator<char>(in), {});
    };
    if (const auto html = file_bytes(".html")) compare_html(*html, model, base.filename().string() + ".html");
    if (const auto csv = file_bytes(".csv"); csv) {
      const bool same = *csv == report_csv(model);
      add(same ? CheckState::ok : CheckState::failed, base.filename().string() + ".csv",
          same ? "is what the case gives" : "differs from what the case gives");
    }
    if (const auto pdf = file_bytes(".pdf")) {
      const bool same = *pdf == render_pdf(model);
      add(same ? CheckState::ok : CheckState::unchecked, base.filename().string() + ".pdf",
          same ? "is what the case gives, byte for byte"
               : "is not byte for byte what this machine makes of the case: other fonts or libraries, another logo, or "
                 "a changed file; compare it with the HTML");
    }
  }

  void compare_html(const std::string& said, const ReportModel& model, const std::string& name) {
    const std::string made = render_html(model);
    if (said == made) return add(CheckState::ok, name, "is what the case gives");
    const auto first = std::mismatch(said.begin(), said.end(), made.begin(), made.end()).first;
    add(CheckState::failed, name,
        fmt::format("differs from what the case gives, first in line {}", 1 + std::count(said.begin(), first, '\n')));
  }

  /// Stored decisions against the scores they were made from.
  void decisions() {
    try {
      const auto run = file_.latest_run();
      const auto calibrations = file_.calibrations();
      if (!run || calibrations.empty())
        return add(CheckState::unchecked, "decisions", "the case holds no calibration to decide by");
      const DecisionOptions parameters = options_of(tree_).decision;
      std::size_t wrong = 0;
      for (const ProviderDecision& stored : file_.decisions()) {
        const auto row = file_.provider(stored.provider_id);
        if (!row || row->role != ProviderRole::subject) continue;
        const ScoredProvider scored =
            scored_provider(file_, run->id, *row, stored.sampler, calibrations.back().noise_sigma);
        const Decisions made = decide(calibrations.back(), std::span(&scored, 1), parameters);
        wrong += compare(stored, made.providers.front());
      }
      if (wrong == 0) add(CheckState::ok, "decisions", "every stored decision comes out of its scores again");
    } catch (const Json::exception&) {
      add(CheckState::failed, "/parameters", "the report's parameters are missing or of the wrong type");
    } catch (const Error& error) {
      add(CheckState::failed, "decisions", error.what());
    }
  }

  std::size_t compare(const ProviderDecision& stored, const ProviderDecision& made) {
    std::size_t wrong = 0;
    const auto same = [](const std::optional<double>& a, const std::optional<double>& b) {
      if (a.has_value() != b.has_value()) return false;
      return !a || *a == *b || (std::isnan(*a) && std::isnan(*b)) ||
             std::fabs(*a - *b) <= 1e-12 * std::max(std::fabs(*a), std::fabs(*b));
    };
    const auto number_of = [&](const char* name, const std::optional<double>& a, const std::optional<double>& b) {
      if (same(a, b)) return;
      ++wrong;
      add(CheckState::failed, "decision of " + visible(stored.name),
          fmt::format("the case stores {} {}, its scores give {}", name, a ? number(*a, 8) : "none",
                      b ? number(*b, 8) : "none"));
    };
    number_of("score", stored.score, made.score);
    number_of("threshold", stored.threshold, made.threshold);
    number_of("p-value", stored.p_value, made.p_value);
    number_of("llr score", stored.llr_score, made.llr_score);
    number_of("llr p-value", stored.llr_p_value, made.llr_p_value);
    number_of("exact match", stored.exact_match, made.exact_match);
    number_of("mean clipped margin", stored.mean_clipped_margin, made.mean_clipped_margin);
    number_of("cross-entropy", stored.cross_entropy, made.cross_entropy);
    number_of("tokens", static_cast<double>(stored.tokens), static_cast<double>(made.tokens));
    // A caveat (retokenised ids, missing seeds) may make the stored verdict more cautious than the numbers, never
    // bolder.
    if (stored.verdict != made.verdict && stored.verdict != Outcome::undetermined) {
      ++wrong;
      add(CheckState::failed, "decision of " + visible(stored.name),
          std::string("the case stores the verdict ") + to_string(stored.verdict) + ", its scores give " +
              to_string(made.verdict));
    }
    return wrong;
  }

  const CaseFile& file_;
  const Json& tree_;
  const Json& manifest_;
  const VerifyOptions& options_;
  std::vector<ReportCheck>& checks_;
};

}  // namespace

void check_against_case(const CaseFile& file, const Json& tree, const Json& manifest, const std::filesystem::path& base,
                        const VerifyOptions& options, std::vector<ReportCheck>& checks) {
  CaseChecker(file, tree, manifest, options, checks).run(base);
}

}  // namespace difr::report
