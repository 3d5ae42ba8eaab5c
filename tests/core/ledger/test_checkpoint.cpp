// Signatures against RFC 8032 and the example of the signed-note format (golang.org/x/mod/sumdb/note); checkpoints;
// commit and reveal.

#include <QtTest>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "core/ledger/checkpoint.h"
#include "core/util/error.h"

using namespace difr;

namespace {

const std::string kSigner = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
const std::string kVerifier = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const std::string kText =
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const std::string kNote =
    kText +
    "\n\xE2\x80\x94 PeterNeumann "
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

std::array<std::uint8_t, 32> bytes32(const std::string& hex) {
  std::array<std::uint8_t, 32> bytes{};
  for (std::size_t i = 0; i < 32; ++i)
    bytes[i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  return bytes;
}

Secret secret_of(std::uint8_t first) {
  Secret secret{};
  secret[0] = first;
  return secret;
}

Checkpoint example(const Secret& secret) {
  MerkleTree tree;
  for (int i = 0; i < 1000; ++i) tree.append("entry " + std::to_string(i));
  return {
      "audit.example.org/ledger", tree.size(), tree.root(), {sample_commitment_line(commit(secret, kSamplePurpose))}};
}

}  // namespace

class TestCheckpoint : public QObject {
  Q_OBJECT

 private slots:
  void ed25519IsRfc8032() {
    // RFC 8032, section 7.1, TEST 1: empty message.
    const NoteSigner signer("test", bytes32("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"));
    QCOMPARE(to_hex(signer.verifier().public_key()),
             std::string("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"));
    const std::string signature = signer.sign("");
    QCOMPARE(
        to_hex(std::span(reinterpret_cast<const std::uint8_t*>(signature.data()), signature.size())),
        std::string("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                    "d25bf5f0595bbe24655141438e7a100b"));
    QVERIFY(signer.verifier().verifies("", signature));
    QVERIFY(!signer.verifier().verifies("x", signature));
    QVERIFY(!signer.verifier().verifies("", ""));
  }

  void signedNoteExample() {
    const auto signer = NoteSigner::parse(kSigner);
    QVERIFY(signer.has_value());
    QCOMPARE(signer->verifier().encoded(), kVerifier);
    QCOMPARE(signer->encoded(), kSigner);
    QCOMPARE(sign_note(kText, *signer), kNote);
    const auto verifier = NoteVerifier::parse(kVerifier);
    QCOMPARE(open_note(kNote, *verifier).value(), kText);
    const NoteSigner other("Other", secret_of(1));
    QVERIFY(open_note(kNote, other.verifier()).error().find("not signed by Other") != std::string::npos);
    // Another key under the same name is not looked at; the same key with a wrong signature is an error.
    const NoteSigner namesake("PeterNeumann", secret_of(1));
    QVERIFY(open_note(kNote, namesake.verifier()).error().find("not signed") != std::string::npos);
    std::string changed = kNote;
    changed[3] = 'Y';
    QVERIFY(open_note(changed, *verifier).error().find("is wrong") != std::string::npos);
    for (const std::string& bad : {std::string("PeterNeumann"), std::string("PeterNeumann+c74f20a3+AAAA"),
                                   std::string("PeterNeumann+c74f20a4") + kVerifier.substr(21), std::string("++")})
      QVERIFY2(!NoteVerifier::parse(bad), bad.c_str());
    QVERIFY_THROWS_EXCEPTION(Error, (void)sign_note("no newline", *signer));
    QVERIFY_THROWS_EXCEPTION(Error, (void)NoteSigner("a b", secret_of(1)));
  }

  void checkpointsRoundTripAndRefuseChanges() {
    const NoteSigner signer = NoteSigner::generate("audit.example.org/ledger");
    const Checkpoint checkpoint = example(secret_of(1));
    const std::string note = sign_checkpoint(checkpoint, signer);
    QCOMPARE(open_checkpoint(note, signer.verifier()).value(), checkpoint);
    QVERIFY(note.starts_with("audit.example.org/ledger\n1000\n"));
    std::mt19937 random(11);
    int refused = 0;
    for (int round = 0; round < 2000; ++round) {
      std::string damaged = note;
      const std::size_t at = random() % damaged.size();
      if (round % 3 == 0)
        damaged[at] = static_cast<char>(random());
      else if (round % 3 == 1)
        damaged.erase(at, 1 + random() % 3);
      else
        damaged.insert(at, 1, static_cast<char>('\n' * (random() % 2) + 'a' * (random() % 2)));
      if (damaged == note) continue;
      const auto opened = open_checkpoint(damaged, signer.verifier());
      QVERIFY(!opened);
      ++refused;
    }
    QVERIFY(refused > 1900);
    // Signed, but no checkpoint.
    for (const char* text :
         {"o\n01\nAAAA\n", "o\n-1\nAAAA\n", "o\n1\nAAAA\n", "\n1\n", "o\n", "o\n99999999999999999999\nAA==\n"})
      QVERIFY2(!open_checkpoint(sign_note(text, signer), signer.verifier()), text);
  }

  void theSampleNeedsACommitmentMadeBefore() {
    const Secret secret = secret_of(1);
    const Checkpoint checkpoint = example(secret);
    const auto sample = draw_from_checkpoint(checkpoint, secret, 50);
    QVERIFY(sample.has_value());
    QCOMPARE(sample->size(), std::size_t{50});
    QCOMPARE(std::set<std::uint64_t>(sample->begin(), sample->end()).size(), std::size_t{50});
    QVERIFY(std::is_sorted(sample->begin(), sample->end()) && sample->back() < 1000);
    QCOMPARE(draw_from_checkpoint(checkpoint, secret, 50), sample);
    QVERIFY(draw_from_checkpoint(checkpoint, secret_of(2), 50).error().find("does not open") != std::string::npos);
    Checkpoint bare = checkpoint;
    bare.extensions.clear();
    QVERIFY(draw_from_checkpoint(bare, secret, 50).error().find("no sample commitment") != std::string::npos);
    QVERIFY(!draw_from_checkpoint(checkpoint, secret, 1001));
    // Another root, another sample.
    Checkpoint later = checkpoint;
    later.root[0] ^= 1;
    QVERIFY(draw_from_checkpoint(later, secret, 50).value() != *sample);
    QVERIFY(!opens(commit(secret, kSamplePurpose), secret, kProjectionPurpose));
    QVERIFY(draw_projection_seed(secret, "event") <= 0xFFFFFFFFu);
    QVERIFY(draw_projection_seed(secret, "event") != draw_projection_seed(secret, "other event"));
  }

  void theSampleIsUniform() {
    // All 10 pairs of 5 equally often: chi-square with 9 degrees of freedom, 99.9 % point 27.88; seeded, so it cannot
    // flicker.
    std::map<std::vector<std::uint64_t>, int> counts;
    constexpr int kDraws = 5000;
    for (int i = 0; i < kDraws; ++i)
      ++counts[draw_sample(RevealedStream(secret_of(3), "test", std::to_string(i)), 5, 2)];
    QCOMPARE(counts.size(), std::size_t{10});
    double chi = 0;
    for (const auto& [pair, count] : counts) chi += std::pow(count - kDraws / 10.0, 2) / (kDraws / 10.0);
    QVERIFY2(chi < 27.88, std::to_string(chi).c_str());
    QCOMPARE(draw_sample(RevealedStream(secret_of(3), "t", "e"), 4, 4), (std::vector<std::uint64_t>{0, 1, 2, 3}));
    QVERIFY(draw_sample(RevealedStream(secret_of(3), "t", "e"), 4, 0).empty());
    QVERIFY_THROWS_EXCEPTION(Error, (void)draw_sample(RevealedStream(secret_of(3), "t", "e"), 4, 5));
  }
};

QTEST_APPLESS_MAIN(TestCheckpoint)
#include "test_checkpoint.moc"
