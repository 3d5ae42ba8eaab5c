#include "core/fingerprint/fingerprint_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/fingerprint/fingerprint_declaration.h"
#include "core/fingerprint/packed_values.h"
#include "core/util/error.h"
#include "core/util/read_file.h"
#include "core/util/safetensors_header.h"

namespace difr {

namespace {

constexpr std::string_view kScaleSuffix = ".scale";

std::span<const std::uint8_t> data_of(std::span<const std::uint8_t> file, const SafetensorsHeader& header,
                                      const SafetensorsEntry& entry) {
  return file.subspan(header.data_start + entry.begin, entry.end - entry.begin);
}

SafetensorsHeader header_of(std::span<const std::uint8_t> bytes, const std::string& where) {
  const std::uint64_t length = safetensors_header_length(bytes, bytes.size(), where);
  return parse_safetensors_header({reinterpret_cast<const char*>(bytes.data()) + 8, length}, bytes.size(), where);
}

/// "q000.gaussian" to the claim of gaussian and "q000"; a file of one projection may leave the suffix out.
std::pair<FingerprintClaim*, std::string> owner(std::vector<FingerprintClaim>& claims, const std::string& tensor) {
  for (FingerprintClaim& claim : claims) {
    const std::string suffix = fmt::format(".{}", to_string(claim.projection));
    if (tensor.size() > suffix.size() && tensor.ends_with(suffix))
      return {&claim, tensor.substr(0, tensor.size() - suffix.size())};
  }
  if (claims.size() == 1) return {&claims.front(), tensor};
  return {nullptr, {}};
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Empty optional and a reason when the tensor is not n×k of a number type, or int8 without its scales.
std::optional<std::vector<float>> tensor_values(std::span<const std::uint8_t> file, const SafetensorsHeader& header,
                                                const SafetensorsEntry& entry, const FingerprintClaim& claim,
                                                std::string& reason) {
  if (entry.shape.size() != 2 || entry.shape[1] != claim.k) {
    reason = fmt::format("has shape {}, expected [tokens, {}]", shape_text(entry.shape), claim.k);
    return std::nullopt;
  }
  const auto wanted = safetensors_dtype(claim.dtype);
  if (entry.dtype != wanted) {
    reason = fmt::format("is {}, difr.dtype {} means {}", entry.dtype, to_string(claim.dtype), wanted);
    return std::nullopt;
  }
  const auto data = data_of(file, header, entry);
  if (claim.dtype != FingerprintDtype::int8) return *unpack_floats(data, entry.dtype);
  const SafetensorsEntry* scale = header.find(entry.name + std::string(kScaleSuffix));
  if (scale == nullptr || scale->shape != std::vector<std::int64_t>{entry.shape[0]}) {
    reason = fmt::format("has no scales: tensor \"{}{}\" of shape [{}]", entry.name, kScaleSuffix, entry.shape[0]);
    return std::nullopt;
  }
  const auto scales = unpack_floats(data_of(file, header, *scale), scale->dtype);
  if (!scales) {
    reason = fmt::format("its scales are {}, expected F16 or F32", scale->dtype);
    return std::nullopt;
  }
  return unpack_int8({reinterpret_cast<const std::int8_t*>(data.data()), data.size()}, *scales, claim.k);
}

}  // namespace

FingerprintFile read_fingerprints(const std::filesystem::path& path) {
  return parse_fingerprints(read_file_bytes(path, kFingerprintFileLimit), path.string());
}

FingerprintFile parse_fingerprints(std::span<const std::uint8_t> bytes, const std::string& where) {
  // A safetensors header's length never starts with '{' and then makes sense: that would be 123 and six zero bytes.
  const bool json = !bytes.empty() && bytes[0] == '{' && (bytes.size() < 8 || bytes[7] != 0);
  if (json) return parse_fingerprints_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, where);
  return parse_fingerprints_safetensors(bytes, where);
}

FingerprintFile parse_fingerprints_safetensors(std::span<const std::uint8_t> bytes, const std::string& where) {
  const SafetensorsHeader header = header_of(bytes, where);
  FingerprintFile file;
  file.claims = declared_claims(
      [&header](std::string_view key) -> std::optional<std::string> {
        for (const std::string& name : {fmt::format("difr.{}", key), std::string(key)})
          if (const auto found = header.metadata.find(name); found != header.metadata.end()) return found->second;
        return std::nullopt;
      },
      where);

  for (const SafetensorsEntry& entry : header.tensors) {
    const bool scales =
        entry.name.ends_with(kScaleSuffix) &&
        header.find(std::string_view(entry.name).substr(0, entry.name.size() - kScaleSuffix.size())) != nullptr;
    if (scales) continue;
    const auto [claim, request] = owner(file.claims, entry.name);
    std::string reason = "belongs to none of the declared projections";
    std::optional<std::vector<float>> values;
    if (claim != nullptr) values = tensor_values(bytes, header, entry, *claim, reason);
    if (values) reason = not_finite(*values, claim->k);
    if (!values || !reason.empty()) {
      file.issues.push_back({entry.name, reason});
      continue;
    }
    claim->requests.push_back({request, static_cast<std::size_t>(entry.shape[0]), *std::move(values)});
  }
  for (FingerprintClaim& claim : file.claims)
    std::sort(claim.requests.begin(), claim.requests.end(),
              [](const auto& a, const auto& b) { return a.external_id < b.external_id; });
  return file;
}

std::vector<std::uint8_t> write_fingerprints(const FingerprintClaim& claim) {
  nlohmann::ordered_json header;
  nlohmann::ordered_json& metadata = header["__metadata__"];
  const auto state = [&metadata](const char* key, const std::string& value) {
    if (!value.empty()) metadata[fmt::format("difr.{}", key)] = value;
  };
  state("method", "activation-difr");
  state("projection", to_string(claim.projection));
  if (claim.seed) state("seed", fmt::format("{}", *claim.seed));
  state("draw_order", claim.order == DrawOrder::k_by_d ? "k_by_d" : "d_by_k");
  if (claim.projection == ProjectionKind::orthogonal)
    state("row_signs", claim.signs == RowSigns::lapack ? "lapack" : "positive_diagonal");
  state("k", fmt::format("{}", claim.k));
  state("dtype", to_string(claim.dtype));
  if (claim.mode != ProviderMode::unknown) state("mode", to_string(claim.mode));
  state("layer", claim.layer);
  state("log", claim.log);
  state("seed_commitment", claim.seed_commitment);

  std::vector<std::uint8_t> data;
  const auto add = [&](const std::string& name, std::string_view dtype, std::vector<std::size_t> shape,
                       const std::vector<std::uint8_t>& bytes) {
    header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data.insert(data.end(), bytes.begin(), bytes.end());
  };
  for (const RequestFingerprint& request : claim.requests) {
    const PackedValues packed = pack_values(request.values, claim.k, claim.dtype);
    const auto k = static_cast<std::size_t>(claim.k);
    add(request.external_id, safetensors_dtype(claim.dtype), {request.tokens, k}, packed.values);
    if (claim.dtype == FingerprintDtype::int8)
      add(request.external_id + std::string(kScaleSuffix), "F16", {request.tokens}, packed.scales);
  }

  std::string json = header.dump();
  while (json.size() % 8 != 0) json += ' ';  // tensors start on an 8-byte boundary
  std::vector<std::uint8_t> file;
  for (std::size_t i = 0; i < 8; ++i) file.push_back(static_cast<std::uint8_t>(std::uint64_t{json.size()} >> (8 * i)));
  file.insert(file.end(), json.begin(), json.end());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

Projection read_projection(const std::filesystem::path& path, const std::string& tensor) {
  const std::string where = path.string();
  const std::vector<std::uint8_t> bytes = read_file_bytes(path, kFingerprintFileLimit);
  const SafetensorsHeader header = header_of(bytes, where);
  const SafetensorsEntry* entry = header.find(tensor);
  if (entry == nullptr) throw bad_input(where, fmt::format("has no tensor \"{}\"", tensor));
  constexpr std::int64_t kLargestSide = 1 << 24;
  if (entry->shape.size() != 2 || entry->shape[0] > kLargestSide || entry->shape[1] > kLargestSide)
    throw bad_input(where,
                    fmt::format("tensor \"{}\" has shape {}, expected [k, d]", tensor, shape_text(entry->shape)));
  auto values = unpack_floats(data_of(bytes, header, *entry), entry->dtype);
  if (!values) throw bad_input(where, fmt::format("tensor \"{}\" is {}, expected F32", tensor, entry->dtype));
  return Projection::from_matrix(*std::move(values), static_cast<int>(entry->shape[0]),
                                 static_cast<int>(entry->shape[1]), where);
}

}  // namespace difr
