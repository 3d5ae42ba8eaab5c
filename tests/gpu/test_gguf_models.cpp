// Whole models: llama.cpp's own converter turned the golden checkpoints into GGUF (tests/data/gguf/README.md); read
// back they must be the checkpoints again, and give the goldens' logits.
#include <QtTest>
#include <cmath>
#include <random>

#include "core/util/error.h"
#include "gpu/model/open_model.h"
#include "gpu/reference_engine.h"
#include "gpu/test_gguf_support.h"
#include "gpu/weights/gguf.h"
#include "gpu/weights/safetensors.h"

using namespace difr;
using namespace difr::gpu;

namespace {

const std::filesystem::path kData = DIFR_TEST_DATA;

std::filesystem::path gguf_path(const std::string& name) {
  return kData / "gguf" / (name + ".gguf");
}
std::filesystem::path folder(const std::string& name) {
  return kData / "models" / name;
}

std::vector<float> all_values(const WeightSource& source, const TensorInfo& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
  source.read(tensor, 0, values);
  return values;
}

std::vector<TokenId> golden_tokens(const SafetensorsSource& golden, const std::string& name) {
  const auto values = all_values(golden, *golden.find(name));
  return {values.begin(), values.end()};
}

/// Logits after each of the tokens, row-major.
std::vector<float> logits_of(const std::filesystem::path& model, std::span<const TokenId> tokens, Dtype dtype) {
  const auto engine = load_engine(model, {.dtype = dtype, .threads = 2});
  std::vector<TokenId> output(tokens.begin() + 1, tokens.end());
  output.push_back(0);
  const Sequence sequence{tokens.first(1), output};
  std::vector<float> all;
  engine->score(std::span(&sequence, 1),
                [&](std::size_t, int, int, std::span<const float> logits, std::span<const float>) {
                  all.insert(all.end(), logits.begin(), logits.end());
                },
                {});
  return all;
}

double max_difference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size() || a.empty()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(double{a[i]} - double{b[i]});
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

double deviation(std::span<const float> a) {
  double sum = 0;
  double squares = 0;
  for (const float x : a) {
    sum += x;
    squares += double{x} * x;
  }
  const double mean = sum / double(a.size());
  return std::sqrt(squares / double(a.size()) - mean * mean);
}

std::string refusal(const std::filesystem::path& path) {
  try {
    (void)open_model(path);
    return {};
  } catch (const Error& error) {
    return error.remedy().empty() ? "no remedy" : error.what();
  }
}

}  // namespace

class TestGgufModels : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir scratch_;

  std::filesystem::path write(const std::string& bytes) {
    const auto path = std::filesystem::path(scratch_.path().toStdString()) / "m.gguf";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::filesystem::path edited(const std::string& name, const std::string& from, const std::string& to) {
    auto bytes = read_bytes(gguf_path(name));
    const auto at = bytes.find(from);
    if (at == std::string::npos || from.size() != to.size()) qFatal("cannot edit %s", from.c_str());
    return write(bytes.replace(at, from.size(), to));
  }

 private slots:
  void weights_are_the_checkpoints_data() {
    QTest::addColumn<QString>("model");
    for (const char* name : {"llama_linrope_bias", "llama3rope_tied", "llama_yarn", "mistral_swa16", "qwen2_tied",
                             "qwen3_hd32", "qwen3moe_norm", "gemma3_text"})
      QTest::newRow(name) << QString(name);
  }
  // BF16 holds these weights exactly; F16 (yarn) all but those below its normal range, to half a step of 2^-24; Gemma's
  // 1 + w is rounded to fp32.
  void weights_are_the_checkpoints() {
    QFETCH(QString, model);
    const auto name = model.toStdString();
    const auto gguf = GgufSource::open(gguf_path(name));
    const auto checkpoint = SafetensorsSource::open_folder(folder(name));
    QCOMPARE(gguf->tensors().size(), checkpoint->tensors().size());
    for (const auto& tensor : checkpoint->tensors()) {
      const auto* twin = gguf->find(tensor.name);
      QVERIFY2(twin != nullptr, tensor.name.c_str());
      QCOMPARE(twin->shape, tensor.shape);
      double allowed = 0;
      if (name == "llama_yarn") allowed = 0x1p-25;
      if (name == "gemma3_text" && tensor.name.find("norm") != std::string::npos) allowed = 0x1p-23;
      QVERIFY2(max_difference(all_values(*gguf, *twin), all_values(*checkpoint, tensor)) <= allowed,
               tensor.name.c_str());
      // A range that begins and ends inside rows.
      const auto whole = all_values(*gguf, *twin);
      if (whole.size() < 200) continue;
      std::vector<float> part(130);
      gguf->read(*twin, 37, part);
      QVERIFY(std::equal(part.begin(), part.end(), whole.begin() + 37));
      QVERIFY_THROWS_EXCEPTION(Error, gguf->read(*twin, tensor.elements() - 10, part));
    }
  }

  void configurations_are_the_checkpoints_data() { weights_are_the_checkpoints_data(); }
  void configurations_are_the_checkpoints() {
    QFETCH(QString, model);
    const auto name = model.toStdString();
    auto gguf = open_model(gguf_path(name)).config;
    auto checkpoint = load_config(folder(name) / "config.json");
    QCOMPARE(gguf.name, name);
    if (name == "llama3rope_tied") {
      // The file has the factors themselves in place of the rule that makes them.
      QCOMPARE(gguf.ropes[0].frequency_divisors.size(), std::size_t{8});
      checkpoint.ropes = gguf.ropes;
    }
    if (name == "mistral_swa16") {
      // The converter writes "llama" and drops the window.
      QCOMPARE(checkpoint.layers[0].window, 16);
      for (auto& layer : checkpoint.layers) layer.window = 0;
      checkpoint.architecture = gguf.architecture;
    }
    // Not in the file either: llama.cpp takes the head size (or hidden / heads for the 27B model).
    if (name == "gemma3_text") checkpoint.attention_scale = 0.25;
    QVERIFY(gguf == checkpoint);
  }

  void logits_are_the_goldens_data() {
    QTest::addColumn<QString>("model");
    for (const char* name :
         {"llama_linrope_bias", "llama3rope_tied", "llama_yarn", "qwen2_tied", "qwen3_hd32", "qwen3moe_norm"})
      QTest::newRow(name) << QString(name);
  }
  // fp32: the bound of test_goldens. Against safetensors: the same weights in the same program give the same bits, but
  // for llama3, whose factors were rounded to fp32 on the way, and yarn, whose smallest weights were rounded to F16.
  void logits_are_the_goldens() {
    QFETCH(QString, model);
    const auto name = model.toStdString();
    const auto golden = SafetensorsSource::open_file(folder(name) / "golden.safetensors");
    const auto tokens = golden_tokens(*golden, "tokens_33");
    const auto expected = all_values(*golden, *golden->find("fp32.logits_33"));
    const auto logits = logits_of(gguf_path(name), tokens, Dtype::fp32);
    const double difference = max_difference(logits, expected);
    QVERIFY2(difference <= 1e-4 * deviation(expected), qPrintable(QString::number(difference)));
    const auto direct = logits_of(folder(name), tokens, Dtype::fp32);
    const bool rounded = name == "llama3rope_tied" || name == "llama_yarn";
    QVERIFY(max_difference(logits, direct) <= (rounded ? 1e-5 * deviation(expected) : 0.0));
    if (!rounded)
      QVERIFY(max_difference(logits_of(gguf_path(name), tokens, Dtype::bf16),
                             logits_of(folder(name), tokens, Dtype::bf16)) == 0);
  }

  // Within the window Mistral's logits do not depend on it; behind it they do, and the file cannot say so.
  void mistral_agrees_within_its_window() {
    const auto golden = SafetensorsSource::open_file(folder("mistral_swa16") / "golden.safetensors");
    const auto tokens = golden_tokens(*golden, "tokens_33");
    const auto expected = all_values(*golden, *golden->find("fp32.logits_33"));
    const auto logits = logits_of(gguf_path("mistral_swa16"), tokens, Dtype::fp32);
    const std::size_t window = 16 * 320;
    QVERIFY(max_difference(std::span(logits).first(window), std::span(expected).first(window)) <=
            1e-4 * deviation(expected));
    QVERIFY(max_difference(logits, expected) > 1e-2 * deviation(expected));
  }

  // Q8_0 keeps a weight within half a step of its block, a step being the block's largest |w| / 127 (scale in half).
  void quantised_weights_are_near() {
    const auto gguf = GgufSource::open(gguf_path("llama_gqa_untied"));
    const auto checkpoint = SafetensorsSource::open_folder(folder("llama_gqa_untied"));
    std::size_t quantised = 0;
    for (const auto& tensor : checkpoint->tensors()) {
      const auto* twin = gguf->find(tensor.name);
      QVERIFY2(twin != nullptr, tensor.name.c_str());
      const auto values = all_values(*checkpoint, tensor);
      float largest = 0;
      for (const float v : values) largest = std::max(largest, std::abs(v));
      const double allowed = twin->type == "Q8_0" ? largest / 127.0 * 0.5 + largest * 0x1p-10 : 0.0;
      if (twin->type == "Q8_0") ++quantised;
      QVERIFY2(max_difference(all_values(*gguf, *twin), values) <= allowed, tensor.name.c_str());
    }
    QVERIFY(quantised >= 22);
    QCOMPARE(inspect_model(gguf_path("llama_gqa_untied")).parameters,
             inspect_model(folder("llama_gqa_untied")).parameters);
  }

  void refuses_what_it_cannot_do() {
    const std::string architecture("general.architecture\x08\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00llam", 36);
    const auto text = refusal(edited("llama_yarn", architecture + "a", architecture + "x"));
    QVERIFY2(text.find("'llamx' is not supported") != std::string::npos && text.find("qwen3moe") != std::string::npos,
             text.c_str());
    QVERIFY(refusal(edited("llama_yarn", "blk.0.attn_q.weight", "blk.0.attn_z.weight")).find("not known") !=
            std::string::npos);
    QVERIFY(refusal(edited("llama_yarn", "blk.0.attn_q.weight", "blk.1.attn_q.weight")).find("twice") !=
            std::string::npos);
    QVERIFY(refusal(edited("llama_yarn", "llama.block_count", "llama.block_counx")).find("block_count") !=
            std::string::npos);
    const std::string rope("rope.dimension_count\x04\x00\x00\x00", 24);
    QVERIFY(refusal(edited("llama_yarn", rope + "\x10", rope + "\x08")).find("rope.dimension_count") !=
            std::string::npos);
    QVERIFY(refusal(gguf_path("absent")).find("does not exist") != std::string::npos);
    QVERIFY(refusal(write(std::string("GGML") + std::string(100, ' '))).find("not a GGUF") != std::string::npos);
    // Parts whose shapes do not fit each other are refused when the decoder is built.
    const std::string kv("attention.head_count_kv\x04\x00\x00\x00", 27);
    QVERIFY_THROWS_EXCEPTION(Error, (void)load_engine(edited("llama_yarn", kv + "\x02", kv + "\x04"), {}));
  }

  void survives_mutations() {
    const auto original = read_bytes(gguf_path("qwen3moe_norm"));
    const auto end = original.rfind("output_norm.weight") + 60;
    QVERIFY(end < 8000);
    std::mt19937 random(11);
    std::size_t refused = 0;
    for (int round = 0; round < 1500; ++round) {
      auto bytes = original;
      const std::size_t at = 8 + random() % (end - 8);
      static constexpr unsigned char kEdges[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
      for (std::size_t i = 0, width = std::size_t{1} << (random() % 4); i < width; ++i)
        bytes[at + i] = static_cast<char>(random() % 2 == 0 ? random() : kEdges[random() % 5]);
      try {
        const auto source = GgufSource::open(write(bytes));
        for (const auto& tensor : source->tensors()) (void)all_values(*source, tensor);
      } catch (const Error&) {
        ++refused;
      }
    }
    QVERIFY2(refused > 700 && refused < 1500, qPrintable(QString::number(refused)));
  }
};

QTEST_APPLESS_MAIN(TestGgufModels)
#include "test_gguf_models.moc"
