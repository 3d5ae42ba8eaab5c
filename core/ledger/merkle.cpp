#include "core/ledger/merkle.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "core/util/error.h"

namespace difr {

namespace {

Digest empty_root() {
  return Sha256().finish();
}

/// Largest power of two below n; n > 1.
std::uint64_t split(std::uint64_t n) {
  return std::bit_floor(n - 1);
}

}  // namespace

Digest merkle_leaf_hash(std::span<const std::uint8_t> entry) {
  constexpr std::uint8_t kLeaf[] = {0};
  return Sha256().update(kLeaf).update(entry).finish();
}

Digest merkle_leaf_hash(std::string_view entry) {
  return merkle_leaf_hash(std::span(reinterpret_cast<const std::uint8_t*>(entry.data()), entry.size()));
}

Digest merkle_node_hash(const Digest& left, const Digest& right) {
  constexpr std::uint8_t kNode[] = {1};
  return Sha256().update(kNode).update(left).update(right).finish();
}

void MerkleTree::append_leaf(const Digest& leaf_hash) {
  Digest hash = leaf_hash;
  for (std::size_t height = 0;; ++height) {
    if (levels_.size() == height) levels_.emplace_back();
    auto& level = levels_[height];
    level.push_back(hash);
    if (level.size() % 2 != 0) return;
    hash = merkle_node_hash(level[level.size() - 2], level.back());
  }
}

const Digest& MerkleTree::leaf(std::uint64_t index) const {
  if (index >= size())
    throw Error(ExitCode::usage, "ledger", fmt::format("entry {} asked for, the log has {}", index, size()));
  return levels_[0][index];
}

void MerkleTree::check_size(std::uint64_t tree_size) const {
  if (tree_size > size())
    throw Error(ExitCode::usage, "ledger", fmt::format("size {} asked for, the log has {}", tree_size, size()));
}

Digest MerkleTree::subtree(std::uint64_t begin, std::uint64_t end) const {
  const std::uint64_t n = end - begin;
  // By construction begin is a multiple of the power of two at or above n.
  if (std::has_single_bit(n)) return levels_[static_cast<std::size_t>(std::countr_zero(n))][begin / n];
  const std::uint64_t left = split(n);
  return merkle_node_hash(subtree(begin, begin + left), subtree(begin + left, end));
}

Digest MerkleTree::root(std::uint64_t tree_size) const {
  check_size(tree_size);
  return tree_size == 0 ? empty_root() : subtree(0, tree_size);
}

std::vector<Digest> MerkleTree::inclusion_proof(std::uint64_t index, std::uint64_t tree_size) const {
  check_size(tree_size);
  if (index >= tree_size)
    throw Error(ExitCode::usage, "ledger", fmt::format("entry {} is not in a log of {}", index, tree_size));
  std::vector<Digest> proof;
  std::uint64_t begin = 0, end = tree_size;
  while (end - begin > 1) {
    const std::uint64_t middle = begin + split(end - begin);
    if (index < middle) {
      proof.push_back(subtree(middle, end));
      end = middle;
    } else {
      proof.push_back(subtree(begin, middle));
      begin = middle;
    }
  }
  std::reverse(proof.begin(), proof.end());
  return proof;
}

std::vector<Digest> MerkleTree::consistency_proof(std::uint64_t first, std::uint64_t second) const {
  check_size(second);
  if (first > second)
    throw Error(ExitCode::usage, "ledger", fmt::format("a log of {} cannot extend one of {}", second, first));
  std::vector<Digest> proof;
  if (first == 0 || first == second) return proof;
  std::uint64_t begin = 0, end = second;
  bool known = true;  // the subtree is the whole first log, whose root the verifier has
  while (first != end) {
    const std::uint64_t middle = begin + split(end - begin);
    if (first <= middle) {
      proof.push_back(subtree(middle, end));
      end = middle;
    } else {
      proof.push_back(subtree(begin, middle));
      begin = middle;
      known = false;
    }
  }
  if (!known) proof.push_back(subtree(begin, end));
  std::reverse(proof.begin(), proof.end());
  return proof;
}

bool verify_inclusion(const Digest& leaf_hash, std::uint64_t index, std::uint64_t tree_size,
                      std::span<const Digest> proof, const Digest& root) {
  if (index >= tree_size) return false;
  std::uint64_t node = index;
  std::uint64_t last = tree_size - 1;
  Digest hash = leaf_hash;
  for (const Digest& step : proof) {
    if (last == 0) return false;
    if ((node & 1) != 0 || node == last) {
      hash = merkle_node_hash(step, hash);
      while ((node & 1) == 0 && node != 0) {
        node >>= 1;
        last >>= 1;
      }
    } else {
      hash = merkle_node_hash(hash, step);
    }
    node >>= 1;
    last >>= 1;
  }
  return last == 0 && hash == root;
}

bool verify_consistency(std::uint64_t first, const Digest& first_root, std::uint64_t second, const Digest& second_root,
                        std::span<const Digest> proof) {
  if (first > second) return false;
  if (first == second) return proof.empty() && first_root == second_root;
  if (first == 0) return proof.empty() && first_root == empty_root();
  if (proof.empty()) return false;

  std::uint64_t node = first - 1;
  std::uint64_t last = second - 1;
  while ((node & 1) != 0) {
    node >>= 1;
    last >>= 1;
  }
  // A first log that is one complete subtree is its own starting point and left out of the proof.
  const bool complete = std::has_single_bit(first);
  Digest old_hash = complete ? first_root : proof.front();
  Digest new_hash = old_hash;
  for (const Digest& step : proof.subspan(complete ? 0 : 1)) {
    if (last == 0) return false;
    if ((node & 1) != 0 || node == last) {
      old_hash = merkle_node_hash(step, old_hash);
      new_hash = merkle_node_hash(step, new_hash);
      while ((node & 1) == 0 && node != 0) {
        node >>= 1;
        last >>= 1;
      }
    } else {
      new_hash = merkle_node_hash(new_hash, step);
    }
    node >>= 1;
    last >>= 1;
  }
  return last == 0 && old_hash == first_root && new_hash == second_root;
}

}  // namespace difr
