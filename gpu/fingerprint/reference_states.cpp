#include "gpu/fingerprint/reference_states.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/fingerprint/float_formats.h"
#include "core/util/error.h"

namespace difr::gpu {

namespace {

constexpr std::size_t kBatchTokens = 8192;
constexpr int kGroup = 16;

void prefill_states(ReferenceEngine& engine, std::span<const Claim> claims, std::vector<std::vector<float>>& states,
                    const std::stop_token& stop) {
  std::vector<Sequence> sequences;
  for (const auto& claim : claims) sequences.push_back({claim.prompt, claim.output});
  engine.score(
      sequences,
      [&](std::size_t s, int, int, std::span<const float>, std::span<const float> hidden) {
        states[s].insert(states[s].end(), hidden.begin(), hidden.end());
      },
      stop, true);
}

void decode_states(ReferenceEngine& engine, std::span<const Claim> claims, std::vector<std::vector<float>>& states,
                   const std::stop_token& stop) {
  std::vector<std::span<const TokenId>> prompts;
  std::size_t longest = 0;
  for (const auto& claim : claims) {
    prompts.emplace_back(claim.prompt);
    longest = std::max(longest, claim.output.size());
  }
  engine.generate(
      prompts, {.max_tokens = static_cast<int>(longest), .group = kGroup},
      [&](std::size_t s, int t, std::span<const float>, std::span<const float> hidden) -> std::optional<TokenId> {
        const auto& output = claims[s].output;
        if (static_cast<std::size_t>(t) >= output.size()) return std::nullopt;
        states[s].insert(states[s].end(), hidden.begin(), hidden.end());
        return static_cast<std::size_t>(t) + 1 < output.size() ? std::optional(output[static_cast<std::size_t>(t)])
                                                               : std::nullopt;
      },
      stop);
}

std::vector<std::uint16_t> as_bf16(std::span<const float> values) {
  std::vector<std::uint16_t> bits;
  bits.reserve(values.size());
  for (const float v : values) bits.push_back(float_to_bf16(v));
  return bits;
}

std::vector<std::span<const std::uint16_t>> rows_of(std::span<const std::uint16_t> bits, std::size_t d) {
  std::vector<std::span<const std::uint16_t>> rows;
  for (std::size_t at = 0; at + d <= bits.size(); at += d) rows.push_back(bits.subspan(at, d));
  return rows;
}

/// Claims that `names` ask for, in the order of the log.
template <class T>
std::vector<Claim> matched(std::span<const Claim> claims, const std::map<std::string, const T*>& names) {
  std::vector<Claim> out;
  for (const auto& claim : claims)
    if (names.contains(fingerprint_name(claim))) out.push_back(claim);
  return out;
}

/// Adds a line for every name without a claim and every claim without a name.
template <class Check, class T>
void list_unmatched(std::vector<Check>& checks, std::span<const Claim> claims, std::map<std::string, const T*> names) {
  for (const auto& claim : claims)
    if (names.erase(fingerprint_name(claim)) == 0)
      checks.push_back({fingerprint_name(claim), {}, "the provider sent nothing for this request"});
  for (const auto& [name, unused] : names) checks.push_back({name, {}, "the log has no such request"});
}

}  // namespace

bool reference_states(ReferenceEngine& engine, std::span<const Claim> claims, ProviderMode mode, const StateSink& sink,
                      std::stop_token stop) {
  for (std::size_t first = 0; first < claims.size() && !stop.stop_requested();) {
    std::size_t last = first, tokens = 0;
    while (last < claims.size() && (last == first || tokens + claims[last].output.size() <= kBatchTokens))
      tokens += claims[last++].output.size();
    const auto part = claims.subspan(first, last - first);
    std::vector<std::vector<float>> states(part.size());
    (mode == ProviderMode::decode ? decode_states : prefill_states)(engine, part, states, stop);
    if (stop.stop_requested()) return false;
    for (std::size_t i = 0; i < part.size(); ++i) sink(first + i, states[i]);
    first = last;
  }
  return !stop.stop_requested();
}

std::string fingerprint_name(const Claim& claim) {
  return claim.choice == 0 ? claim.external_id : fmt::format("{}/{}", claim.external_id, claim.choice);
}

bool fill_fingerprints(ReferenceEngine& engine, std::span<const Claim> claims, const Projection& projection,
                       FingerprintClaim& claim, std::stop_token stop) {
  claim.requests.clear();
  return reference_states(
      engine, claims, claim.mode,
      [&](std::size_t i, std::span<const float> states) {
        claim.requests.push_back({fingerprint_name(claims[i]), claims[i].output.size(),
                                  pack_and_unpack(projection.apply(states), claim.k, claim.dtype)});
      },
      stop);
}

ToplocClaim build_proofs(ReferenceEngine& engine, std::span<const Claim> claims, const ToplocSettings& settings,
                         ProviderMode mode, std::stop_token stop) {
  ToplocClaim out;
  out.settings = settings;
  const auto d = static_cast<std::size_t>(engine.info().hidden);
  reference_states(
      engine, claims, mode,
      [&](std::size_t i, std::span<const float> states) {
        const auto bits = as_bf16(states);
        const auto proofs = build_toploc(rows_of(bits, d), settings);
        ToplocRequest request{fingerprint_name(claims[i]), {}};
        if (!proofs) {
          out.issues.push_back({request.external_id, proofs.error()});
          return;
        }
        for (const auto& proof : *proofs) request.proofs.push_back(proof.to_base64());
        out.requests.push_back(std::move(request));
      },
      stop);
  return out;
}

std::vector<FingerprintCheck> check_fingerprints(ReferenceEngine& engine, std::span<const Claim> claims,
                                                 const FingerprintClaim& fingerprints, const Projection& projection,
                                                 std::stop_token stop) {
  std::map<std::string, const RequestFingerprint*> names;
  for (const auto& request : fingerprints.requests) names[request.external_id] = &request;
  const auto wanted = matched(claims, names);
  std::vector<FingerprintCheck> checks;
  reference_states(
      engine, wanted, ProviderMode::prefill,
      [&](std::size_t i, std::span<const float> states) {
        const auto& request = *names.at(fingerprint_name(wanted[i]));
        FingerprintCheck check{request.external_id, {}, {}};
        if (request.tokens != wanted[i].output.size())
          check.issue = fmt::format("has fingerprints of {} tokens, and the log {} tokens", request.tokens,
                                    wanted[i].output.size());
        else
          check.distances = fingerprint_distances(request.values, projection.apply(states), fingerprints.k);
        checks.push_back(std::move(check));
      },
      stop);
  list_unmatched(checks, claims, names);
  return checks;
}

std::vector<ToplocCheck> check_proofs(ReferenceEngine& engine, std::span<const Claim> claims, const ToplocClaim& proofs,
                                      const ToplocThresholds& thresholds, std::stop_token stop) {
  std::map<std::string, const ToplocRequest*> names;
  for (const auto& request : proofs.requests) names[request.external_id] = &request;
  const auto wanted = matched(claims, names);
  const auto d = static_cast<std::size_t>(engine.info().hidden);
  std::vector<ToplocCheck> checks;
  reference_states(
      engine, wanted, ProviderMode::prefill,
      [&](std::size_t i, std::span<const float> states) {
        const auto bits = as_bf16(states);
        const auto& request = *names.at(fingerprint_name(wanted[i]));
        checks.push_back(
            {request.external_id, verify_toploc(rows_of(bits, d), request.proofs, proofs.settings, thresholds), {}});
      },
      stop);
  list_unmatched(checks, claims, names);
  return checks;
}

}  // namespace difr::gpu
