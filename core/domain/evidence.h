#pragma once
// What one reference run says of one request. Knows nothing of seeds or temperature (DESIGN §1).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/domain/claim.h"

namespace difr {

/// Structure of arrays over the n output tokens of one claim; raw fp32 logits of the reference.
struct Evidence {
  int vocab = 0;                          ///< V: width of the reference's logit row
  int top_m = 0;                          ///< M: candidates kept per token (min(M, V))
  std::vector<float> claimed_logit;       ///< n; NaN where the row was refused
  std::vector<float> log_sum_exp;         ///< n; over the whole raw row (T = 1, no processing)
  std::vector<std::int32_t> claimed_rank; ///< n; number of entries with a strictly larger logit
  std::vector<TokenId> top_ids;           ///< n×M; by logit descending, lower id first on ties
  std::vector<float> top_logits;          ///< n×M

  [[nodiscard]] std::size_t size() const { return claimed_logit.size(); }
  [[nodiscard]] std::span<const TokenId> ids(std::size_t t) const { return {top_ids.data() + t * top_m, std::size_t(top_m)}; }
  [[nodiscard]] std::span<const float> logits(std::size_t t) const { return {top_logits.data() + t * top_m, std::size_t(top_m)}; }
};

/// The facts that make two recomputations comparable (exact replay refuses unlike ones).
struct ReferenceEnvironment {
  std::string model_name;
  std::string weights_digest;  ///< SHA-256 over the canonical tensor stream; independent of sharding
  std::string dtype;           ///< fp32 | bf16 | fp16
  std::string device;          ///< cpu | cuda:<name>
  std::string engine_build;    ///< engine name, version, LibTorch version
  std::string variant;         ///< empty, or the fake quantisation applied (int4-g32, ...)
  int threads = 0;
  int batch_tokens = 0;

  bool operator==(const ReferenceEnvironment&) const = default;
};

}  // namespace difr
