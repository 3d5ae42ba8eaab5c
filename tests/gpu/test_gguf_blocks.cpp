// Block formats against gguf-py (see tests/data/gguf/README.md) and against values worked out by hand.
#include <QtTest>
#include <cmath>
#include <stdexcept>

#include "gpu/test_gguf_support.h"
#include "gpu/weights/gguf_blocks.h"
#include "gpu/weights/gguf_file.h"

using namespace difr::gpu;

class TestGgufBlocks : public QObject {
  Q_OBJECT

 private:
  std::string gguf_ = read_bytes(DIFR_TEST_DATA "/gguf/blocks.gguf");
  std::string golden_ = read_bytes(DIFR_TEST_DATA "/gguf/blocks.safetensors");

 private slots:
  void equals_gguf_py_data() {
    QTest::addColumn<QString>("format");
    for (const char* name :
         {"F32", "F16", "BF16", "F64", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"})
      QTest::newRow(name) << QString(name);
  }
  // Both sides do the same few fp32 operations in the same order: the bits must agree.
  void equals_gguf_py() {
    QFETCH(QString, format);
    const GgufFile file(as_bytes(gguf_), "blocks.gguf");
    const auto* tensor = file.find("t." + format.toStdString());
    QVERIFY(tensor != nullptr);
    const auto golden = golden_floats(golden_, format.toStdString());
    QVERIFY(golden.size() >= 120);
    std::vector<float> values(golden.size());
    dequantise(*tensor->format, tensor->bytes, 0, values);
    QVERIFY(std::memcmp(values.data(), golden.data(), golden.size() * sizeof(float)) == 0);

    // Ranges that begin and end inside blocks.
    for (const std::size_t first : {1U, 31U, 33U, 100U}) {
      std::vector<float> part(golden.size() - first - 7);
      dequantise(*tensor->format, tensor->bytes, first, part);
      QVERIFY(std::memcmp(part.data(), golden.data() + first, part.size() * sizeof(float)) == 0);
    }
    std::vector<float> beyond(2);
    QVERIFY_THROWS_EXCEPTION(std::out_of_range, dequantise(*tensor->format, tensor->bytes, golden.size() - 1, beyond));
    QVERIFY_THROWS_EXCEPTION(std::out_of_range, dequantise(*tensor->format, tensor->bytes, UINT64_MAX, beyond));
  }

  void worked_by_hand() {
    // Q4_0: scale 0.5 (0x3800), first byte 0x1f: low nibble 15 -> (15-8)/2, high nibble 1 -> (1-8)/2 at place 16.
    std::string q4_0("\x00\x38\x1f", 3);
    q4_0.append(15, '\x88');
    std::vector<float> out(32);
    dequantise(*find_block_format(2), as_bytes(q4_0), 0, out);
    QCOMPARE(out[0], 3.5F);
    QCOMPARE(out[16], -3.5F);
    QCOMPARE(out[1], 0.0F);
    // Q8_0: scale 2 (0x4000), quants -128 and 127.
    std::string q8_0("\x00\x40\x80\x7f", 4);
    q8_0.append(30, '\0');
    dequantise(*find_block_format(8), as_bytes(q8_0), 0, out);
    QCOMPARE(out[0], -256.0F);
    QCOMPARE(out[1], 254.0F);
    QCOMPARE(out[31], 0.0F);
    // Q6_K: all bits clear is -32 times scale 1 times d 0.25 (0x3400).
    std::string q6_k(192, '\0');
    q6_k.append(16, '\x01').append("\x00\x34", 2);
    std::vector<float> wide(256);
    dequantise(*find_block_format(14), as_bytes(q6_k), 0, wide);
    for (const float v : wide) QCOMPARE(v, -8.0F);
  }

  void halves() {
    QCOMPARE(half_bits_to_float(0x3c00), 1.0F);
    QCOMPARE(half_bits_to_float(0xc000), -2.0F);
    QCOMPARE(half_bits_to_float(0x0001), 0x1p-24F);
    QCOMPARE(half_bits_to_float(0x03ff), 1023 * 0x1p-24F);
    QCOMPARE(half_bits_to_float(0x7bff), 65504.0F);
    QVERIFY(std::signbit(half_bits_to_float(0x8000)));
    QVERIFY(std::isinf(half_bits_to_float(0x7c00)));
    QVERIFY(std::isnan(half_bits_to_float(0x7e00)));
  }

  void unknown_types_have_names() {
    QVERIFY(find_block_format(10) == nullptr);
    QVERIFY(ggml_type_name(10) == "Q2_K");
    QVERIFY(ggml_type_name(23) == "IQ4_XS");
    QVERIFY(ggml_type_name(30) == "BF16");
    QVERIFY(ggml_type_name(39) == "MXFP4");
    QVERIFY(find_block_format(4'000'000'000U) == nullptr);
    QVERIFY(!ggml_type_name(4'000'000'000U).empty());
  }
};

QTEST_APPLESS_MAIN(TestGgufBlocks)
#include "test_gguf_blocks.moc"
