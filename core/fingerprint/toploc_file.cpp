#include "core/fingerprint/toploc_file.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <nlohmann/json.hpp>

#include <limits>

#include "core/util/error.h"
#include "core/util/read_file.h"

namespace difr {

namespace {

namespace dom = simdjson::dom;

constexpr const char* kRemedy =
    "a proof does not carry its chunk parameters: state decode_batching_size, topk and skip_prefill beside the proofs";

int positive(dom::object object, const char* key, const std::string& where) {
  std::int64_t value = 0;
  if (object[key].get(value) != simdjson::SUCCESS)
    throw bad_input(where, fmt::format("does not state {}", key), kRemedy);
  if (value < 1 || value > std::numeric_limits<int>::max())
    throw bad_input(where, fmt::format("{} is {}", key, value), "a whole number from 1");
  return static_cast<int>(value);
}

std::optional<std::vector<std::string>> proof_list(dom::element value) {
  dom::array list;
  if (value.get(list) != simdjson::SUCCESS) return std::nullopt;
  std::vector<std::string> proofs;
  for (dom::element entry : list) {
    std::string_view text;
    if (entry.get(text) != simdjson::SUCCESS) return std::nullopt;
    proofs.emplace_back(text);
  }
  return proofs;
}

}  // namespace

ToplocClaim parse_toploc(std::string_view text, const std::string& where) {
  const simdjson::padded_string padded(text);
  dom::parser parser;
  dom::object document;
  dom::element proofs;
  if (parser.parse(padded).get(document) != simdjson::SUCCESS || document["proofs"].get(proofs) != simdjson::SUCCESS)
    throw bad_input(where, "is not a JSON object with \"proofs\"", "see docs/fingerprints.md for the form");
  dom::object config;
  if (document["config"].get(config) != simdjson::SUCCESS) config = document;
  std::string_view method;
  if (config["method"].get(method) == simdjson::SUCCESS && method != "toploc")
    throw bad_input(where, fmt::format("method is \"{}\"", method), "expected toploc");

  ToplocClaim claim;
  claim.settings.decode_batching_size = positive(config, "decode_batching_size", where);
  claim.settings.topk = positive(config, "topk", where);
  if (config["skip_prefill"].get(claim.settings.skip_prefill) != simdjson::SUCCESS)
    throw bad_input(where, "does not state skip_prefill", kRemedy);
  std::string_view log;
  if (config["log"].get(log) == simdjson::SUCCESS) claim.log = log;

  const auto add = [&claim](std::string id, dom::element value) {
    if (auto list = proof_list(value))
      claim.requests.push_back({std::move(id), *std::move(list)});
    else
      claim.issues.push_back({std::move(id), "its proofs are not a list of base64 strings"});
  };
  dom::object by_request;
  if (proofs.get(by_request) == simdjson::SUCCESS)
    for (const auto [id, value] : by_request) add(std::string(id), value);
  else
    add({}, proofs);
  return claim;
}

ToplocClaim read_toploc(const std::filesystem::path& path) {
  const std::vector<std::uint8_t> bytes = read_file_bytes(path, kFingerprintFileLimit);
  return parse_toploc({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
}

std::string write_toploc(const ToplocClaim& claim) {
  nlohmann::ordered_json out;
  out["config"] = {{"method", "toploc"},
                   {"decode_batching_size", claim.settings.decode_batching_size},
                   {"topk", claim.settings.topk},
                   {"skip_prefill", claim.settings.skip_prefill},
                   {"log", claim.log}};
  auto& proofs = out["proofs"] = nlohmann::ordered_json::object();
  for (const auto& request : claim.requests) proofs[request.external_id] = request.proofs;
  return out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace difr
