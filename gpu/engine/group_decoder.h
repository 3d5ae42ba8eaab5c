#pragma once
// A group of sequences that are generated together: one packed prefill, then one row each a step. Includes LibTorch.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "gpu/model/decoder.h"

namespace difr::gpu {

class GroupDecoder {
 public:
  /// Prompts are not empty and fit the model's positions. Reserves keys and values of every position that the group can
  /// reach.
  GroupDecoder(const Decoder& decoder, std::span<const std::span<const TokenId>> prompts, int max_tokens,
               int batch_tokens);

  /// Normed rows [n, d] that predict the first token of each sequence.
  [[nodiscard]] at::Tensor prefill();
  /// Takes one token for every active sequence, in the order of active(); nothing ends it, as do the limits. Returns the
  /// normed rows that predict the next tokens of those still active; undefined when none is.
  [[nodiscard]] at::Tensor step(std::span<const std::optional<TokenId>> chosen);

  /// Indices of the sequences that the rows belong to.
  [[nodiscard]] const std::vector<std::size_t>& active() const { return active_; }
  /// Tokens that each active sequence has emitted.
  [[nodiscard]] int emitted() const { return emitted_; }

 private:
  struct Lane {
    std::span<const TokenId> prompt;
    int first_row = 0;   ///< in the cache
    int most_tokens = 0; ///< that may be emitted
  };
  const Decoder& decoder_;
  int batch_tokens_;
  std::vector<Lane> lanes_;
  KeyValueCache cache_;
  std::vector<std::size_t> active_;
  int emitted_ = 0;
};

}  // namespace difr::gpu
