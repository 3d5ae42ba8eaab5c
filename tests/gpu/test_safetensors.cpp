// The safetensors reader: what the format allows is read, everything else is refused by name, and no mutation of a
// header makes it read outside the file (run under asan too).

#include <QtTest>

#include <cstring>
#include <fstream>
#include <random>

#include "core/util/error.h"
#include "gpu/reference_engine.h"
#include "gpu/weights/safetensors.h"

using namespace difr;
using namespace difr::gpu;

namespace {

const std::filesystem::path kModels = std::filesystem::path(DIFR_TEST_DATA) / "models";

std::string slurp(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void spill(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

std::string with_header(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

/// Opens and reads every tensor to its end; the texts of errors are returned.
std::string try_read(const std::filesystem::path& file) {
  try {
    const auto source = SafetensorsSource::open_file(file);
    for (const auto& tensor : source->tensors()) {
      std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
      try {
        source->read(tensor, 0, values);
      } catch (const Error&) {
        // An integer type: nothing to read as weights.
      }
    }
    return weights_digest(*source).size() == 64 ? "" : "no digest";
  } catch (const Error& error) {
    return error.code() == ExitCode::bad_input ? error.what() : "wrong exit code";
  }
}

}  // namespace

class TestSafetensors : public QObject {
  Q_OBJECT
 private slots:
  void digest_ignores_sharding();
  void refuses_data();
  void refuses();
  void survives_mutations();
  void model_errors_name_the_tensor();
  void unknown_architecture_lists_the_known();
};

/// The three shards of a checkpoint, rewritten as one file with another tensor order and metadata.
void TestSafetensors::digest_ignores_sharding() {
  const auto sharded = SafetensorsSource::open_folder(kModels / "llama_sharded");
  QCOMPARE(sharded->tensors().size(), 30U);
  std::string header = R"({"__metadata__":{"a":"b"})";
  std::string data;
  for (auto it = sharded->tensors().rbegin(); it != sharded->tensors().rend(); ++it) {
    std::string shape;
    for (const auto d : it->shape) shape += (shape.empty() ? "" : ",") + std::to_string(d);
    header += ",\"" + it->name + "\":{\"dtype\":\"" + it->type + "\",\"shape\":[" + shape + "],\"data_offsets\":[" +
              std::to_string(data.size()) + ",";
    data.append(reinterpret_cast<const char*>(it->bytes.data()), it->bytes.size());
    header += std::to_string(data.size()) + "]}";
  }
  QTemporaryDir folder;
  const std::filesystem::path file = folder.filePath("one.safetensors").toStdString();
  spill(file, with_header(header + "}", data));
  const auto single = SafetensorsSource::open_file(file);
  QCOMPARE(weights_digest(*single), weights_digest(*sharded));
  data[100] = static_cast<char>(data[100] ^ 1);
  spill(file, with_header(header + "}", data));
  QVERIFY(weights_digest(*SafetensorsSource::open_file(file)) != weights_digest(*sharded));
}

void TestSafetensors::refuses_data() {
  QTest::addColumn<QByteArray>("bytes");
  QTest::addColumn<QString>("text");
  const auto row = [](const char* name, const std::string& bytes, const char* text) {
    QTest::newRow(name) << QByteArray::fromStdString(bytes) << QString(text);
  };
  const std::string data(8, 'x');
  row("empty", "", "is empty");
  row("short", "abc", "too short");
  row("header-beyond-file", std::string("\xff\xff\0\0\0\0\0\0{}", 10), "claims a header");
  row("header-huge", std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10), "claims a header");
  row("not-json", with_header("{]", data), "not JSON");
  row("unknown-dtype", with_header(R"({"w":{"dtype":"F13","shape":[2],"data_offsets":[0,8]}})", data),
      "unknown dtype 'F13'");
  row("no-shape", with_header(R"({"w":{"dtype":"F32","data_offsets":[0,8]}})", data), "no shape");
  row("negative-shape", with_header(R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", data),
      "list of sizes");
  row("overflowing-shape",
      with_header(R"({"w":{"dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,8]}})", data),
      "larger than any file");
  row("offsets-beyond", with_header(R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", data),
      "lies at bytes 0..16 of 8");
  row("offsets-reversed", with_header(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", data),
      "lies at bytes");
  row("wrong-size", with_header(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", data), "need 4");
  row("overlap",
      with_header(
          R"({"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
          data),
      "overlaps");
  row("hole", with_header(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", data), "hole");
  row("rest", with_header(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", data), "belong to none");
  row("twice",
      with_header(
          R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
          data),
      "twice");
}

void TestSafetensors::refuses() {
  QFETCH(QByteArray, bytes);
  QFETCH(QString, text);
  QTemporaryDir folder;
  const std::filesystem::path file = folder.filePath("w.safetensors").toStdString();
  spill(file, bytes.toStdString());
  const auto error = QString::fromStdString(try_read(file));
  QVERIFY2(error.contains(text) && error.contains("w.safetensors"), qPrintable(error));
}

/// Every field of a real header in turn, and random bytes, changed under a fixed seed.
void TestSafetensors::survives_mutations() {
  const auto original = slurp(kModels / "qwen3/model.safetensors");
  std::uint64_t length = 0;
  std::memcpy(&length, original.data(), 8);
  QTemporaryDir folder;
  const std::filesystem::path file = folder.filePath("w.safetensors").toStdString();
  spill(file, original);
  QCOMPARE(try_read(file), std::string());
  std::mt19937 random(20260101);
  const std::string_view alphabet = "0123456789-{}[]\",:.eBF\\ \xff";
  int refused = 0;
  for (int i = 0; i < 600; ++i) {
    auto bytes = original;
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int c = 0; c < changes; ++c) {
      const auto at = i % 10 == 0 ? random() % 8 : 8 + random() % length;
      bytes[at] = i % 10 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
    }
    if (i % 7 == 0) bytes.resize(random() % bytes.size());
    spill(file, bytes);
    const auto error = try_read(file);
    QVERIFY2(error != "wrong exit code" && error != "no digest", error.c_str());
    refused += error.empty() ? 0 : 1;
  }
  // Most changes hit structure; a changed letter of a name is still a sound file.
  QVERIFY2(refused > 200, qPrintable(QString::number(refused)));
}

void TestSafetensors::model_errors_name_the_tensor() {
  QTemporaryDir folder;
  const std::filesystem::path model = folder.path().toStdString();
  auto config = slurp(kModels / "qwen2/config.json");
  spill(model / "model.safetensors", slurp(kModels / "qwen2/model.safetensors"));
  const auto error_of = [&](const std::string& text) {
    spill(model / "config.json", text);
    try {
      (void)load_engine(model, {});
    } catch (const Error& error) {
      return QString(error.what());
    }
    return QString("loaded");
  };
  const auto replaced = [&](const std::string& from, const std::string& to) {
    auto text = config;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  QCOMPARE(error_of(config), QString("loaded"));
  QVERIFY(error_of(replaced("\"intermediate_size\": 128", "\"intermediate_size\": 96"))
              .contains("gate_proj.weight': has shape [128, 64]"));
  // Read as Llama, the biases of Qwen2 would be left out without a word.
  QVERIFY(error_of(replaced("Qwen2ForCausalLM", "LlamaForCausalLM")).contains("k_proj.bias"));
  QVERIFY(error_of(replaced("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4")).contains("layer_types"));
  QVERIFY(error_of(replaced("\"rope_type\": \"default\"", "\"rope_type\": \"longrope\""))
              .contains("rope_parameters.rope_type"));
  QVERIFY(error_of(replaced("\"hidden_size\": 64", "\"hidden_size\": \"64\"")).contains("hidden_size"));
  QVERIFY(error_of("{").contains("config.json"));
  // No truncation or mutation of the configuration may crash, or load a model of another shape.
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    auto text = config;
    text[random() % text.size()] = "0123456789-{}[]\",e"[random() % 18];
    if (i % 3 == 0) text.resize(random() % text.size());
    QVERIFY(!error_of(text).isEmpty());
  }
}

void TestSafetensors::unknown_architecture_lists_the_known() {
  QTemporaryDir folder;
  const std::filesystem::path model = folder.path().toStdString();
  spill(model / "config.json", R"({"architectures":["MambaForCausalLM"]})");
  try {
    (void)inspect_model(model);
    QFAIL("an unknown architecture was accepted");
  } catch (const Error& error) {
    const QString text = error.what();
    QVERIFY2(
        text.contains("MambaForCausalLM") && text.contains("LlamaForCausalLM") && text.contains("Gemma3ForCausalLM"),
        qPrintable(text));
  }
}

QTEST_APPLESS_MAIN(TestSafetensors)
#include "test_safetensors.moc"
