// Packing, precision variants and breakdown reports of the local engine.

#include <QtTest>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "core/util/error.h"
#include "gpu/engine/packer.h"
#include "gpu/reference_engine.h"

using namespace difr;
using namespace difr::gpu;

namespace {

const std::filesystem::path kModels = std::filesystem::path(DIFR_TEST_DATA) / "models";

struct Request {
  std::vector<TokenId> prompt, output;
};

/// Conversations that share a system prompt, some the whole prompt, some the beginning of the output too.
std::vector<Request> conversations() {
  std::vector<Request> list;
  for (int i = 0; i < 12; ++i) {
    Request r;
    for (int k = 0; k < 20; ++k) r.prompt.push_back(static_cast<TokenId>((k * 37 + 5) % 320));
    for (int k = 0; k < 9; ++k) r.prompt.push_back(static_cast<TokenId>((k * 11 + (i / 4) * 50) % 320));
    for (int k = 0; k < 6 + i; ++k) r.output.push_back(static_cast<TokenId>((k * 7 + (k < 3 ? 0 : i * 13)) % 320));
    list.push_back(r);
  }
  list.push_back(list[5]);
  return list;
}

std::vector<Sequence> sequences_of(const std::vector<Request>& requests) {
  std::vector<Sequence> list;
  for (const auto& r : requests) list.push_back({r.prompt, r.output});
  return list;
}

using Rows = std::map<std::size_t, std::vector<float>>;

Rows score(ReferenceEngine& engine, const std::vector<Request>& requests) {
  Rows rows;
  engine.score(sequences_of(requests),
               [&](std::size_t s, int first, int, std::span<const float> logits, std::span<const float>) {
                 if (rows[s].size() != static_cast<std::size_t>(first) * static_cast<std::size_t>(engine.info().vocab))
                   qFatal("rows out of order");
                 rows[s].insert(rows[s].end(), logits.begin(), logits.end());
               },
               {});
  return rows;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(double(a[i]) - double(b[i]));
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

EngineOptions with(int threads, int batch_tokens, std::string variant = {}, Dtype dtype = Dtype::fp32) {
  EngineOptions options;
  options.threads = threads;
  options.batch_tokens = batch_tokens;
  options.variant = std::move(variant);
  options.dtype = dtype;
  return options;
}

std::string slurp(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

class TestEngine : public QObject {
  Q_OBJECT
 private slots:
  void shares_prefixes();
  void packed_equals_alone_data();
  void packed_equals_alone();
  void variants_move_the_logits_in_order();
  void half_is_close();
  void reports_where_numbers_break();
  void refuses_bad_sequences();
  void stops();
};

void TestEngine::shares_prefixes() {
  const auto requests = conversations();
  const auto sequences = sequences_of(requests);
  std::size_t alone = 0;
  for (const auto& r : requests) alone += r.prompt.size() + r.output.size() - 1;
  Packer packer(sequences, 4096);
  const auto plan = packer.next();
  QVERIFY(plan.has_value() && !packer.next());
  QCOMPARE(plan->outputs.size(), requests.size());
  // 20 shared tokens once, 3 × 9 of the prompts once, and what the outputs share.
  QVERIFY2(plan->tokens.size() < alone / 2,
           qPrintable(QString("%1 rows instead of %2").arg(plan->tokens.size()).arg(alone)));
  for (const auto& output : plan->outputs) {
    const auto& r = requests[output.sequence];
    QCOMPARE(output.rows.size(), r.output.size());
    for (std::size_t t = 0; t < output.rows.size(); ++t) {
      const auto row = static_cast<std::size_t>(output.rows[t]);
      QCOMPARE(plan->positions[row], static_cast<int>(r.prompt.size() + t) - 1);
      QCOMPARE(plan->tokens[row], t == 0 ? r.prompt.back() : r.output[t - 1]);
    }
  }
}

void TestEngine::packed_equals_alone_data() {
  QTest::addColumn<QString>("model");
  for (const char* model : {"llama_gqa_untied", "mistral_swa16", "gemma3_text", "qwen3moe_norm"})
    QTest::newRow(model) << model;
}

/// Shared prefixes, small passes and several threads against each request in a pass of its own. fp32 sums in another
/// order: the same 1e-4 as against the goldens, for logits of deviation 1..3.
void TestEngine::packed_equals_alone() {
  QFETCH(QString, model);
  const auto folder = kModels / model.toStdString();
  const auto requests = conversations();
  const auto alone = load_engine(folder, with(1, 2048));
  Rows expected;
  for (std::size_t i = 0; i < requests.size(); ++i) expected[i] = score(*alone, {requests[i]})[0];
  for (const auto& [threads, batch] : {std::pair(1, 2048), std::pair(3, 64), std::pair(2, 24)}) {
    const auto rows = score(*load_engine(folder, with(threads, batch)), requests);
    QCOMPARE(rows.size(), requests.size());
    for (const auto& [s, logits] : rows) {
      const double d = largest_difference(logits, expected[s]);
      QVERIFY2(d <= 1e-4,
               qPrintable(QString("sequence %1, %2 threads, %3 tokens: %4").arg(s).arg(threads).arg(batch).arg(d)));
    }
  }
}

void TestEngine::variants_move_the_logits_in_order() {
  const auto folder = kModels / "llama_gqa_untied";
  const auto requests = conversations();
  const auto exact = score(*load_engine(folder, with(1, 2048)), requests);
  const auto mean = [&](const std::string& variant) {
    const auto engine = load_engine(folder, with(1, 2048, variant));
    if (engine->environment().variant != variant) qFatal("variant not recorded");
    const auto rows = score(*engine, requests);
    double sum = 0;
    std::size_t n = 0;
    for (const auto& [s, logits] : rows)
      for (std::size_t i = 0; i < logits.size(); ++i, ++n) sum += std::abs(double(logits[i]) - double(exact.at(s)[i]));
    return sum / double(n);
  };
  // Steps relative to the group's largest weight: 1/7 for int4, 1/127 for int8; e4m3 rounds each value to within 1/16.
  const double int4_32 = mean("int4-g32"), int4_128 = mean("int4-g128"), int8 = mean("int8"), fp8 = mean("fp8"),
               kv = mean("fp8-kv");
  QVERIFY2(int8 > 1e-4 && int8 < fp8 && fp8 < int4_32 && int4_32 < int4_128,
           qPrintable(QString("%1 %2 %3 %4").arg(int8).arg(fp8).arg(int4_32).arg(int4_128)));
  QVERIFY2(kv > 1e-4 && kv < int4_32, qPrintable(QString::number(kv)));
  QVERIFY_EXCEPTION_THROWN((void)load_engine(folder, with(1, 2048, "int3")), Error);
}

/// fp16 has 3 bits more than bf16: it must lie between fp32 and bf16.
void TestEngine::half_is_close() {
  const auto folder = kModels / "qwen3";
  const auto requests = conversations();
  const auto exact = score(*load_engine(folder, with(1, 2048)), requests);
  double half = 0, brain = 0;
  const auto half_rows = score(*load_engine(folder, with(1, 2048, {}, Dtype::fp16)), requests);
  const auto brain_rows = score(*load_engine(folder, with(1, 2048, {}, Dtype::bf16)), requests);
  for (const auto& [s, logits] : exact) {
    half = std::max(half, largest_difference(half_rows.at(s), logits));
    brain = std::max(brain, largest_difference(brain_rows.at(s), logits));
  }
  QVERIFY2(half > 0 && half * 3 < brain, qPrintable(QString("%1 against %2").arg(half).arg(brain)));
}

/// A NaN planted in one weight of the second layer's MLP.
void TestEngine::reports_where_numbers_break() {
  QTemporaryDir folder;
  const std::filesystem::path model = folder.path().toStdString();
  std::filesystem::copy(kModels / "llama_gqa_untied/config.json", model / "config.json");
  auto bytes = slurp(kModels / "llama_gqa_untied/model.safetensors");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const auto entry = bytes.find("\"model.layers.1.mlp.down_proj.weight\"");
  const auto offsets = bytes.find("\"data_offsets\":[", entry) + 16;
  const auto at = 8 + length + std::stoull(bytes.substr(offsets, 20));
  bytes[at] = '\xff';
  bytes[at + 1] = '\x7f';  // BF16 0x7fff
  std::ofstream(model / "model.safetensors", std::ios::binary) << bytes;
  const auto engine = load_engine(model, with(2, 64));
  const auto requests = conversations();
  QCOMPARE(engine->diagnostics().first_layer, -1);
  const auto rows = score(*engine, requests);
  std::int64_t tokens = 0;
  for (const auto& r : requests) tokens += static_cast<std::int64_t>(r.output.size());
  QCOMPARE(rows.size(), requests.size());
  QCOMPARE(engine->diagnostics().non_finite_rows, tokens);
  QCOMPARE(engine->diagnostics().first_layer, 2);
}

void TestEngine::refuses_bad_sequences() {
  const auto engine = load_engine(kModels / "llama_gqa_untied", with(1, 64));
  for (const Request& bad : {Request{{}, {1}}, Request{{1, 320}, {1}}, Request{{1}, {-1}}})
    QVERIFY_EXCEPTION_THROWN(score(*engine, {bad}), Error);
  QVERIFY(score(*engine, {Request{{1, 2}, {}}}).empty());
}

void TestEngine::stops() {
  const auto engine = load_engine(kModels / "llama_gqa_untied", with(1, 24));
  const auto requests = conversations();
  std::stop_source source;
  std::size_t calls = 0;
  engine->score(
      sequences_of(requests),
      [&](std::size_t, int, int, std::span<const float>, std::span<const float>) {
        ++calls;
        source.request_stop();
      },
      source.get_token());
  QVERIFY(calls >= 1 && calls < requests.size());
}

QTEST_APPLESS_MAIN(TestEngine)
#include "test_engine.moc"
