#include "core/casefile/blob_codec.h"

#include <algorithm>

#include "core/casefile/planes.h"

namespace difr {
namespace {

constexpr std::uint8_t format_version = 1;
// A request of a million tokens with M = 1024 stays below; a damaged header cannot ask for more memory.
constexpr std::uint64_t most_raw_bytes = std::uint64_t{16} << 30;

Bytes header(char kind) {
  return {static_cast<std::uint8_t>(kind), format_version};
}

Reader open(std::span<const std::uint8_t> blob, char kind) {
  Reader reader(blob);
  if (reader.integer(1) != static_cast<std::uint8_t>(kind)) throw Reader::damaged("of another kind than expected");
  if (reader.integer(1) != format_version) throw Reader::damaged("of an unknown format version");
  return reader;
}

void put_compressed(Bytes& out, const Bytes& raw, int level) {
  put_integer(out, raw.size(), 8);
  zstd_compress(raw, out, level);
}

Bytes take_compressed(Reader& reader, std::uint64_t expected) {
  const auto size = reader.integer(8);
  if (size != expected || size > most_raw_bytes) throw Reader::damaged("with a size that does not fit its counts");
  return zstd_decompress(reader.rest(), size);
}

/// Order-preserving map between float bits and unsigned integers; a bijection, NaN payloads included.
std::uint32_t ordered(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits & 0x80000000u) ? ~bits : bits | 0x80000000u;
}
float unordered(std::uint32_t key) {
  return std::bit_cast<float>((key & 0x80000000u) ? key & 0x7fffffffu : ~key);
}

int id_width(std::span<const TokenId> ids) {
  std::uint32_t widest = 0;
  for (const auto id : ids) widest |= static_cast<std::uint32_t>(id);
  return widest < (1u << 16) ? 2 : widest < (1u << 24) ? 3 : 4;
}

auto id_bits = [](TokenId id) { return static_cast<std::uint32_t>(id); };
auto bits_id = [](std::uint64_t bits) { return static_cast<TokenId>(static_cast<std::uint32_t>(bits)); };

}  // namespace

Bytes encode_ids(std::span<const TokenId> ids) {
  const int width = id_width(ids);
  auto out = header('I');
  put_integer(out, ids.size(), 4);
  put_integer(out, static_cast<std::uint64_t>(width), 1);
  Bytes raw;
  put_planes(raw, ids, width, id_bits);
  // Ids are nearly random: short lists gain a tenth at most, for a quarter of the time of an import.
  constexpr std::size_t worth_compressing = 4096;
  if (raw.size() >= worth_compressing) {
    Bytes packed;
    zstd_compress(raw, packed, 1);
    if (packed.size() < raw.size()) {
      put_integer(out, 1, 1);
      out.insert(out.end(), packed.begin(), packed.end());
      return out;
    }
  }
  put_integer(out, 0, 1);
  out.insert(out.end(), raw.begin(), raw.end());
  return out;
}

std::vector<TokenId> decode_ids(std::span<const std::uint8_t> blob) {
  auto reader = open(blob, 'I');
  const auto count = static_cast<std::size_t>(reader.integer(4));
  const auto width = static_cast<int>(reader.integer(1));
  const auto method = reader.integer(1);
  if (width < 2 || width > 4 || method > 1) throw Reader::damaged("with an impossible header");
  std::vector<TokenId> ids;
  if (method == 0) {
    reader.planes(ids, count, width, bits_id);
    reader.expect_end();
  } else {
    const auto raw = zstd_decompress(reader.rest(), count * static_cast<std::size_t>(width));
    Reader(raw).planes(ids, count, width, bits_id);
  }
  return ids;
}

Bytes encode_logprobs(std::span<const float> logprobs) {
  if (logprobs.empty()) return {};
  auto out = header('L');
  put_integer(out, logprobs.size(), 4);
  Bytes raw;
  put_floats(raw, logprobs);
  put_compressed(out, raw, 3);
  return out;
}

std::vector<float> decode_logprobs(std::span<const std::uint8_t> blob) {
  std::vector<float> logprobs;
  if (blob.empty()) return logprobs;
  auto reader = open(blob, 'L');
  const auto count = static_cast<std::size_t>(reader.integer(4));
  const auto raw = take_compressed(reader, count * sizeof(float));
  Reader body(raw);
  body.floats(logprobs, count);
  body.expect_end();
  return logprobs;
}

Bytes encode_evidence(const Evidence& e) {
  const auto n = e.size();
  const auto m = static_cast<std::size_t>(std::max(e.top_m, 0));
  if (e.log_sum_exp.size() != n || e.claimed_rank.size() != n || e.top_ids.size() != n * m ||
      e.top_logits.size() != n * m)
    throw std::invalid_argument("evidence arrays disagree in length");
  auto out = header('E');
  put_integer(out, n, 4);
  put_integer(out, static_cast<std::uint32_t>(e.vocab), 4);
  put_integer(out, m, 4);
  const int width = id_width(e.top_ids);
  put_integer(out, static_cast<std::uint64_t>(width), 1);
  Bytes raw;
  raw.reserve(n * (12 + m * 8));
  put_floats(raw, e.claimed_logit);
  put_floats(raw, e.log_sum_exp);
  put_ints(raw, e.claimed_rank);
  put_planes(raw, e.top_ids, width, id_bits);
  std::vector<std::uint32_t> steps(e.top_logits.size());
  for (std::size_t t = 0; t < n; ++t) {
    std::uint32_t previous = 0;
    for (std::size_t j = 0; j < m; ++j) {
      const auto key = ordered(e.top_logits[t * m + j]);
      steps[t * m + j] = j == 0 ? key : previous - key;  // wraps where a row is not sorted, and back when read
      previous = key;
    }
  }
  put_planes(raw, steps, 4, [](std::uint32_t step) { return step; });
  put_compressed(out, raw, 6);
  return out;
}

Evidence decode_evidence(std::span<const std::uint8_t> blob) {
  auto reader = open(blob, 'E');
  const auto n = static_cast<std::size_t>(reader.integer(4));
  const auto vocab = reader.integer(4);
  const auto m = static_cast<std::size_t>(reader.integer(4));
  const auto width = static_cast<int>(reader.integer(1));
  if (vocab > 0x7fffffffu || m > (1u << 20) || width < 2 || width > 4)
    throw Reader::damaged("with an impossible header");
  const auto per_token = 12 + m * (4 + static_cast<std::size_t>(width));
  const auto raw = take_compressed(reader, n * per_token);
  Reader body(raw);
  Evidence e;
  e.vocab = static_cast<int>(vocab);
  e.top_m = static_cast<int>(m);
  body.floats(e.claimed_logit, n);
  body.floats(e.log_sum_exp, n);
  body.ints(e.claimed_rank, n);
  body.planes(e.top_ids, n * m, width, bits_id);
  std::vector<std::uint32_t> steps;
  body.planes(steps, n * m, 4, [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits); });
  body.expect_end();
  e.top_logits.resize(n * m);
  for (std::size_t t = 0; t < n; ++t) {
    std::uint32_t key = 0;
    for (std::size_t j = 0; j < m; ++j) {
      key = j == 0 ? steps[t * m] : key - steps[t * m + j];
      e.top_logits[t * m + j] = unordered(key);
    }
  }
  return e;
}

Bytes encode_scores(const TokenScores& s) {
  const auto n = s.size();
  auto out = header('S');
  put_integer(out, n, 4);
  Bytes raw;
  raw.reserve(n * 37);
  for (const auto* v : {&s.margin, &s.margin_hi, &s.gap, &s.log_prob}) {
    if (v->size() != n) throw std::invalid_argument("score arrays disagree in length");
    put_floats(raw, *v);
  }
  for (const auto* v : {&s.logit_rank, &s.gumbel_rank, &s.reference_token}) {
    if (v->size() != n) throw std::invalid_argument("score arrays disagree in length");
    put_ints(raw, *v);
  }
  for (const auto* v : {&s.filter_distance, &s.runner_up}) {
    if (v->size() != n) throw std::invalid_argument("score arrays disagree in length");
    put_floats(raw, *v);
  }
  if (s.flags.size() != n) throw std::invalid_argument("score arrays disagree in length");
  raw.insert(raw.end(), s.flags.begin(), s.flags.end());
  put_compressed(out, raw, 6);
  return out;
}

TokenScores decode_scores(std::span<const std::uint8_t> blob) {
  auto reader = open(blob, 'S');
  const auto n = static_cast<std::size_t>(reader.integer(4));
  const auto raw = take_compressed(reader, n * 37);
  Reader body(raw);
  TokenScores s;
  for (auto* v : {&s.margin, &s.margin_hi, &s.gap, &s.log_prob}) body.floats(*v, n);
  for (auto* v : {&s.logit_rank, &s.gumbel_rank, &s.reference_token}) body.ints(*v, n);
  for (auto* v : {&s.filter_distance, &s.runner_up}) body.floats(*v, n);
  const auto flags = body.take(n);
  s.flags.assign(flags.begin(), flags.end());
  body.expect_end();
  return s;
}

Bytes encode_calibration(const Calibration& c) {
  auto out = header('C');
  put_integer(out, c.offsets.size(), 4);
  put_integer(out, c.margin.size(), 4);
  if (c.gap.size() != c.margin.size() || c.runner_up.size() != c.margin.size())
    throw std::invalid_argument("calibration arrays disagree in length");
  Bytes raw;
  put_planes(raw, c.offsets, 8, [](std::size_t v) { return std::uint64_t{v}; });
  for (const auto* v : {&c.margin, &c.gap, &c.runner_up}) put_floats(raw, *v);
  put_compressed(out, raw, 6);
  return out;
}

void decode_calibration(std::span<const std::uint8_t> blob, Calibration& c) {
  auto reader = open(blob, 'C');
  const auto offsets = static_cast<std::size_t>(reader.integer(4));
  const auto tokens = static_cast<std::size_t>(reader.integer(4));
  const auto raw = take_compressed(reader, offsets * 8 + tokens * 12);
  Reader body(raw);
  body.planes(c.offsets, offsets, 8, [](std::uint64_t bits) { return static_cast<std::size_t>(bits); });
  for (auto* v : {&c.margin, &c.gap, &c.runner_up}) body.floats(*v, tokens);
  body.expect_end();
  // Offsets are used as indices: they must ascend and end at the number of tokens.
  if (!std::is_sorted(c.offsets.begin(), c.offsets.end()) || (!c.offsets.empty() && c.offsets.back() != tokens))
    throw Reader::damaged("with offsets that do not fit its tokens");
}

}  // namespace difr
