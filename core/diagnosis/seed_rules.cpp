#include "core/diagnosis/seed_rules.h"

#include <fmt/core.h>

#include "core/diagnosis/likelihood.h"

namespace difr {
namespace {

/// Only the screened rows are filled: a screen over many rules must not draw noise for the whole table.
CandidateTable subset(const CandidateTable& table, std::span<const std::size_t> tokens) {
  CandidateTable out;
  out.m = table.m;
  out.sampling = table.sampling;
  for (const auto i : tokens) {
    const auto z = table.logits(i);
    out.logit.insert(out.logit.end(), z.begin(), z.end());
    out.log_sum_exp.push_back(table.log_sum_exp[i]);
    out.tail.push_back(table.tail[i]);
    out.tail_count.push_back(table.tail_count[i]);
    out.rank.push_back(table.rank[i]);
    out.position.push_back(table.position[i]);
    out.request.push_back(table.request[i]);
  }
  return out;
}

std::optional<ScreenedRule> best_of(const CandidateTable& table, std::span<const DiagnosisRequest> requests,
                                    std::vector<NamedSeedRule> rules, std::span<const std::size_t> tokens) {
  const CandidateTable screened = subset(table, tokens);
  std::vector<std::size_t> all(screened.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  std::optional<ScreenedRule> best;
  for (auto& rule : rules) {
    const auto noise = candidate_noise(screened, requests, *rule.profile, rule.rule, rule.shift);
    const double match = match_rate(screened, noise, all);
    if (!best || match > best->match) best = ScreenedRule{std::move(rule), match, 0};
  }
  if (best) best->tried = rules.size();
  return best;
}

SeedRule offset_rule(std::span<const DiagnosisRequest> requests, std::int64_t offset) {
  return [requests, offset](std::size_t r) -> std::optional<std::int64_t> {
    const auto& seed = requests[r].claim->seed;
    // Unsigned arithmetic: seeds near the ends of the range must wrap, not overflow.
    if (!seed) return std::nullopt;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(*seed) + static_cast<std::uint64_t>(offset));
  };
}

SeedRule neighbour_rule(std::span<const DiagnosisRequest> requests, std::ptrdiff_t step) {
  return [requests, step](std::size_t r) -> std::optional<std::int64_t> {
    const auto n = static_cast<std::ptrdiff_t>(requests.size());
    const auto other = (static_cast<std::ptrdiff_t>(r) + step % n + n) % n;
    return requests[static_cast<std::size_t>(other)].claim->seed;
  };
}

SeedRule constant_rule(std::optional<std::int64_t> seed) {
  return [seed](std::size_t) { return seed; };
}

}  // namespace

SeedRule declared_seed(std::span<const DiagnosisRequest> requests) { return offset_rule(requests, 0); }

std::optional<ScreenedRule> best_seed_rule(const CandidateTable& table, std::span<const DiagnosisRequest> requests,
                                           const SamplerProfile& profile, std::span<const std::size_t> tokens) {
  std::vector<NamedSeedRule> rules;
  const auto add = [&](std::string name, SeedRule rule, int shift = 0) { rules.push_back({std::move(name), std::move(rule), shift, &profile}); };
  for (const int step : {1, -1, 2, -2, 3, -3})
    add(fmt::format("each request used the seed of the request {} {} it", std::abs(step) == 1 ? "right" : fmt::format("{} places", std::abs(step)),
                    step > 0 ? "after" : "before"),
        neighbour_rule(requests, step));
  for (const int offset : {1, -1, 2, -2, 3, 4, 5, 6, 7, 8})
    add(fmt::format("each request used its declared seed {:+}", offset), offset_rule(requests, offset));
  if (!requests.empty()) add("all requests used the seed of the first", constant_rule(requests.front().claim->seed));
  for (const std::int64_t seed : {0, 1, 42, 1234}) add(fmt::format("all requests used the seed {}", seed), constant_rule(seed));
  for (const int shift : {1, -1, 2, 3, 4})
    add(fmt::format("the noise stream is shifted by {:+} draws", shift), declared_seed(requests), shift);
  return best_of(table, requests, std::move(rules), tokens);
}

std::optional<ScreenedRule> best_other_profile(const CandidateTable& table, std::span<const DiagnosisRequest> requests,
                                               const SamplerProfile* declared, std::span<const std::size_t> tokens) {
  std::vector<NamedSeedRule> rules;
  for (const auto& profile : sampler_profiles()) {
    if (&profile == declared || profile.family != SamplerFamily::gumbel_max || profile.verification == Verification::not_reproducible) continue;
    rules.push_back({std::string(profile.id), declared_seed(requests), 0, &profile});
  }
  return best_of(table, requests, std::move(rules), tokens);
}

}  // namespace difr
