// The decoder against Hugging Face, on 15 tiny random checkpoints of all families (tests/data/models, GOLDENS.md).
//
// Tolerances. fp32: the goldens themselves differ from fp64 by at most 4.4e-5 (index.json); two fp32 evaluations in
// other summation orders may differ by twice that, so max |d| <= 1e-4 of the logits' standard deviation (1..3).
// bf16: goldens and engine round at different places, so no bound on single values is derivable; the goldens' own
// spread between bf16 and fp32 measures what such roundings do, and an independent bf16 evaluation lies within twice
// it.

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <map>

#include "gpu/reference_engine.h"
#include "gpu/weights/safetensors.h"

using namespace difr;
using namespace difr::gpu;

namespace {

const std::filesystem::path kModels = std::filesystem::path(DIFR_TEST_DATA) / "models";
constexpr std::array kLengths{1, 7, 33, 128};

struct Values {
  std::vector<float> data;
  std::size_t width = 0;
};

class Golden {
 public:
  explicit Golden(const std::filesystem::path& model)
      : source_(SafetensorsSource::open_file(model / "golden.safetensors")) {}
  [[nodiscard]] Values values(const std::string& name) const {
    const auto* info = source_->find(name);
    if (info == nullptr) qFatal("golden lacks %s", name.c_str());
    Values v{std::vector<float>(static_cast<std::size_t>(info->elements())),
             static_cast<std::size_t>(info->shape.back())};
    source_->read(*info, 0, v.data);
    return v;
  }
  [[nodiscard]] std::vector<TokenId> tokens(int length) const {
    const auto v = values("tokens_" + std::to_string(length));
    return {v.data.begin(), v.data.end()};
  }

 private:
  std::unique_ptr<SafetensorsSource> source_;
};

struct Scored {
  std::vector<Values> logits, hidden;
};

/// Logits after every token of every sequence: the first token is the prompt; a last output token of no consequence is
/// appended so that the position after the last golden token is predicted too.
Scored score_all(ReferenceEngine& engine, const std::vector<std::vector<TokenId>>& sequences) {
  std::vector<std::vector<TokenId>> outputs;
  for (const auto& s : sequences) {
    outputs.emplace_back(s.begin() + 1, s.end());
    outputs.back().push_back(0);
  }
  std::vector<Sequence> input;
  for (std::size_t i = 0; i < sequences.size(); ++i) input.push_back({std::span(sequences[i]).first(1), outputs[i]});
  Scored result{std::vector<Values>(sequences.size()), std::vector<Values>(sequences.size())};
  engine.score(
      input,
      [&](std::size_t s, int first, int rows, std::span<const float> logits, std::span<const float> hidden) {
        const auto width = static_cast<std::size_t>(engine.info().vocab);
        if (result.logits[s].data.size() != static_cast<std::size_t>(first) * width ||
            logits.size() != static_cast<std::size_t>(rows) * width)
          qFatal("rows of sequence %zu come out of order", s);
        result.logits[s].data.insert(result.logits[s].data.end(), logits.begin(), logits.end());
        result.hidden[s].data.insert(result.hidden[s].data.end(), hidden.begin(), hidden.end());
        result.logits[s].width = width;
      },
      {}, true);
  return result;
}

double max_difference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(double(a[i]) - double(b[i]));
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

double mean_difference(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(double(a[i]) - double(b[i]));
  return sum / double(a.size());
}

double deviation(std::span<const float> a) {
  double sum = 0, squares = 0;
  for (const float x : a) {
    sum += x;
    squares += double(x) * x;
  }
  const double mean = sum / double(a.size());
  return std::sqrt(squares / double(a.size()) - mean * mean);
}

std::vector<std::size_t> argmax_rows(const Values& v) {
  std::vector<std::size_t> list;
  for (std::size_t at = 0; at < v.data.size(); at += v.width)
    list.push_back(static_cast<std::size_t>(std::max_element(v.data.begin() + std::ptrdiff_t(at),
                                                             v.data.begin() + std::ptrdiff_t(at + v.width)) -
                                            v.data.begin()) -
                   at);
  return list;
}

void model_rows() {
  QTest::addColumn<QString>("model");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kModels))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  QVERIFY2(names.size() == 15, "15 golden checkpoints expected");
  for (const auto& name : names) QTest::newRow(name.c_str()) << QString::fromStdString(name);
}

}  // namespace

class TestGoldens : public QObject {
  Q_OBJECT
 private slots:
  void fp32_data() { model_rows(); }
  void fp32();
  void bf16_data() { model_rows(); }
  void bf16();
  void chunked_equals_whole_data() { model_rows(); }
  void chunked_equals_whole();
};

void TestGoldens::fp32() {
  QFETCH(QString, model);
  const auto folder = kModels / model.toStdString();
  const Golden golden(folder);
  const auto engine = load_engine(folder, {.threads = 1});
  std::vector<std::vector<TokenId>> sequences;
  for (const int length : kLengths) sequences.push_back(golden.tokens(length));
  const auto got = score_all(*engine, sequences);
  for (std::size_t i = 0; i < kLengths.size(); ++i) {
    const auto suffix = std::to_string(kLengths[i]);
    const auto want = golden.values("fp32.logits_" + suffix);
    const double logits = max_difference(got.logits[i].data, want.data) / deviation(want.data);
    QVERIFY2(logits <= 1e-4,
             qPrintable(QString("L=%1: logits differ by %2 of their deviation").arg(kLengths[i]).arg(logits)));
    QVERIFY(argmax_rows(got.logits[i]) == argmax_rows(want));
    const auto state = golden.values("fp32.hidden_" + suffix);
    const double hidden = max_difference(got.hidden[i].data, state.data) / deviation(state.data);
    QVERIFY2(hidden <= 1e-4,
             qPrintable(QString("L=%1: hidden states differ by %2 of their deviation").arg(kLengths[i]).arg(hidden)));
  }
}

void TestGoldens::bf16() {
  QFETCH(QString, model);
  const auto folder = kModels / model.toStdString();
  const Golden golden(folder);
  const auto engine = load_engine(folder, {.dtype = Dtype::bf16, .threads = 1});
  std::vector<std::vector<TokenId>> sequences;
  for (const int length : kLengths) sequences.push_back(golden.tokens(length));
  const auto got = score_all(*engine, sequences);
  for (const auto& [kind, mine] : {std::pair("logits_", &got.logits), std::pair("hidden_", &got.hidden)}) {
    // The maximum over a handful of rows is a matter of luck; the spread is the checkpoint's over all lengths.
    double spread = 0;
    std::vector<Values> exact, theirs;
    for (const int length : kLengths) {
      exact.push_back(golden.values(std::string("fp32.") + kind + std::to_string(length)));
      theirs.push_back(golden.values(std::string("bf16.") + kind + std::to_string(length)));
      spread = std::max(spread, max_difference(theirs.back().data, exact.back().data));
    }
    for (std::size_t i = 0; i < kLengths.size(); ++i) {
      const double difference = max_difference((*mine)[i].data, theirs[i].data);
      QVERIFY2(difference <= 2 * spread, qPrintable(QString("%1%2: %3 from the bf16 golden, whose own spread is %4")
                                                        .arg(kind)
                                                        .arg(kLengths[i])
                                                        .arg(difference)
                                                        .arg(spread)));
      // A wrong formula would move the mean even where the maximum is loose.
      const double mean = mean_difference((*mine)[i].data, exact[i].data);
      const double mean_spread = mean_difference(theirs[i].data, exact[i].data);
      QVERIFY2(mean <= 2 * mean_spread,
               qPrintable(QString("%1%2: mean %3 against %4").arg(kind).arg(kLengths[i]).arg(mean).arg(mean_spread)));
    }
  }
}

/// A budget of 16 rows cuts the sequence of 128 into 8 chunks; the numbers must stay those of the golden.
void TestGoldens::chunked_equals_whole() {
  QFETCH(QString, model);
  const auto folder = kModels / model.toStdString();
  const Golden golden(folder);
  const auto engine = load_engine(folder, {.threads = 1, .batch_tokens = 16});
  const auto got = score_all(*engine, {golden.tokens(33), golden.tokens(128)});
  for (const auto& [at, length] : {std::pair(0U, 33), std::pair(1U, 128)}) {
    const auto want = golden.values("fp32.logits_" + std::to_string(length));
    const double difference = max_difference(got.logits[at].data, want.data) / deviation(want.data);
    QVERIFY2(difference <= 1e-4, qPrintable(QString::number(difference)));
  }
}

QTEST_APPLESS_MAIN(TestGoldens)
#include "test_goldens.moc"
