// fingerprint: activation fingerprints of a log under the trusted weights. verify-fingerprints: a provider's against
// them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/audit/log_claims.h"
#include "core/fingerprint/fingerprint_file.h"
#include "core/fingerprint/per_byte.h"
#include "core/util/read_file.h"
#include "core/util/write_file.h"
#include "gpu/fingerprint/reference_states.h"

namespace difr::app {
namespace {

struct MakeArguments {
  std::filesystem::path log, out, toploc_out;
  std::string projection = "orthogonal", pack = "bf16", mode = "prefill";
  std::uint64_t seed = 42;
  int k = 8;
  ToplocSettings toploc;
};

struct VerifyArguments {
  std::filesystem::path file, log, projection_file, trusted, trusted_log;
  ToplocThresholds thresholds;
};

template <class T>
T require(const std::optional<T>& value, const char* option, const char* choices) {
  if (!value) throw Error(ExitCode::usage, option, "has an unknown value", choices);
  return *value;
}

int run_fingerprint(const GlobalOptions& options, const MakeArguments& a) {
  if (a.out.empty() && a.toploc_out.empty())
    throw Error(ExitCode::usage, "--out", "is missing", "name a file for --out, --toploc-out, or both");
  FingerprintClaim claim;
  claim.projection = require(parse_projection_kind(a.projection), "--projection", "use orthogonal or gaussian");
  claim.dtype = require(parse_fingerprint_dtype(a.pack), "--pack", "use fp32, bf16, fp16 or int8");
  claim.mode = require(parse_provider_mode(a.mode), "--mode", "use prefill or decode");
  claim.seed = a.seed;
  claim.k = a.k;
  claim.layer = "final_norm";
  claim.log = a.log.filename().string();
  let_idle_threads_sleep(options);
  const SignalStop stop;
  const auto claims = claims_of_log(a.log, options, stop.token());
  const auto engine = gpu::load_engine(options.require_model(), options.engine());
  nlohmann::ordered_json out{{"requests", claims.size()}, {"mode", to_string(claim.mode)}};
  if (!a.out.empty()) {
    const auto projection =
        Projection::make({.kind = claim.projection, .seed = a.seed, .k = a.k, .d = engine->info().hidden});
    if (!gpu::fill_fingerprints(*engine, claims, projection, claim, stop.token()))
      throw environment_error(a.out.string(), "was not written: stopped", "start it again");
    const auto bytes = write_fingerprints(claim);
    write_file(a.out, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    out["path"] = a.out.string();
    out["tokens"] = claim.tokens();
    out["bytes_per_token"] = fingerprint_bytes_per_token(claim.dtype, claim.k);
  }
  if (!a.toploc_out.empty()) {
    auto proofs = gpu::build_proofs(*engine, claims, a.toploc, claim.mode, stop.token());
    if (stop.token().stop_requested())
      throw environment_error(a.toploc_out.string(), "was not written: stopped", "start it again");
    proofs.log = claim.log;
    write_file(a.toploc_out, write_toploc(proofs));
    out["toploc_path"] = a.toploc_out.string();
    std::size_t count = 0;
    for (const auto& request : proofs.requests) count += request.proofs.size();
    out["toploc_proofs"] = count;
    auto& issues = out["toploc_issues"] = nlohmann::ordered_json::array();
    for (const auto& issue : proofs.issues) issues.push_back({{"id", issue.request}, {"message", issue.message}});
  }
  if (options.json)
    print_json(std::move(out));
  else
    for (const auto& [key, value] : out.items()) fmt::print("{}: {}\n", key, value.dump());
  return 0;
}

bool is_toploc(std::string_view text) {
  const auto start = text.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && text[start] == '{' && text.find("\"proofs\"") != std::string_view::npos;
}

nlohmann::ordered_json curve(const MethodScores& trusted, const MethodScores& subject) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  PowerOptions power;
  power.budgets = {1, 2, 3, 10, 30, 100, 300};
  for (const auto& p : detection_per_byte(trusted, subject, power))
    out.push_back({{"tokens", p.tokens},
                   {"bytes", p.bytes},
                   {"auc", number(p.auc)},
                   {"low", number(p.band.low)},
                   {"high", number(p.band.high)}});
  return out;
}

class Verifier {
 public:
  Verifier(const GlobalOptions& options, const VerifyArguments& arguments)
      : a_(arguments), claims_(claims_of_log(a_.log, options, stop_.token())) {
    if (!a_.trusted.empty())
      trusted_claims_ = claims_of_log(a_.trusted_log.empty() ? a_.log : a_.trusted_log, options, stop_.token());
    engine_ = gpu::load_engine(options.require_model(), options.engine());
  }

  nlohmann::ordered_json run() {
    nlohmann::ordered_json methods = nlohmann::ordered_json::array();
    std::optional<ToplocClaim> proofs;
    FingerprintFile file;
    {
      const auto bytes = read_file_bytes(a_.file, kFingerprintFileLimit);
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (is_toploc(text))
        proofs = parse_toploc(text, a_.file.string());
      else
        file = parse_fingerprints(bytes, a_.file.string());
    }
    if (proofs) methods.push_back(toploc(*proofs));
    for (const auto& claim : file.claims) methods.push_back(activation(claim, file.issues));
    if (stop_.token().stop_requested())
      throw environment_error(a_.file.string(), "was not verified to the end: stopped", "start it again");
    return {{"file", a_.file.string()}, {"log", a_.log.string()}, {"methods", methods}};
  }

 private:
  using Checks = std::vector<gpu::FingerprintCheck>;

  [[nodiscard]] Projection projection_of(const FingerprintClaim& claim) const {
    if (!a_.projection_file.empty()) return read_projection(a_.projection_file, to_string(claim.projection));
    if (!claim.seed)
      throw bad_input(a_.file.string(), "does not state the seed of its projection",
                      "give the published matrix with --projection-file");
    return Projection::make({claim.projection, *claim.seed, claim.k, engine_->info().hidden, claim.order, claim.signs});
  }

  static MethodScores scores_of(const FingerprintClaim& claim, const Checks& checks) {
    std::vector<std::vector<double>> finite;
    for (const auto& check : checks) {
      std::vector<double> kept;
      std::ranges::copy_if(check.distances, std::back_inserter(kept), [](double x) { return std::isfinite(x); });
      if (!kept.empty()) finite.push_back(std::move(kept));
    }
    return activation_scores(finite, claim.dtype, claim.k);
  }

  nlohmann::ordered_json activation(const FingerprintClaim& claim, const std::vector<FingerprintIssue>& issues) {
    const auto projection = projection_of(claim);
    if (projection.d() != engine_->info().hidden || projection.k() != claim.k)
      throw bad_input(a_.file.string(),
                      fmt::format("projects {} values to {}, and the model has {} of which {} are claimed",
                                  projection.d(), projection.k(), engine_->info().hidden, claim.k),
                      "the fingerprints belong to another model");
    const auto checks = gpu::check_fingerprints(*engine_, claims_, claim, projection, stop_.token());
    std::vector<double> all;
    std::size_t not_finite = 0;
    nlohmann::ordered_json rows = nlohmann::ordered_json::array(), faults = nlohmann::ordered_json::array();
    for (const auto& issue : issues) faults.push_back({{"id", issue.request}, {"message", issue.message}});
    for (const auto& check : checks) {
      if (!check.issue.empty()) {
        faults.push_back({{"id", check.name}, {"message", check.issue}});
        continue;
      }
      double sum = 0;
      std::size_t n = 0;
      for (const double x : check.distances) {
        if (!std::isfinite(x)) {
          ++not_finite;
          continue;
        }
        sum += x;
        ++n;
        all.push_back(x);
      }
      rows.push_back(
          {{"id", check.name}, {"tokens", n}, {"mean_distance", number(n > 0 ? sum / static_cast<double>(n) : NAN)}});
    }
    std::ranges::sort(all);
    const auto quantile = [&](double q) {
      return all.empty() ? NAN : all[static_cast<std::size_t>(q * static_cast<double>(all.size() - 1))];
    };
    double sum = 0;
    for (const double x : all) sum += x;
    nlohmann::ordered_json out{{"method", "activation-difr"},
                               {"projection", to_string(claim.projection)},
                               {"k", claim.k},
                               {"dtype", to_string(claim.dtype)},
                               {"mode", to_string(claim.mode)},
                               {"bytes_per_token", fingerprint_bytes_per_token(claim.dtype, claim.k)},
                               {"tokens", all.size()},
                               {"not_finite", not_finite},
                               {"mean_distance", number(all.empty() ? NAN : sum / static_cast<double>(all.size()))},
                               {"median_distance", number(quantile(0.5))},
                               {"p99_distance", number(quantile(0.99))}};
    if (!a_.trusted.empty() && !all.empty()) out["detection"] = activation_curve(claim, projection, checks);
    out["requests"] = rows;
    out["issues"] = faults;
    return out;
  }

  nlohmann::ordered_json activation_curve(const FingerprintClaim& claim, const Projection& projection,
                                          const Checks& checks) {
    const auto file = read_fingerprints(a_.trusted);
    for (const auto& trusted : file.claims) {
      if (trusted.projection != claim.projection || trusted.k != claim.k || trusted.dtype != claim.dtype) continue;
      if (trusted.mode != claim.mode)
        throw bad_input(
            a_.trusted.string(),
            fmt::format("was taken in {} mode, the claim in {}", to_string(trusted.mode), to_string(claim.mode)),
            "honest distances differ between the two: give trusted fingerprints of the claimed mode");
      const auto own = gpu::check_fingerprints(*engine_, trusted_claims_, trusted, projection, stop_.token());
      return curve(scores_of(trusted, own), scores_of(claim, checks));
    }
    throw bad_input(a_.trusted.string(),
                    fmt::format("has no {} fingerprints with k = {} in {}", to_string(claim.projection), claim.k,
                                to_string(claim.dtype)),
                    "give trusted fingerprints made with the same settings");
  }

  nlohmann::ordered_json toploc(const ToplocClaim& claim) {
    const auto checks = gpu::check_proofs(*engine_, claims_, claim, a_.thresholds, stop_.token());
    ToplocReport sum;
    double mismatches = 0, mantissa = 0;
    std::size_t numbers = 0;
    std::vector<ToplocReport> reports;
    nlohmann::ordered_json rows = nlohmann::ordered_json::array(), faults = nlohmann::ordered_json::array();
    for (const auto& issue : claim.issues) faults.push_back({{"id", issue.request}, {"message", issue.message}});
    for (const auto& check : checks) {
      if (!check.issue.empty()) {
        faults.push_back({{"id", check.name}, {"message", check.issue}});
        continue;
      }
      nlohmann::ordered_json chunks = nlohmann::ordered_json::array();
      for (const auto& chunk : check.report.chunks) {
        nlohmann::ordered_json row{{"status", to_string(chunk.status)}};
        if (chunk.status == ToplocStatus::pass || chunk.status == ToplocStatus::fail) {
          row["exponent_mismatches"] = chunk.numbers.exponent_mismatches;
          row["mantissa_mean"] = number(chunk.numbers.mantissa_mean);
          row["mantissa_median"] = number(chunk.numbers.mantissa_median);
          mismatches += chunk.numbers.exponent_mismatches;
          mantissa += chunk.numbers.mantissa_mean;
          ++numbers;
        }
        if (!chunk.reason.empty()) row["reason"] = chunk.reason;
        chunks.push_back(std::move(row));
      }
      sum.passed += check.report.passed;
      sum.failed += check.report.failed;
      sum.not_proven += check.report.not_proven;
      sum.unusable += check.report.unusable;
      sum.proof_bytes += check.report.proof_bytes;
      rows.push_back({{"id", check.name}, {"chunks", chunks}});
      reports.push_back(check.report);
    }
    const auto mean = [&](double x) { return number(numbers > 0 ? x / static_cast<double>(numbers) : NAN); };
    nlohmann::ordered_json out{{"method", "toploc"},
                               {"topk", claim.settings.topk},
                               {"decode_batching_size", claim.settings.decode_batching_size},
                               {"skip_prefill", claim.settings.skip_prefill},
                               {"passed", sum.passed},
                               {"failed", sum.failed},
                               {"not_proven", sum.not_proven},
                               {"unusable", sum.unusable},
                               {"proof_bytes", sum.proof_bytes},
                               {"mean_exponent_mismatches", mean(mismatches)},
                               {"mean_mantissa_mean", mean(mantissa)}};
    if (!a_.trusted.empty() && numbers > 0) {
      const auto trusted = read_toploc(a_.trusted);
      if (!(trusted.settings == claim.settings))
        throw bad_input(a_.trusted.string(), "has other chunk settings than the claim",
                        "make trusted proofs with the same");
      std::vector<ToplocReport> own;
      for (auto& check : gpu::check_proofs(*engine_, trusted_claims_, trusted, a_.thresholds, stop_.token()))
        if (check.issue.empty()) own.push_back(std::move(check.report));
      const auto score = ToplocScore::mantissa_mean;
      out["detection"] =
          curve(toploc_scores(own, trusted.settings, score), toploc_scores(reports, claim.settings, score));
    }
    out["requests"] = rows;
    out["issues"] = faults;
    return out;
  }

  const VerifyArguments& a_;
  SignalStop stop_;
  std::vector<Claim> claims_, trusted_claims_;
  std::unique_ptr<gpu::ReferenceEngine> engine_;
};

int run_verify(const GlobalOptions& options, const VerifyArguments& arguments) {
  let_idle_threads_sleep(options);
  auto out = Verifier(options, arguments).run();
  if (options.json) {
    print_json(std::move(out));
    return 0;
  }
  for (const auto& method : out["methods"]) {
    for (const auto& [key, value] : method.items())
      if (!value.is_array()) fmt::print("{}: {}\n", key, value.dump());
    for (const auto& point : method.value("detection", nlohmann::ordered_json::array()))
      fmt::print("  {} tokens, {} bytes: AUC {:.4f} [{:.4f}, {:.4f}]\n", point["tokens"].dump(), point["bytes"].dump(),
                 point["auc"].get<double>(), point["low"].get<double>(), point["high"].get<double>());
    for (const auto& issue : method["issues"])
      fmt::print("  {}: {}\n", issue["id"].get<std::string>(), issue["message"].get<std::string>());
  }
  fmt::print(
      "Activations say nothing of sampling, and a provider can compute the last layer's input without using it.\n");
  return 0;
}

}  // namespace

void add_fingerprint_commands(Registry& registry) {
  auto* make = registry.app.add_subcommand("fingerprint", "activation fingerprints and TOPLOC proofs of a log");
  auto a = std::make_shared<MakeArguments>();
  make->add_option("log", a->log, "log of requests as token ids (any format)")->required();
  make->add_option("--out", a->out, "Activation-DiFR fingerprints (safetensors, docs/fingerprints.md)");
  make->add_option("--projection", a->projection, "orthogonal (default) or gaussian");
  make->add_option("--projection-seed", a->seed, "public seed of the projection");
  make->add_option("--k", a->k, "values per token")->check(CLI::Range(1, 4096));
  make->add_option("--pack", a->pack, "fp32, bf16 (default), fp16 or int8");
  make->add_option("--mode", a->mode, "prefill (default) or decode: part of the claim");
  make->add_option("--toploc-out", a->toploc_out, "TOPLOC proofs (JSON)");
  make->add_option("--topk", a->toploc.topk, "TOPLOC: activations per chunk")->check(CLI::Range(1, 16384));
  make->add_option("--chunk", a->toploc.decode_batching_size, "TOPLOC: tokens per chunk")
      ->check(CLI::Range(1, 1 << 20));
  make->add_flag("--skip-prefill", a->toploc.skip_prefill, "TOPLOC: the first token has no chunk of its own");
  make->footer("Example: difr-audit fingerprint --model weights/ log.json --k 8 --out own.safetensors");
  make->callback([options = &registry.options, choose = registry.choose, a] {
    choose([=] { return run_fingerprint(*options, *a); });
  });

  auto* verify = registry.app.add_subcommand("verify-fingerprints",
                                             "hold a provider's fingerprints or proofs against the reference");
  auto v = std::make_shared<VerifyArguments>();
  verify->add_option("file", v->file, "fingerprints (safetensors, JSON) or TOPLOC proofs (JSON)")->required();
  verify->add_option("--log", v->log, "the log they belong to")->required();
  verify->add_option("--projection-file", v->projection_file,
                     "published projection (safetensors: tensors orthogonal, gaussian)");
  verify->add_option("--trusted", v->trusted, "a trusted provider's file: adds detection against tokens and bytes");
  verify->add_option("--trusted-log", v->trusted_log, "the log of --trusted; when absent: --log");
  verify->add_option("--max-exponent-mismatches", v->thresholds.exponent_mismatches, "TOPLOC threshold (38)");
  verify->add_option("--max-mantissa-mean", v->thresholds.mantissa_mean, "TOPLOC threshold (10)");
  verify->add_option("--max-mantissa-median", v->thresholds.mantissa_median, "TOPLOC threshold (8)");
  verify->footer("Example: difr-audit verify-fingerprints --model weights/ --log log.json claim.safetensors");
  verify->callback(
      [options = &registry.options, choose = registry.choose, v] { choose([=] { return run_verify(*options, *v); }); });
}

}  // namespace difr::app
