#include <QtTest>
#include <cmath>
#include <limits>
#include <random>

#include "case_fixture.h"
#include "core/casefile/blob_codec.h"
#include "core/util/error.h"

using namespace difr;

namespace {

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Every truncation and many single-byte changes must throw or decode; never crash or hang.
template <class Decode>
int mutate(const Bytes& blob, Decode decode) {
  std::mt19937 random(11);
  int refused = 0;
  const auto attempt = [&](const Bytes& bytes) {
    try {
      decode(bytes);
    } catch (const Error&) {
      ++refused;
    }
  };
  for (std::size_t n = 0; n < blob.size(); n += 1 + blob.size() / 300)
    attempt(Bytes(blob.begin(), blob.begin() + static_cast<std::ptrdiff_t>(n)));
  for (int i = 0; i < 1500; ++i) {
    auto bytes = blob;
    bytes[i % 2 ? random() % std::min<std::size_t>(bytes.size(), 24) : random() % bytes.size()] =
        static_cast<std::uint8_t>(random());
    attempt(bytes);
  }
  return refused;
}

}  // namespace

class TestBlobCodec : public QObject {
  Q_OBJECT
 private slots:
  void ids_round_trip() {
    std::mt19937 random(1);
    for (const int top : {2, 65535, 65536, 151936, 1 << 24, std::numeric_limits<int>::max()})
      for (const int n : {0, 1, 7, 127, 128, 5000}) {
        std::vector<TokenId> ids;
        for (int i = 0; i < n; ++i) ids.push_back(static_cast<TokenId>(random() % static_cast<unsigned>(top)));
        const auto blob = encode_ids(ids);
        QCOMPARE(decode_ids(blob), ids);
        QVERIFY(blob.size() <= ids.size() * 4 + 8);
      }
  }

  void evidence_is_exact_for_every_bit_pattern() {
    std::mt19937 random(2);
    auto e = testing::make_evidence(random, 9);
    e.claimed_logit[3] = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; i < e.top_logits.size(); i += 5)
      e.top_logits[i] = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    e.top_logits[1] = -0.0f;
    e.top_logits[2] = -std::numeric_limits<float>::infinity();
    const auto back = decode_evidence(encode_evidence(e));
    QCOMPARE(back.vocab, e.vocab);
    QCOMPARE(back.top_m, e.top_m);
    QVERIFY(same_bits(back.claimed_logit, e.claimed_logit));
    QVERIFY(same_bits(back.log_sum_exp, e.log_sum_exp));
    QVERIFY(same_bits(back.top_logits, e.top_logits));
    QCOMPARE(back.top_ids, e.top_ids);
    QCOMPARE(back.claimed_rank, e.claimed_rank);
    QCOMPARE(decode_evidence(encode_evidence(Evidence{})).size(), std::size_t{0});
  }

  void evidence_size_per_token() {
    std::mt19937 random(3);
    auto e = testing::make_evidence(random, 120, 2048, 128);
    const auto exact = static_cast<double>(encode_evidence(e).size()) / 120;
    for (auto& logit : e.top_logits) logit = std::bit_cast<float>(std::bit_cast<std::uint32_t>(logit) & 0xffff0000u);
    const auto bf16 = static_cast<double>(encode_evidence(e).size()) / 120;
    qInfo("evidence bytes per token at M=128, V=2048: fp32 %.0f, bf16-valued %.0f", exact, bf16);
    // Independent gaussian logits, the worst case: about 2.2 bytes a sorted logit and 1.4 an id; raw is 1036.
    QVERIFY(exact <= 510);
    QVERIFY(bf16 <= 350);
  }

  void scores_and_calibration_round_trip() {
    std::mt19937 random(4);
    auto s = testing::make_scores(random, 33);
    s.margin[4] = std::numeric_limits<float>::infinity();
    s.margin[5] = std::numeric_limits<float>::quiet_NaN();
    const auto back = decode_scores(encode_scores(s));
    QVERIFY(same_bits(back.margin, s.margin));
    QVERIFY(same_bits(back.gap, s.gap));
    QVERIFY(same_bits(back.log_prob, s.log_prob));
    QCOMPARE(back.reference_token, s.reference_token);
    QCOMPARE(back.flags, s.flags);
    Calibration c, d;
    c.offsets = {0, 10, 33};
    c.margin = s.margin;
    c.gap = s.gap;
    c.runner_up = s.runner_up;
    decode_calibration(encode_calibration(c), d);
    QCOMPARE(d.offsets, c.offsets);
    QVERIFY(same_bits(d.margin, c.margin));
  }

  void damaged_blobs_are_refused() {
    std::mt19937 random(5);
    const auto evidence = encode_evidence(testing::make_evidence(random, 9));
    const auto scores = encode_scores(testing::make_scores(random, 40));
    std::vector<TokenId> many(4000, 7);
    QVERIFY(mutate(evidence, [](const Bytes& b) { (void)decode_evidence(b); }) > 1500);  // the frame carries a checksum
    QVERIFY(mutate(scores, [](const Bytes& b) { (void)decode_scores(b); }) > 1500);
    QVERIFY(mutate(encode_ids(many), [](const Bytes& b) { (void)decode_ids(b); }) > 300);
    QVERIFY_THROWS_EXCEPTION(Error, (void)decode_ids(evidence));
  }
};

QTEST_APPLESS_MAIN(TestBlobCodec)
#include "test_blob_codec.moc"
