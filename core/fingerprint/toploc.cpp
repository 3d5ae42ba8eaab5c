#include "core/fingerprint/toploc.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>
#include <utility>

#include "core/fingerprint/float_formats.h"
#include "core/util/base64.h"
#include "core/util/error.h"

namespace difr {

namespace {

constexpr int kSmallestModulus = (1 << 15) + 1;  // the public package's search stops there

int reduce(std::int64_t value) {
  const auto rest = static_cast<int>(value % kToplocPrime);
  return rest < 0 ? rest + kToplocPrime : rest;
}

int inverse(int value) {
  // Fermat: value^(p-2), p prime.
  std::int64_t result = 1;
  std::int64_t base = value;
  for (int exponent = kToplocPrime - 2; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = result * base % kToplocPrime;
    base = base * base % kToplocPrime;
  }
  return static_cast<int>(result);
}

/// Newton's divided differences, then expansion to powers; x distinct mod p.
std::vector<int> interpolate(const std::vector<int>& x, std::span<const std::uint16_t> y) {
  const std::size_t n = x.size();
  std::vector<int> newton(n);
  for (std::size_t i = 0; i < n; ++i) newton[i] = reduce(y[i]);
  for (std::size_t order = 1; order < n; ++order)
    for (std::size_t i = n - 1; i >= order; --i) {
      const int difference = reduce(newton[i] - newton[i - 1]);
      const int width = reduce(x[i] - x[i - order]);
      newton[i] = reduce(std::int64_t{difference} * inverse(width));
    }
  std::vector<int> coefficients(n, 0);
  for (std::size_t i = n; i-- > 0;) {
    // coefficients = coefficients·(X − x_i) + newton_i
    for (std::size_t j = n - 1; j > 0; --j)
      coefficients[j] = reduce(coefficients[j - 1] - std::int64_t{coefficients[j]} * x[i]);
    coefficients[0] = reduce(newton[i] - std::int64_t{coefficients[0]} * x[i]);
  }
  return coefficients;
}

void check(const ToplocSettings& settings) {
  if (settings.decode_batching_size < 1 || settings.topk < 1)
    throw Error(ExitCode::usage, "TOPLOC settings",
                fmt::format("decode_batching_size {} and topk {} must be at least 1", settings.decode_batching_size,
                            settings.topk));
}

bool finite(std::uint16_t bits) {
  return (bits & 0x7F80u) != 0x7F80u;
}

}  // namespace

int ToplocProof::evaluate(std::int64_t x) const {
  const std::int64_t at = reduce(x);
  std::int64_t value = 0;
  for (std::size_t i = coefficients.size(); i-- > 0;) value = (value * at + coefficients[i]) % kToplocPrime;
  return static_cast<int>(value);
}

std::vector<std::uint8_t> ToplocProof::to_bytes() const {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(2 + 2 * coefficients.size());
  const auto put = [&bytes](int value) {
    bytes.push_back(static_cast<std::uint8_t>(value >> 8));
    bytes.push_back(static_cast<std::uint8_t>(value));
  };
  put(modulus);
  for (const int coefficient : coefficients) put(coefficient);
  return bytes;
}

std::string ToplocProof::to_base64() const {
  return base64_encode(to_bytes());
}

tl::expected<ToplocProof, std::string> decode_toploc(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 4 || bytes.size() % 2 != 0)
    return tl::unexpected(fmt::format(
        "a proof is a modulus and at least one coefficient of 2 bytes each, this has {} bytes", bytes.size()));
  const auto word = [&bytes](std::size_t i) { return (bytes[2 * i] << 8) | bytes[2 * i + 1]; };
  ToplocProof proof;
  proof.modulus = word(0);
  for (std::size_t i = 1; i < bytes.size() / 2; ++i) proof.coefficients.push_back(word(i));
  if (proof.is_null()) {
    if (std::any_of(proof.coefficients.begin(), proof.coefficients.end(), [](int c) { return c != 0; }))
      return tl::unexpected(std::string("modulus 0 with coefficients: no builder makes this"));
    return proof;
  }
  if (proof.modulus > kToplocPrime || proof.modulus < kSmallestModulus)
    return tl::unexpected(fmt::format("modulus {} is outside {}..{}", proof.modulus, kSmallestModulus, kToplocPrime));
  for (std::size_t i = 0; i < proof.coefficients.size(); ++i)
    if (proof.coefficients[i] >= kToplocPrime)
      return tl::unexpected(
          fmt::format("coefficient {} is {}, outside the field of {}", i, proof.coefficients[i], kToplocPrime));
  return proof;
}

tl::expected<ToplocProof, std::string> decode_toploc_base64(std::string_view text) {
  const auto bytes = base64_decode(text);
  if (!bytes) return tl::unexpected(std::string("is not base64"));
  return decode_toploc(*bytes);
}

std::optional<int> injective_modulus(std::span<const std::int64_t> indices) {
  std::unordered_set<std::int64_t> seen;
  for (int modulus = kToplocPrime; modulus >= kSmallestModulus; --modulus) {
    seen.clear();
    const bool distinct = std::all_of(indices.begin(), indices.end(),
                                      [&](std::int64_t index) { return seen.insert(index % modulus).second; });
    if (distinct) return modulus;
    // Equal indices collide under every modulus: find out once instead of 32,728 times.
    if (modulus == kToplocPrime) {
      seen.clear();
      for (const std::int64_t index : indices)
        if (!seen.insert(index).second) return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<ToplocProof> interpolate_toploc(std::span<const std::int64_t> indices,
                                              std::span<const std::uint16_t> values) {
  if (indices.empty() || indices.size() != values.size()) return std::nullopt;
  const auto modulus = injective_modulus(indices);
  if (!modulus) return std::nullopt;
  std::vector<int> x;
  x.reserve(indices.size());
  for (const std::int64_t index : indices) x.push_back(static_cast<int>(index % *modulus));
  return ToplocProof{*modulus, interpolate(x, values)};
}

std::vector<std::int64_t> largest_magnitudes(std::span<const std::uint16_t> values, int k) {
  using Entry = std::pair<float, std::int64_t>;
  std::vector<Entry> queue(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    queue[i] = {bf16_to_float(static_cast<std::uint16_t>(values[i] & 0x7FFFu)), static_cast<std::int64_t>(i)};
  const auto before = [](const Entry& a, const Entry& b) {
    return (std::isnan(a.first) && !std::isnan(b.first)) || a.first > b.first;
  };
  // The same choice of algorithm as torch's, hence the same survivors among ties under the same standard library.
  const auto kth = queue.begin() + k;
  if (static_cast<std::size_t>(k) * 64 <= values.size()) {
    std::partial_sort(queue.begin(), kth, queue.end(), before);
  } else if (k > 0) {
    std::nth_element(queue.begin(), kth - 1, queue.end(), before);
    std::sort(queue.begin(), kth - 1, before);
  }
  std::vector<std::int64_t> indices;
  indices.reserve(static_cast<std::size_t>(k));
  for (auto entry = queue.begin(); entry != kth; ++entry) indices.push_back(entry->second);
  return indices;
}

std::vector<ToplocChunk> toploc_chunks(std::size_t rows, const ToplocSettings& settings) {
  check(settings);
  std::vector<ToplocChunk> chunks;
  std::size_t first = 0;
  if (!settings.skip_prefill && rows > 0) {
    chunks.push_back({0, 1});
    first = 1;
  }
  const auto batch = static_cast<std::size_t>(settings.decode_batching_size);
  for (; first < rows; first += batch) chunks.push_back({first, std::min(rows, first + batch)});
  return chunks;
}

tl::expected<std::vector<ToplocProof>, std::string> build_toploc(ToplocActivations activations,
                                                                 const ToplocSettings& settings) {
  std::vector<ToplocProof> proofs;
  std::vector<std::uint16_t> flat;
  for (const ToplocChunk& chunk : toploc_chunks(activations.size(), settings)) {
    flat.clear();
    for (std::size_t row = chunk.first; row < chunk.last; ++row)
      flat.insert(flat.end(), activations[row].begin(), activations[row].end());
    const std::size_t number = proofs.size();
    if (flat.size() < static_cast<std::size_t>(settings.topk))
      return tl::unexpected(
          fmt::format("chunk {} has {} values, fewer than topk {}", number, flat.size(), settings.topk));
    if (!std::all_of(flat.begin(), flat.end(), finite))
      return tl::unexpected(fmt::format("chunk {} holds a value that is not finite", number));
    const auto indices = largest_magnitudes(flat, settings.topk);
    std::vector<std::uint16_t> values;
    values.reserve(indices.size());
    for (const std::int64_t index : indices) values.push_back(flat[static_cast<std::size_t>(index)]);
    auto proof = interpolate_toploc(indices, values);
    if (!proof) return tl::unexpected(fmt::format("chunk {} has no modulus that keeps its indices apart", number));
    proofs.push_back(std::move(*proof));
  }
  return proofs;
}

}  // namespace difr
