#include "core/fingerprint/fingerprint_declaration.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>

#include "core/util/error.h"

namespace difr {

namespace {

constexpr int kLargestK = 65536;

template <typename T>
std::optional<T> whole_number(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string required(const DeclaredValue& value, const char* key, const std::string& where, const char* remedy) {
  auto text = value(key);
  if (!text) throw bad_input(where, fmt::format("does not state difr.{}", key), remedy);
  return *std::move(text);
}

template <typename Enum>
Enum choice(const std::string& text, std::optional<Enum> parsed, const char* key, const std::string& where,
            const char* allowed) {
  if (!parsed) throw bad_input(where, fmt::format("difr.{} is \"{}\"", key, text), allowed);
  return *parsed;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view part = list.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

}  // namespace

std::vector<FingerprintClaim> declared_claims(const DeclaredValue& value, const std::string& where) {
  const std::string method =
      required(value, "method", where, "write difr.method = activation-difr into the header (docs/fingerprints.md)");
  if (method != "activation-difr")
    throw bad_input(where, fmt::format("difr.method is \"{}\"", method), "expected activation-difr");

  FingerprintClaim common;
  const std::string k = required(value, "k", where, "the number of projected values per token");
  const auto number = whole_number<int>(k);
  if (!number || *number < 1 || *number > kLargestK)
    throw bad_input(where, fmt::format("difr.k is \"{}\"", k), "a whole number from 1 to 65536");
  common.k = *number;
  const std::string dtype = required(value, "dtype", where, "fp32, bf16, fp16 or int8");
  common.dtype = choice(dtype, parse_fingerprint_dtype(dtype), "dtype", where, "fp32, bf16, fp16 or int8");
  if (const auto mode = value("mode"))
    common.mode = choice(*mode, parse_provider_mode(*mode), "mode", where, "prefill or decode");
  if (const auto order = value("draw_order")) {
    if (*order != "d_by_k" && *order != "k_by_d")
      throw bad_input(where, fmt::format("difr.draw_order is \"{}\"", *order), "d_by_k or k_by_d");
    common.order = *order == "k_by_d" ? DrawOrder::k_by_d : DrawOrder::d_by_k;
  }
  if (const auto signs = value("row_signs")) {
    if (*signs != "positive_diagonal" && *signs != "lapack")
      throw bad_input(where, fmt::format("difr.row_signs is \"{}\"", *signs), "positive_diagonal or lapack");
    common.signs = *signs == "lapack" ? RowSigns::lapack : RowSigns::positive_diagonal;
  }
  common.layer = value("layer").value_or("");
  common.log = value("log").value_or("");
  common.seed_commitment = value("seed_commitment").value_or("");

  const auto list = value("projections");
  std::vector<std::string> names =
      list ? split(*list) : split(required(value, "projection", where, "orthogonal or gaussian"));
  if (names.empty()) throw bad_input(where, "difr.projection is empty", "orthogonal or gaussian");
  std::vector<FingerprintClaim> claims;
  for (const std::string& name : names) {
    FingerprintClaim claim = common;
    claim.projection = choice(name, parse_projection_kind(name), "projection", where, "orthogonal or gaussian");
    for (const FingerprintClaim& other : claims)
      if (other.projection == claim.projection)
        throw bad_input(where, fmt::format("difr.projections names {} twice", name), "name each once");
    auto seed = value("seed." + name);
    if (!seed) seed = value("seed");
    if (seed) {
      claim.seed = whole_number<std::uint64_t>(*seed);
      if (!claim.seed) throw bad_input(where, fmt::format("difr.seed is \"{}\"", *seed), "a whole number below 2^64");
    }
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace difr
