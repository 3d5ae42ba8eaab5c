// The two passes of the fused kernels by themselves, against sorted rows and sums in extended precision: on the twin
// everywhere, and on a device where there is one.

#include <QtTest>
#include <functional>

#include "gpu/kernels/backend.h"
#include "gpu/test_kernels_support.h"

using namespace difr;
using namespace difr::gpu::kernels;
using namespace difr::test;

namespace {

/// Sums of up to 1.3e5 positive terms in fp64, each good to an ulp: 1e-12 leaves room for any order of summation.
constexpr double kSum = 1e-12;

bool near(double own, long double expected) {
  const double e = static_cast<double>(expected);
  return own == e || std::abs(own - e) <= kSum * std::max(std::abs(e), 1e-300);
}

struct Brute {
  std::vector<float> sorted;  ///< finite entries, descending
  long double mass(double inverse_t, const std::function<bool(float)>& counts, int power = 1) const {
    long double sum = 0;
    for (const float x : sorted) {
      const long double below = static_cast<long double>(x) - sorted[0];
      if (counts(x)) sum += std::exp(below * inverse_t * power);
    }
    return sum;
  }
};

Brute sort_row(std::span<const float> row) {
  Brute out;
  for (const float x : row) {
    if (is_finite(x)) out.sorted.push_back(x);
  }
  std::ranges::sort(out.sorted, std::greater<>{});
  return out;
}

/// Passes everything on and counts how often a filter needed more than the top M.
class Counting final : public KernelBackend {
 public:
  Counting(std::unique_ptr<KernelBackend> inner, int& searches, int& sorts)
      : inner_(std::move(inner)), searches_(searches), sorts_(sorts) {}
  void start(int slot, const LogitsChunk& chunk, std::span<const RowTask> tasks, int top_m) override {
    inner_->start(slot, chunk, tasks, top_m);
  }
  RowResults finish(int slot) override { return inner_->finish(slot); }
  CutResults search(int slot, std::span<const CutTask> tasks) override {
    searches_ += static_cast<int>(tasks.size());
    return inner_->search(slot, tasks);
  }
  std::vector<RowReport> race(int slot, std::span<const RowTask> tasks) override { return inner_->race(slot, tasks); }
  std::vector<float> row(int slot, int row) override {
    ++sorts_;
    return inner_->row(slot, row);
  }

 private:
  std::unique_ptr<KernelBackend> inner_;
  int& searches_;
  int& sorts_;
};

void check_row_pass(KernelBackend& backend, const Rows& rows, const Claim& claim) {
  constexpr double kInverseT = 1.0 / 0.7;
  std::vector<RowTask> tasks(static_cast<std::size_t>(rows.count));
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    tasks[t].row = static_cast<int>(t);
    tasks[t].claimed = claim.output[t];
    tasks[t].filter_inverse_t = kInverseT;
    tasks[t].noise = {NoiseKind::splitmix64, 77 + t};
  }
  backend.start(0, rows.chunk(0, rows.count), tasks, 1);
  const auto results = backend.finish(0);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const auto brute = sort_row(rows.row(static_cast<int>(t)));
    const RowReport& r = results.reports[t];
    const float own = rows.row(static_cast<int>(t))[static_cast<std::size_t>(claim.output[t])];
    QCOMPARE(r.finite, static_cast<int>(brute.sorted.size()));
    QCOMPARE(r.largest, brute.sorted[0]);
    QCOMPARE(r.unsound, 0);
    QVERIFY(near(r.sum, brute.mass(1.0, [](float) { return true; })));
    QVERIFY(near(r.mass, brute.mass(kInverseT, [](float) { return true; })));
    QVERIFY(near(r.square, brute.mass(
                               kInverseT, [](float) { return true; }, 2)));
    QVERIFY(near(r.mass_above_claimed, brute.mass(kInverseT, [&](float x) { return x > own; })));
    std::vector<double> rivals;
    for (int i = 0; i < rows.vocab; ++i) {
      const float x = rows.row(static_cast<int>(t))[static_cast<std::size_t>(i)];
      if (i != claim.output[t] && is_finite(x))
        rivals.push_back(x + noise_of(tasks[t].noise, static_cast<std::uint32_t>(i)));
    }
    std::ranges::sort(rivals, std::greater<>{});
    // An ulp of a logarithm below 64 in size.
    if (!rivals.empty()) QVERIFY(std::abs(r.rival - rivals[0]) <= 0x1p-46);
    if (rivals.size() > 1) QVERIFY(std::abs(r.second_rival - rivals[1]) <= 0x1p-46);
  }
}

void check_search(KernelBackend& backend, const Rows& rows, CutTask pattern) {
  std::vector<CutTask> tasks;
  std::vector<RowTask> row_tasks(static_cast<std::size_t>(rows.count));
  for (int t = 0; t < rows.count; ++t) {
    row_tasks[static_cast<std::size_t>(t)].row = t;
    pattern.row = t;
    pattern.largest = sort_row(rows.row(t)).sorted[0];
    tasks.push_back(pattern);
  }
  backend.start(0, rows.chunk(0, rows.count), row_tasks, 1);
  (void)backend.finish(0);
  const auto found = backend.search(0, tasks);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const auto brute = sort_row(rows.row(static_cast<int>(t)));
    const auto n = brute.sorted.size();
    std::size_t index = std::min(static_cast<std::size_t>(std::max(pattern.count, 1)), n) - 1;
    if (pattern.count == 0) {
      const auto every = [](float) { return true; };
      const long double target = pattern.share * brute.mass(pattern.inverse_t, every);
      long double sum = 0;
      for (index = 0; index < n; ++index) {
        const long double below = static_cast<long double>(brute.sorted[index]) - brute.sorted[0];
        sum += std::exp(below * pattern.inverse_t);
        // Fixed point moves the crossing by 1e-8 of the mass at most: no row here is that close.
        if (sum >= target) break;
      }
    }
    const double cut = brute.sorted[index];
    const auto over = [&](float x) { return static_cast<double>(x) - cut > pattern.reach; };
    const auto under = [&](float x) { return static_cast<double>(x) - cut < -pattern.reach; };
    const CutReport& r = found.reports[t];
    QCOMPARE(std::ptrdiff_t{r.above}, std::ranges::count_if(brute.sorted, over));
    QCOMPARE(std::ptrdiff_t{r.rest}, std::ranges::count_if(brute.sorted, under));
    QVERIFY(near(r.above_mass, brute.mass(pattern.inverse_t, over)));
    QVERIFY(near(r.above_square, brute.mass(pattern.inverse_t, over, 2)));
    QVERIFY(near(r.rest_mass, brute.mass(pattern.inverse_t, under)));
    QVERIFY(near(r.rest_square, brute.mass(pattern.inverse_t, under, 2)));
    QCOMPARE(static_cast<std::size_t>(r.above + r.window + r.rest), n);
    if (r.window > kWindow) continue;
    for (int i = 0; i < r.window; ++i)
      QVERIFY(found.windows[t * kWindow + static_cast<std::size_t>(i)] ==
              brute.sorted[static_cast<std::size_t>(r.above + i)]);
  }
}

}  // namespace

class TestKernelPasses : public QObject {
  Q_OBJECT

 private slots:
  void sumsAreThoseOfTheRow_data() { backends(); }
  void sumsAreThoseOfTheRow() {
    const auto backend = open();
    if (!backend) QSKIP("no CUDA device, or a build without the kernels");
    for (const int vocab : {1, 7, 255, 2048, 32000, 128256}) {
      for (const bool bf16 : {false, true}) {
        const auto rows = make_rows(vocab, 7, bf16, static_cast<std::uint32_t>(vocab));
        check_row_pass(*backend, rows, make_claim(rows, 2));
        if (QTest::currentTestFailed()) return;
      }
    }
  }

  void radixSelectFindsTheCut_data() { backends(); }
  void radixSelectFindsTheCut() {
    const auto backend = open();
    if (!backend) QSKIP("no CUDA device, or a build without the kernels");
    for (const int vocab : {1, 7, 255, 2048, 32000, 128256}) {
      for (const bool bf16 : {false, true}) {
        const auto rows = make_rows(vocab, 7, bf16, static_cast<std::uint32_t>(vocab) + 3);
        for (const double reach : {0.0, 0.05, 40.0}) {
          for (const int count : {1, 5, 900, 5000})
            check_search(*backend, rows, {.count = count, .share = 0.0, .inverse_t = 1.0, .reach = reach});
          for (const double share : {1e-9, 0.3, 0.95, 0.999})
            check_search(*backend, rows, {.count = 0, .share = share, .inverse_t = 1.25, .reach = reach});
          if (QTest::currentTestFailed()) return;
        }
      }
    }
  }

  /// Smooth rows whose cut lies below the top M: the search alone settles them, and no row is sorted on the host.
  void plainFiltersNeedNoSort_data() { backends(); }
  void plainFiltersNeedNoSort() {
    auto backend = open();
    if (!backend) QSKIP("no CUDA device, or a build without the kernels");
    int searches = 0, sorts = 0;
    FusedScorer scorer(std::make_unique<Counting>(std::move(backend), searches, sorts),
                       {.top_m = 64, .tolerance = {0.02, 4.0, false}});
    const auto rows = make_rows(32000, 1, false, 8);
    RowJob by_count, by_mass, in_head;
    by_count.filters.top_k = 900;
    by_mass.filters.top_p = 0.9;
    in_head.filters.top_k = 20;
    for (const auto& [job, expected] : {std::pair(by_count, 1), std::pair(by_mass, 2), std::pair(in_head, 2)}) {
      scorer.submit(rows.chunk(0, 1), std::span(&job, 1));
      (void)scorer.collect();
      QCOMPARE(searches, expected);
      QCOMPARE(sorts, 0);
    }
  }

 private:
  static void backends() {
    QTest::addColumn<bool>("device");
    QTest::newRow("twin") << false;
    QTest::newRow("device") << true;
  }
  static std::unique_ptr<KernelBackend> open() {
    QFETCH(bool, device);
    if (device && !cuda_scorer_available()) return nullptr;
    return device ? make_cuda_backend(0) : make_twin_backend();
  }
};

QTEST_GUILESS_MAIN(TestKernelPasses)
#include "test_kernel_passes.moc"
