// Text to ids, against the public tokenizers library (0.23.3): tests/data/tokenizers.
#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "core/tokenizer/encoder.h"
#include "core/util/error.h"

using namespace difr;
using nlohmann::json;

namespace {

const std::string kFolder = DIFR_TEST_DATA "/tokenizers/";

std::string read(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::string path_of(const std::string& name) {
  if (name == "demo") return DIFR_DEMO_DATA "/model";
  return kFolder + name + ".json";
}

/// The difr::Error of a tokenizer.json with something changed.
std::string refusal(const std::string& name, const std::function<void(json&)>& change) {
  auto document = json::parse(read(path_of(name)));
  change(document);
  try {
    (void)parse_encoder(document.dump(), "changed.json");
  } catch (const Error& error) {
    return error.remedy().empty() ? "no remedy" : error.what();
  }
  return {};
}

}  // namespace

class TestEncoder : public QObject {
  Q_OBJECT

 private slots:
  void gives_the_libraries_ids_data() {
    QTest::addColumn<QString>("name");
    for (const auto* name : {"demo", "gpt2", "llama3", "qwen2", "llama2", "metaspace", "digits"})
      QTest::newRow(name) << QString(name);
  }
  void gives_the_libraries_ids() {
    QFETCH(QString, name);
    const auto golden = json::parse(read(kFolder + "goldens.json"));
    const auto encoder = load_encoder(path_of(name.toStdString()));
    const auto texts = golden["texts"].get<std::vector<std::string>>();
    QVERIFY(texts.size() > 100);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto& expected = golden["ids"][name.toStdString()][i];
      QVERIFY2(encoder->encode(texts[i], false) == expected.get<std::vector<TokenId>>(),
               (json(texts[i]).dump() + " gives " + json(encoder->encode(texts[i], false)).dump() + ", not " +
                expected.dump())
                   .c_str());
      if (i < golden["prompt_ids"][name.toStdString()].size())
        QVERIFY(encoder->encode(texts[i], true) ==
                golden["prompt_ids"][name.toStdString()][i].get<std::vector<TokenId>>());
    }
  }

  void long_text_takes_no_quadratic_time() {
    // Without a pre-tokenizer the whole text is one piece.
    const auto encoder = load_encoder(path_of("llama2"));
    std::string text;
    for (int i = 0; i < 40'000; ++i) text += "calibration ";
    const auto ids = encoder->encode(text, false);
    QVERIFY(ids.size() > 40'000);
  }

  void names_what_it_does_not_support() {
    QVERIFY(refusal("gpt2", [](json& d) {
              d["normalizer"] = {{"type", "BertNormalizer"}};
            }).find("BertNormalizer") != std::string::npos);
    QVERIFY(refusal("gpt2", [](json& d) {
              d["pre_tokenizer"] = {{"type", "Punctuation"}};
            }).find("Punctuation") != std::string::npos);
    QVERIFY(refusal("gpt2", [](json& d) { d["model"]["type"] = "WordPiece"; }).find("WordPiece") != std::string::npos);
    QVERIFY(refusal("gpt2", [](json& d) { d["model"]["merges"][3] = "zzz qqq"; }).find("model.merges[3]") !=
            std::string::npos);
    QVERIFY(refusal("gpt2", [](json& d) { d["model"]["vocab"]["a"] = "x"; }).find("model.vocab") != std::string::npos);
    QVERIFY(refusal("llama3", [](json& d) {
              d["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "((";
            }).find("pattern") != std::string::npos);
    QVERIFY(refusal("llama3", [](json& d) {
              d["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Contiguous";
            }).find("Contiguous") != std::string::npos);
    QVERIFY(refusal("llama3", [](json& d) {
              d["post_processor"] = {{"type", "BertProcessing"}};
            }).find("BertProcessing") != std::string::npos);
    QTemporaryDir folder;
    for (const auto& path : {folder.path().toStdString(), std::string("/nowhere/tokenizer.json"),
                             std::string("/nowhere/tokenizer.model")}) {
      try {
        (void)load_encoder(path);
        QFAIL("was loaded");
      } catch (const Error& error) {
        QVERIFY(std::string(error.what()).find(path) != std::string::npos && !error.remedy().empty());
      }
    }
  }

  void survives_mutations_data() {
    QTest::addColumn<QString>("name");
    for (const auto* name : {"gpt2", "llama3", "llama2", "metaspace"}) QTest::newRow(name) << QString(name);
  }
  void survives_mutations() {
    QFETCH(QString, name);
    const auto whole = read(path_of(name.toStdString()));
    std::mt19937 random(11);
    int loaded = 0, refused = 0;
    for (int round = 0; round < 150; ++round) {
      auto text = whole;
      for (int k = 0; k < 3; ++k) {
        const auto at = random() % text.size();
        switch (random() % 3) {
          case 0:
            text[at] = static_cast<char>("0{}[]\",:nt-"[random() % 11]);
            break;
          case 1:
            text.erase(at, 1 + random() % 20);
            break;
          default:
            text.insert(at, text.substr(random() % text.size(), random() % 30));
        }
      }
      try {
        const auto encoder = parse_encoder(text, "mutated.json");
        (void)encoder->encode("Some text <s> \n 123 \xC3\xA9", true);
        ++loaded;
      } catch (const Error& error) {
        QVERIFY(std::string(error.what()).find("mutated.json") != std::string::npos);
        ++refused;
      }
    }
    QVERIFY(refused > 0 && loaded + refused == 150);
  }
};

QTEST_APPLESS_MAIN(TestEncoder)
#include "test_encoder.moc"
