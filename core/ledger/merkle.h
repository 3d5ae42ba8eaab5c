#pragma once
// Merkle tree of RFC 6962 (section 2.1): SHA-256 with 0x00 before leaves and 0x01 before nodes; any earlier size of the
// log has a root of its own. Verification follows RFC 9162, sections 2.1.3.2 and 2.1.4.2.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/util/sha256.h"

namespace difr {

[[nodiscard]] Digest merkle_leaf_hash(std::span<const std::uint8_t> entry);
[[nodiscard]] Digest merkle_leaf_hash(std::string_view entry);
[[nodiscard]] Digest merkle_node_hash(const Digest& left, const Digest& right);

/// Append-only; keeps the hashes of all complete subtrees (64 bytes an entry), so that every proof is O(log² n).
class MerkleTree {
 public:
  void append(std::string_view entry) { append_leaf(merkle_leaf_hash(entry)); }
  void append_leaf(const Digest& leaf_hash);

  [[nodiscard]] std::uint64_t size() const { return levels_.empty() ? 0 : levels_[0].size(); }
  [[nodiscard]] const Digest& leaf(std::uint64_t index) const;
  /// Root over the first `tree_size` entries; of none, SHA-256 of nothing. Throws difr::Error (usage) beyond size().
  [[nodiscard]] Digest root(std::uint64_t tree_size) const;
  [[nodiscard]] Digest root() const { return root(size()); }
  /// PATH(index, D[tree_size]), from the leaf upwards. Needs index < tree_size <= size().
  [[nodiscard]] std::vector<Digest> inclusion_proof(std::uint64_t index, std::uint64_t tree_size) const;
  /// PROOF(first, D[second]). Needs first <= second <= size(); empty when first is 0 or equal to second.
  [[nodiscard]] std::vector<Digest> consistency_proof(std::uint64_t first, std::uint64_t second) const;

 private:
  [[nodiscard]] Digest subtree(std::uint64_t begin, std::uint64_t end) const;
  void check_size(std::uint64_t tree_size) const;

  std::vector<std::vector<Digest>> levels_;  ///< levels_[h][i]: root over entries [i·2^h, (i+1)·2^h)
};

/// True iff `proof` shows that the leaf is entry `index` of the log with this size and root.
[[nodiscard]] bool verify_inclusion(const Digest& leaf_hash, std::uint64_t index, std::uint64_t tree_size,
                                    std::span<const Digest> proof, const Digest& root);

/// True iff `proof` shows that the log of size `second` extends the one of size `first`. Every log extends the empty
/// one, whose root must then be SHA-256 of nothing.
[[nodiscard]] bool verify_consistency(std::uint64_t first, const Digest& first_root, std::uint64_t second,
                                      const Digest& second_root, std::span<const Digest> proof);

}  // namespace difr
