// The container: what gguf-py wrote is read as written; whatever is wrong is refused with its place; fuzzing.
#include <QtTest>
#include <random>

#include "core/util/error.h"
#include "gpu/test_gguf_support.h"
#include "gpu/weights/gguf_file.h"

using namespace difr::gpu;

namespace {

/// The text of the error, or empty when the file is accepted.
std::string refusal(const GgufBytes& file) {
  try {
    const GgufFile parsed(as_bytes(file.bytes()), "m.gguf");
    return {};
  } catch (const difr::Error& error) {
    if (error.code() != difr::ExitCode::bad_input || error.remedy().empty()) return "error without code or remedy";
    return error.what();
  }
}

bool mentions(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    if (text.find(part) == std::string::npos) {
      qWarning("'%s' lacks '%s'", text.c_str(), part);
      return false;
    }
  return true;
}

}  // namespace

class TestGgufFile : public QObject {
  Q_OBJECT

 private slots:
  void reads_what_gguf_py_wrote() {
    const auto bytes = read_bytes(DIFR_TEST_DATA "/gguf/blocks.gguf");
    const GgufFile file(as_bytes(bytes), "blocks.gguf");
    QCOMPARE(file.text("general.architecture").value(), "blocks");
    QCOMPARE(file.integer("t.u8", 0, 255).value(), 200);
    QCOMPARE(file.integer("t.i8", -128, 127).value(), -3);
    QCOMPARE(file.integer("t.u16", 0, 65535).value(), 60000);
    QCOMPARE(file.integer("t.i16", -32768, 0).value(), -30000);
    QCOMPARE(file.integer("t.u32", 0, INT64_MAX).value(), 4000000000);
    QCOMPARE(file.integer("t.i32", INT64_MIN, 0).value(), -2000000000);
    QCOMPARE(file.integer("t.i64", INT64_MIN, 0).value(), -(std::int64_t{1} << 62));
    QVERIFY_THROWS_EXCEPTION(difr::Error, (void)file.integer("t.u64", 0, INT64_MAX));  // 2^63 + 1
    QCOMPARE(file.number("t.f32").value(), double{0.1F});
    QCOMPARE(file.number("t.f64").value(), 0.1);
    QCOMPARE(file.boolean("t.bool").value(), true);
    QCOMPARE(file.text("t.string").value(), "naïve");
    QCOMPARE(file.numbers("t.ints").value(), (std::vector<double>{1, 2, 3}));
    QCOMPARE(file.numbers("t.floats").value(), (std::vector<double>{0.5, -1.25}));
    QCOMPARE(file.numbers("t.bools").value(), (std::vector<double>{1, 0}));
    QVERIFY(file.has("t.strings") && file.has("t.long"));
    QVERIFY_THROWS_EXCEPTION(difr::Error, (void)file.numbers("t.strings"));
    QVERIFY_THROWS_EXCEPTION(difr::Error, (void)file.numbers("t.long"));
    QVERIFY_THROWS_EXCEPTION(difr::Error, (void)file.text("t.u8"));
    QVERIFY(!file.text("absent") && !file.integer("absent", 0, 1) && !file.number("absent"));
    QCOMPARE(file.tensors().size(), std::size_t{12});
    const auto* tensor = file.find("t.Q4_K");
    QVERIFY(tensor != nullptr && tensor->format->name == "Q4_K");
    QCOMPARE(tensor->shape, (std::vector<std::int64_t>{2, 512}));
    QCOMPARE(tensor->bytes.size(), std::size_t{576});
    QVERIFY(file.find("t.Q4_") == nullptr);
  }

  void accepts_the_smallest() {
    QCOMPARE(refusal(GgufBytes().header(1, 0).tensor("a", {8}, 0, 0).data(32)), std::string());
    QCOMPARE(refusal(GgufBytes().header(1, 0, 2).tensor("a", {8}, 0, 0).data(32)), std::string());
    QCOMPARE(refusal(GgufBytes().header(0, 0).data(0)), std::string());
  }

  void names_what_is_wrong() {
    QVERIFY(mentions(refusal(GgufBytes().put<std::uint32_t>(7)), {"m.gguf", "does not begin with"}));
    QVERIFY(mentions(refusal(GgufBytes().header(0, 0, 1)), {"version 1"}));
    QVERIFY(mentions(refusal(GgufBytes().header(0, 0, 0x03000000)), {"big-endian"}));
    QVERIFY(mentions(refusal(GgufBytes().header(UINT64_MAX, 0).data(64)), {"more than it can hold"}));
    QVERIFY(mentions(refusal(GgufBytes().header(0, UINT64_MAX / 13).data(64)), {"more than it can hold"}));
    QVERIFY(mentions(refusal(GgufBytes().header(0, 1).put<std::uint64_t>(UINT64_MAX - 3).data(64)), {"entry 0"}));
    QVERIFY(
        mentions(refusal(GgufBytes().header(0, 1).string("k").put<std::uint32_t>(13).data(64)), {"'k'", "type 13"}));
    QVERIFY(mentions(refusal(GgufBytes().header(0, 1).string("k").put<std::uint32_t>(7).put<std::uint8_t>(2).data(64)),
                     {"'k'", "boolean"}));
    const auto array = [](std::uint32_t element, std::uint64_t count) {
      return GgufBytes().header(0, 1).string("k").put<std::uint32_t>(9).put<std::uint32_t>(element).put(count).data(64);
    };
    QVERIFY(mentions(refusal(array(10, UINT64_MAX / 8 + 2)), {"'k'", "array of"}));
    QVERIFY(mentions(refusal(array(8, 1000)), {"'k'", "array of"}));
    QVERIFY(mentions(refusal(array(9, 1)), {"'k'", "array within an array"}));
    QVERIFY(mentions(refusal(GgufBytes().header(0, 2).u32_key("k", 1).u32_key("k", 2).data(64)), {"'k'", "twice"}));
    QVERIFY(mentions(refusal(GgufBytes().header(0, 1).u32_key("general.alignment", 24).data(64)), {"power of two"}));
    QVERIFY(
        mentions(refusal(GgufBytes().header(0, 1).u32_key("general.alignment", 0).data(64)), {"general.alignment"}));
  }

  void names_the_tensor_that_is_wrong() {
    const auto one = [](const std::vector<std::uint64_t>& shape, std::uint32_t type, std::uint64_t offset,
                        std::size_t size) {
      return refusal(GgufBytes().header(1, 0).tensor("w", shape, type, offset).data(size));
    };
    QVERIFY(mentions(one({}, 0, 0, 64), {"'w'", "0 dimensions"}));
    QVERIFY(mentions(one({1, 1, 1, 1, 1}, 0, 0, 64), {"'w'", "5 dimensions"}));
    QVERIFY(mentions(one({8, 0}, 0, 0, 64), {"'w'", "size 0"}));
    QVERIFY(mentions(one({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 0, 0, 64), {"'w'", "larger than any file"}));
    QVERIFY(mentions(one({UINT64_MAX}, 0, 0, 64), {"'w'", "larger than any file"}));
    QVERIFY(mentions(one({std::uint64_t{1} << 56}, 28, 0, 64), {"'w'", "needs bytes"}));
    QVERIFY(mentions(one({256}, 10, 0, 128), {"'w'", "Q2_K", "Q4_K"}));
    QVERIFY(mentions(one({256}, 777, 0, 128), {"'w'", "type 777"}));
    QVERIFY(mentions(one({48}, 8, 0, 128), {"'w'", "rows of 48", "blocks of 32"}));
    QVERIFY(mentions(one({8}, 0, 16, 128), {"'w'", "multiple of 32"}));
    QVERIFY(mentions(one({9}, 0, 32, 64), {"'w'", "needs bytes 32 to 68 of 64"}));
    QVERIFY(mentions(one({8}, 0, UINT64_MAX - 31, 64), {"'w'", "needs bytes"}));
    QVERIFY(mentions(refusal(GgufBytes().header(2, 0).tensor("a", {16}, 0, 0).tensor("b", {8}, 0, 32).data(128)),
                     {"'b'", "overlaps tensor 'a'"}));
    QVERIFY(mentions(refusal(GgufBytes().header(2, 0).tensor("a", {8}, 0, 0).tensor("a", {8}, 0, 32).data(128)),
                     {"'a'", "twice"}));
    const std::string name(40, 'w');
    QVERIFY(
        mentions(refusal(GgufBytes().header(1, 0).string(name).put<std::uint32_t>(1)), {name.c_str(), "ends after"}));
  }

  // Every truncation and thousands of mutated headers: an error or a file whose tensors lie inside it, never a crash.
  void survives_mutations() {
    const auto original = read_bytes(DIFR_TEST_DATA "/gguf/blocks.gguf");
    std::size_t refused = 0;
    std::size_t accepted = 0;
    const auto check = [&](const std::string& bytes) {
      // An exact copy on the heap, so that a sanitizer sees a read past its end.
      const std::vector<char> copy(bytes.begin(), bytes.end());
      try {
        const GgufFile file(std::as_bytes(std::span(copy)), "fuzz.gguf");
        for (const auto& tensor : file.tensors()) {
          std::uint64_t elements = 1;
          for (const auto d : tensor.shape) elements *= static_cast<std::uint64_t>(d);
          std::vector<float> values(elements);
          dequantise(*tensor.format, tensor.bytes, 0, values);
        }
        ++accepted;
      } catch (const difr::Error&) {
        ++refused;
      }
    };
    // The directory begins and ends here; between metadata and directory lies one long array.
    const auto directory = original.find("t.F32");
    const auto end = original.find("t.Q6_K") + 40;
    for (std::size_t size = 0; size < 600; ++size) check(original.substr(0, size));
    for (std::size_t size = directory; size < end; ++size) check(original.substr(0, size));
    QCOMPARE(accepted, std::size_t{0});
    std::mt19937 random(4);
    for (int round = 0; round < 4000; ++round) {
      auto bytes = original;
      for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
        // Values that sit at the edges of integer ranges find more than random bytes.
        static constexpr unsigned char kEdges[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
        const std::size_t at = random() % 2 == 0 ? random() % 600 : directory + random() % (end - directory);
        const std::size_t width = std::size_t{1} << (random() % 4);
        for (std::size_t i = 0; i < width; ++i)
          bytes[at + i] = static_cast<char>(random() % 4 == 0 ? random() : kEdges[random() % 5]);
      }
      check(bytes);
    }
    QVERIFY2(refused > 3000, qPrintable(QString::number(refused)));
    QVERIFY2(accepted > 50, qPrintable(QString::number(accepted)));
  }
};

QTEST_APPLESS_MAIN(TestGgufFile)
#include "test_gguf_file.moc"
