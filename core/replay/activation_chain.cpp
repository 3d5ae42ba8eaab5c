#include "core/replay/activation_chain.h"

#include <algorithm>
#include <bit>

#include "core/util/sha256.h"

namespace difr {

void ActivationChain::add(std::span<const float> state) {
  static_assert(std::endian::native == std::endian::little);
  Sha256 hash;
  hash.update("difr-activation-chain-v1").update(link_);
  hash.update(std::span(reinterpret_cast<const std::uint8_t*>(state.data()), state.size_bytes()));
  const auto digest = hash.finish();
  std::copy_n(digest.begin(), link_.size(), link_.begin());
}

std::string ActivationChain::link() const {
  return to_hex(link_);
}

}  // namespace difr
