// Against the demo model's tokenizer.json and real logs: the expected texts were decoded with Hugging Face tokenizers.
#include <simdjson.h>

#include <QtTest>
#include <random>
#include <set>

#include "core/util/error.h"
#include "core/util/sha256.h"
#include "core/util/tokenizer_text.h"

using namespace difr;

namespace {

std::vector<TokenId> ids_of(simdjson::dom::array list) {
  std::vector<TokenId> out;
  for (simdjson::dom::element id : list) out.push_back(static_cast<TokenId>(int64_t(id)));
  return out;
}

TokenizerText demo() {
  return TokenizerText::load(DIFR_DEMO_DATA "/model/tokenizer.json");
}

std::string read_file(const char* path) {
  QFile file(QString::fromUtf8(path));
  if (!file.open(QIODevice::ReadOnly)) return {};
  return file.readAll().toStdString();
}

}  // namespace

class TestTokenizerText : public QObject {
  Q_OBJECT
 private slots:
  void decodes_real_requests() {
    const TokenizerText tokenizer = demo();
    QCOMPARE(tokenizer.size(), std::size_t(2048));
    QCOMPARE(tokenizer.spelling(), TokenSpelling::byte_level);
    simdjson::dom::parser parser;
    simdjson::dom::element log = parser.load(DIFR_DEMO_DATA "/logs/honest.json");
    std::string everything;
    int sample = 0;
    for (simdjson::dom::element request : simdjson::dom::array(log["samples"])) {
      const std::string prompt = tokenizer.join(ids_of(request["prompt_token_ids"]));
      const std::string output = tokenizer.join(ids_of(request["outputs"].at(0)["token_ids"]));
      if (sample++ == 0) {
        QCOMPARE(prompt, std::string("<|im_start|>user\nWhat is revolution?<|im_end|>\n<|im_start|>assistant\n"));
        QCOMPARE(output, std::string("GYOVINARISM, n. The entire orailsitudes of governedom.<|im_end|>"));
      }
      everything += prompt + '\0' + output + '\0';
    }
    QCOMPARE(sample, 96);
    // SHA-256 over all 96 prompts and outputs as Hugging Face tokenizers decodes them, each followed by a zero byte.
    QCOMPARE(sha256_hex(everything), std::string("1d4732de25de7903244a2cd41ab6f5765e612903f2e2f5e4e434c6405bcdbe1d"));
  }

  void knows_special_tokens_and_the_edge_of_the_vocabulary() {
    const TokenizerText tokenizer = demo();
    QVERIFY(tokenizer.special(1));
    QVERIFY(!tokenizer.special(100));
    QCOMPARE(tokenizer.text(2), std::string("<|im_end|>"));
    for (const TokenId outside : {-1, 2048, 2147483647}) {
      QVERIFY(!tokenizer.bytes(outside));
      QCOMPARE(tokenizer.text(outside), "#" + std::to_string(outside));
    }
  }

  void every_byte_is_reachable() {
    // A byte-level vocabulary holds all 256 bytes; the map must give each exactly once.
    const TokenizerText tokenizer = demo();
    std::set<unsigned char> seen;
    for (TokenId id = 3; id < 259; ++id) {
      QCOMPARE(tokenizer.bytes(id)->size(), std::size_t(1));
      seen.insert(static_cast<unsigned char>(tokenizer.bytes(id)->front()));
    }
    QCOMPARE(seen.size(), std::size_t(256));
  }

  void sentencepiece_spellings() {
    const TokenizerText metaspace = TokenizerText::parse(
        R"({"model":{"type":"BPE","byte_fallback":true,"vocab":{"<unk>":0,"<0x0A>":1,"<0xE2>":2,"▁the":3,"a▁b":4,"<0xZZ>":5}},
            "decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"}]},
            "added_tokens":[{"id":0,"content":"<unk>","special":true},{"id":9,"content":"<▁kept>","special":false}]})",
        "here");
    QCOMPARE(metaspace.spelling(), TokenSpelling::metaspace);
    QCOMPARE(*metaspace.bytes(1), std::string_view("\n"));
    QCOMPARE(*metaspace.bytes(2), std::string_view("\xE2"));
    QCOMPARE(metaspace.text(2), std::string("<0xE2>"));
    QCOMPARE(*metaspace.bytes(3), std::string_view(" the"));
    QCOMPARE(*metaspace.bytes(4), std::string_view("a b"));
    QCOMPARE(*metaspace.bytes(5), std::string_view("<0xZZ>"));
    QCOMPARE(*metaspace.bytes(9), std::string_view("<▁kept>"));
    QVERIFY(!metaspace.bytes(7));
    QVERIFY(metaspace.special(0));
    const TokenizerText unigram = TokenizerText::parse(
        R"({"model":{"type":"Unigram","vocab":[["<s>",0],["▁a",-1.5]]},"decoder":{"type":"Metaspace"}})", "here");
    QCOMPARE(*unigram.bytes(1), std::string_view(" a"));
  }

  void shows_bytes_that_are_no_text() {
    QCOMPARE(printable_bytes("ab\xC3\xA9"), std::string("ab\xC3\xA9"));
    QCOMPARE(printable_bytes("\xE2\x80"), std::string("<0xE2><0x80>"));
    QCOMPARE(printable_bytes("\xC0\xAF"), std::string("<0xC0><0xAF>"));            // overlong
    QCOMPARE(printable_bytes("\xED\xA0\x80"), std::string("<0xED><0xA0><0x80>"));  // surrogate
    QCOMPARE(printable_bytes("\xF0\x9F\x99\x82"), std::string("\xF0\x9F\x99\x82"));
  }

  void bad_files_say_what_is_wrong() {
    const auto message = [](std::string_view json) {
      try {
        (void)TokenizerText::parse(json, "file.json");
      } catch (const Error& error) {
        return QString::fromUtf8(error.what());
      }
      return QString();
    };
    QVERIFY(message("{").startsWith("file.json: is not valid JSON"));
    QVERIFY(message("{}").contains("model.vocab"));
    QVERIFY(message(R"({"model":{"vocab":{"a":"b"}}})").contains("not an integer"));
    QVERIFY(message(R"({"model":{"vocab":{"a":-1}}})").contains("out of range"));
    QVERIFY(message(R"({"model":{"vocab":{"a":99999999999}}})").contains("out of range"));
    QVERIFY(message(R"({"model":{"vocab":{}},"added_tokens":[{"id":1}]})").contains("added_tokens"));
    QVERIFY_THROWS_EXCEPTION(Error, (void)TokenizerText::load("/nowhere/tokenizer.json"));
  }

  void survives_mutations() {
    const std::string whole = read_file(DIFR_DEMO_DATA "/model/tokenizer.json");
    QVERIFY(whole.size() > 10000);
    // A short file with every construct is hit more often per mutation than the 100 kB one.
    const std::string seed =
        R"({"model":{"byte_fallback":true,"vocab":{"a":0,"Ġb":1,"▁c":2,"<0x41>":3}},"decoder":{"type":"ByteLevel"},"added_tokens":[{"id":4,"content":"x","special":true}]})";
    std::mt19937 random(20261201);
    int parsed = 0, refused = 0;
    for (int round = 0; round < 4000; ++round) {
      std::string text = seed;
      const int edits = 1 + static_cast<int>(random() % 4);
      for (int e = 0; e < edits; ++e) {
        const std::size_t at = random() % text.size();
        switch (random() % 3) {
          case 0:
            text[at] = static_cast<char>(random());
            break;
          case 1:
            text.erase(at, random() % 9);
            break;
          default:
            text.insert(at, 1, static_cast<char>(random()));
            break;
        }
        if (text.empty()) text = "{";
      }
      try {
        const TokenizerText tokenizer = TokenizerText::parse(text, "mutant");
        for (TokenId id = -1; id < 6; ++id) (void)tokenizer.text(id);
        ++parsed;
      } catch (const Error&) {
        ++refused;
      }
    }
    QVERIFY(parsed > 100);
    QVERIFY(refused > 100);
    for (const std::size_t cut : {std::size_t(1), whole.size() / 2, whole.size() - 2})
      QVERIFY_THROWS_EXCEPTION(Error, (void)TokenizerText::parse(std::string_view(whole).substr(0, cut), "cut"));
  }
};

QTEST_APPLESS_MAIN(TestTokenizerText)
#include "test_tokenizer_text.moc"
