// The JSON form: {"difr": {declaration}, "fingerprints": {request: rows or {"data": base64, "scales": base64}}}.

#include <fmt/core.h>
#include <simdjson.h>

#include <set>

#include "core/fingerprint/fingerprint_declaration.h"
#include "core/fingerprint/fingerprint_file.h"
#include "core/fingerprint/packed_values.h"
#include "core/util/base64.h"
#include "core/util/error.h"

namespace difr {

namespace {

namespace dom = simdjson::dom;

/// Strings and whole numbers, as text.
std::optional<std::string> text_of(dom::element value) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return std::string(text);
  std::uint64_t number = 0;
  if (value.get(number) == simdjson::SUCCESS) return fmt::format("{}", number);
  return std::nullopt;
}

std::optional<std::vector<float>> rows(dom::array tokens, int k, std::string& reason) {
  std::vector<float> values;
  std::size_t token = 0;
  for (dom::element row : tokens) {
    dom::array numbers;
    std::size_t count = 0;
    if (row.get(numbers) == simdjson::SUCCESS) {
      for (dom::element number : numbers) {
        double value = 0;
        if (number.get(value) != simdjson::SUCCESS) break;
        values.push_back(static_cast<float>(value));
        ++count;
      }
      count = count == numbers.size() ? count : 0;
    }
    if (count != static_cast<std::size_t>(k)) {
      reason = fmt::format("token {} is not a list of {} numbers", token, k);
      return std::nullopt;
    }
    ++token;
  }
  return values;
}

std::optional<std::vector<std::uint8_t>> binary(dom::element value, const char* key, std::string& reason) {
  std::string_view text;
  std::optional<std::vector<std::uint8_t>> bytes;
  if (value[key].get(text) == simdjson::SUCCESS) bytes = base64_decode(text);
  if (!bytes) reason = fmt::format("\"{}\" is missing or not base64", key);
  return bytes;
}

std::optional<std::vector<float>> request_values(dom::element value, const FingerprintClaim& claim,
                                                 std::string& reason) {
  dom::array tokens;
  if (value.get(tokens) == simdjson::SUCCESS) return rows(tokens, claim.k, reason);
  if (!value.is_object()) {
    reason = "is neither a list of rows nor an object with base64 \"data\"";
    return std::nullopt;
  }
  const auto data = binary(value, "data", reason);
  if (!data) return std::nullopt;
  const std::size_t width = claim.dtype == FingerprintDtype::int8 ? 1 : claim.dtype == FingerprintDtype::fp32 ? 4 : 2;
  const std::size_t token_bytes = width * static_cast<std::size_t>(claim.k);
  if (data->size() % token_bytes != 0) {
    reason = fmt::format("has {} bytes, not a multiple of {} per token", data->size(), token_bytes);
    return std::nullopt;
  }
  if (claim.dtype != FingerprintDtype::int8) return unpack_floats(*data, safetensors_dtype(claim.dtype));
  const auto packed_scales = binary(value, "scales", reason);
  if (!packed_scales) return std::nullopt;
  const auto scales = unpack_floats(*packed_scales, "F16");
  if (!scales || scales->size() != data->size() / token_bytes) {
    reason =
        fmt::format("has {} bytes of fp16 scales for {} tokens", packed_scales->size(), data->size() / token_bytes);
    return std::nullopt;
  }
  return unpack_int8({reinterpret_cast<const std::int8_t*>(data->data()), data->size()}, *scales, claim.k);
}

}  // namespace

FingerprintFile parse_fingerprints_json(std::string_view text, const std::string& where) {
  const simdjson::padded_string padded(text);
  dom::parser parser;
  dom::object document, declaration, requests;
  if (parser.parse(padded).get(document) != simdjson::SUCCESS)
    throw bad_input(where, "is not a JSON object", "see docs/fingerprints.md for the form");
  if (document["difr"].get(declaration) != simdjson::SUCCESS ||
      document["fingerprints"].get(requests) != simdjson::SUCCESS)
    throw bad_input(where, "has no objects \"difr\" and \"fingerprints\"", "see docs/fingerprints.md for the form");

  FingerprintFile file;
  file.claims = declared_claims(
      [&declaration](std::string_view key) -> std::optional<std::string> {
        dom::element value;
        if (declaration.at_key(key).get(value) != simdjson::SUCCESS) return std::nullopt;
        return text_of(value);
      },
      where);
  if (file.claims.size() != 1)
    throw bad_input(where, "declares several projections", "the JSON form holds one; write one file for each");

  FingerprintClaim& claim = file.claims.front();
  std::set<std::string_view> names;
  for (const auto [name, value] : requests) {
    std::string reason;
    auto values = request_values(value, claim, reason);
    if (values) reason = not_finite(*values, claim.k);
    if (!names.insert(name).second) reason = "occurs twice";
    if (!values || !reason.empty()) {
      file.issues.push_back({std::string(name), reason});
      continue;
    }
    const std::size_t tokens = values->size() / static_cast<std::size_t>(claim.k);
    claim.requests.push_back({std::string(name), tokens, *std::move(values)});
  }
  return file;
}

}  // namespace difr
