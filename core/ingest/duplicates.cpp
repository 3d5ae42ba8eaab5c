#include "core/ingest/duplicates.h"

#include <functional>
#include <string_view>

namespace difr {
namespace {

constexpr std::size_t most_remembered = 2'000'000;

std::uint64_t mix(std::uint64_t h) {
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdULL;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53ULL;
  return h ^ (h >> 33);
}

std::uint64_t hash_ids(std::uint64_t h, const std::vector<TokenId>& ids) {
  const auto bytes = std::string_view(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(TokenId));
  return mix(h ^ std::hash<std::string_view>()(bytes));
}

}  // namespace

DuplicateFilter::Seen DuplicateFilter::add(const Claim& claim) {
  std::uint64_t id =
      mix(std::hash<std::string_view>()(claim.external_id) + static_cast<std::uint64_t>(claim.choice) + 1);
  if (id == 0) id = 1;
  auto content = hash_ids(static_cast<std::uint64_t>(claim.seed.value_or(0)), claim.prompt);
  content = hash_ids(content + claim.seed.has_value(), claim.output);
  for (std::size_t at = id & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    auto& slot = slots_[at];
    if (slot.id == id) return slot.content == content ? Seen::same_claim : Seen::same_id;
    if (slot.id != 0) continue;
    if (used_ >= most_remembered) return Seen::never;
    slot = {id, content};
    if (++used_ * 2 > slots_.size()) grow();
    return Seen::never;
  }
}

void DuplicateFilter::grow() {
  std::vector<Slot> larger(slots_.size() * 2);
  for (const auto& slot : slots_) {
    if (slot.id == 0) continue;
    auto at = slot.id & (larger.size() - 1);
    while (larger[at].id != 0) at = (at + 1) & (larger.size() - 1);
    larger[at] = slot;
  }
  slots_ = std::move(larger);
}

}  // namespace difr
