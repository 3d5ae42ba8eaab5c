// RFC 6962 trees against the test vectors of certificate-transparency (the same in transparency-dev/merkle).

#include <QtTest>
#include <random>

#include "core/ledger/merkle.h"
#include "core/util/error.h"

using namespace difr;

namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

const std::vector<std::string> kEntries{
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"};

const std::vector<std::string> kRoots{"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                                      "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                                      "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                                      "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                                      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                                      "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                                      "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                                      "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                                      "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};

const std::string kLeaf1 = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7";
const std::string kNode23 = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e";
const std::string kNode4567 = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4";
const std::string kLeaf4 = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b";
const std::string kNode67 = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0";
const std::string kNode0123 = "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7";
const std::string kNode45 = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a";

MerkleTree vector_tree() {
  MerkleTree tree;
  for (const auto& entry : kEntries) tree.append(from_hex(entry));
  return tree;
}

std::vector<std::string> hex(const std::vector<Digest>& proof) {
  std::vector<std::string> texts;
  for (const auto& digest : proof) texts.push_back(to_hex(digest));
  return texts;
}

using Proof = std::vector<std::string>;

}  // namespace

class TestMerkle : public QObject {
  Q_OBJECT

 private slots:
  void rootsOfEverySize() {
    const MerkleTree tree = vector_tree();
    for (std::size_t size = 0; size <= 8; ++size) QCOMPARE(to_hex(tree.root(size)), kRoots[size]);
    QVERIFY_THROWS_EXCEPTION(Error, (void)tree.root(9));
  }

  void inclusionVectors() {
    const MerkleTree tree = vector_tree();
    QCOMPARE(hex(tree.inclusion_proof(0, 8)), (Proof{kLeaf1, kNode23, kNode4567}));
    QCOMPARE(hex(tree.inclusion_proof(5, 8)), (Proof{kLeaf4, kNode67, kNode0123}));
    QCOMPARE(hex(tree.inclusion_proof(0, 1)), Proof{});
    QVERIFY_THROWS_EXCEPTION(Error, (void)tree.inclusion_proof(5, 5));
  }

  void consistencyVectors() {
    const MerkleTree tree = vector_tree();
    QCOMPARE(hex(tree.consistency_proof(1, 8)), (Proof{kLeaf1, kNode23, kNode4567}));
    QCOMPARE(hex(tree.consistency_proof(6, 8)), (Proof{kNode45, kNode67, kNode0123}));
    QCOMPARE(hex(tree.consistency_proof(2, 5)), (Proof{kNode23, kLeaf4}));
    QCOMPARE(hex(tree.consistency_proof(8, 8)), Proof{});
    QVERIFY_THROWS_EXCEPTION(Error, (void)tree.consistency_proof(6, 5));
  }

  void everyProofVerifiesAndNothingElseDoes() {
    MerkleTree tree;
    constexpr std::uint64_t kSize = 40;
    for (std::uint64_t i = 0; i < kSize; ++i) tree.append("entry " + std::to_string(i));
    std::mt19937 random(7);
    for (std::uint64_t size = 1; size <= kSize; ++size) {
      const Digest root = tree.root(size);
      for (std::uint64_t index = 0; index < size; ++index) {
        const auto proof = tree.inclusion_proof(index, size);
        const Digest leaf = merkle_leaf_hash("entry " + std::to_string(index));
        QVERIFY(verify_inclusion(leaf, index, size, proof, root));
        QVERIFY(!verify_inclusion(merkle_leaf_hash("other"), index, size, proof, root));
        for (std::uint64_t other = 0; other <= size; ++other)
          QVERIFY(other == index || !verify_inclusion(leaf, other, size, proof, root));
        auto damaged = proof;
        damaged.push_back(root);
        QVERIFY(!verify_inclusion(leaf, index, size, damaged, root));
        if (proof.empty()) continue;
        damaged = proof;
        damaged[random() % damaged.size()][random() % 32] ^= 1;
        QVERIFY(!verify_inclusion(leaf, index, size, damaged, root));
        QVERIFY(!verify_inclusion(leaf, index, size, std::span(proof).first(proof.size() - 1), root));
      }
      for (std::uint64_t first = 0; first <= size; ++first) {
        const auto proof = tree.consistency_proof(first, size);
        QVERIFY(verify_consistency(first, tree.root(first), size, root, proof));
        QVERIFY(!verify_consistency(first, merkle_leaf_hash("other"), size, root, proof));
        if (first != 0) QVERIFY(!verify_consistency(first, tree.root(first), size, merkle_leaf_hash("x"), proof));
        auto damaged = proof;
        damaged.push_back(root);
        QVERIFY(!verify_consistency(first, tree.root(first), size, root, damaged));
        if (proof.empty()) continue;
        damaged = proof;
        damaged[random() % damaged.size()][random() % 32] ^= 1;
        QVERIFY(!verify_consistency(first, tree.root(first), size, root, damaged));
        QVERIFY(!verify_consistency(first, tree.root(first), size, root, {}));
      }
    }
  }

  void hostileNumbersAreAnswered() {
    const Digest root{};
    const std::vector<Digest> proof(70, root);
    QVERIFY(!verify_inclusion(root, 0, 0, proof, root));
    QVERIFY(!verify_inclusion(root, ~0ULL, ~0ULL, proof, root));
    QVERIFY(!verify_inclusion(root, ~0ULL - 1, ~0ULL, proof, root));
    QVERIFY(!verify_consistency(~0ULL, root, ~0ULL - 1, root, proof));
    QVERIFY(!verify_consistency(1, root, ~0ULL, root, proof));
    QVERIFY(!verify_consistency(0, root, 5, root, {}));
  }
};

QTEST_APPLESS_MAIN(TestMerkle)
#include "test_merkle.moc"
