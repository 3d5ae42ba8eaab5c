// Geometry of the heat text and the bins of the charts.
#include <QtTest>
#include <cmath>

#include "views/charts/bins.h"
#include "views/theme/palette.h"
#include "views/widgets/heat_text.h"

using namespace difr::views;

namespace {
HeatToken token(const QString& text, bool breaks = false) {
  HeatToken out;
  out.text = text;
  out.breaks = breaks;
  return out;
}
double advance(const QString& text) {
  return 10.0 * static_cast<double>(text.size());
}

double contrast(const QColor& a, const QColor& b) {
  const auto luminance = [](const QColor& c) {
    const auto part = [](double v) { return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
    return 0.2126 * part(c.redF()) + 0.7152 * part(c.greenF()) + 0.0722 * part(c.blueF());
  };
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}
}  // namespace

class TestHeat : public QObject {
  Q_OBJECT
 private slots:
  void words_stay_whole() {
    // "The" " gov" "ern" "ment" at 10 px a letter and 110 px a line: the word moves to the second line as one.
    const auto layout = layout_tokens({token("The"), token(" gov"), token("ern"), token("ment")}, 110, 20, advance);
    QCOMPARE(layout.lines, (std::vector<std::size_t>{0, 1}));
    QCOMPARE(layout.rects[1], QRectF(0, 20, 30, 20));  // its blank takes no room there
    QCOMPARE(layout.rects[3], QRectF(60, 20, 40, 20));
    QCOMPARE(layout.height, 40.0);
  }
  void line_ends_break() {
    const auto layout =
        layout_tokens({token("a"), token("\u21B5", true), token("b"), token("\u21B5", true)}, 100, 20, advance);
    QCOMPARE(layout.lines, (std::vector<std::size_t>{0, 2}));
    QCOMPARE(layout.rects[2].topLeft(), QPointF(0, 20));
  }
  void nothing_overlaps_or_leaves() {
    std::vector<HeatToken> tokens;
    std::srand(7);
    for (int i = 0; i < 5000; ++i)
      tokens.push_back(
          token(QString(i % 3 == 0 ? " " : "") + QString(1 + std::rand() % 9, 'x'), std::rand() % 40 == 0));
    tokens.push_back(token(QString(500, 'y')));  // wider than the page
    for (const double width : {60.0, 333.0, 2000.0}) {
      const auto layout = layout_tokens(tokens, width, 20, advance);
      QCOMPARE(layout.rects.size(), tokens.size());
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        const QRectF& r = layout.rects[i];
        QVERIFY(r.left() >= 0 && r.right() <= width + 1e-6 && r.width() > 0);
        QVERIFY(r.bottom() <= layout.height + 1e-6);
        if (i > 0) QVERIFY(r.top() > layout.rects[i - 1].top() || r.left() >= layout.rects[i - 1].right() - 1e-6);
        QCOMPARE(layout.at(r.center()), int(i));
        QCOMPARE(layout.rects[layout.lines[std::size_t(layout.line_of(int(i)))]].top(), r.top());
      }
      QCOMPARE(layout.at({-1, 5}), -1);
      QCOMPARE(layout.at({5, layout.height + 1}), -1);
    }
  }
  void no_tokens_no_trouble() {
    const auto layout = layout_tokens({}, 100, 20, advance);
    QCOMPARE(layout.at({0, 0}), -1);
    HeatText text;
    text.resize(200, 100);
    text.show();
    QTest::keyClick(&text, Qt::Key_Right);
    QTest::mouseClick(text.viewport(), Qt::LeftButton);
    QCOMPARE(text.selected(), -1);
  }
  void keyboard_and_mouse_select() {
    HeatText text;
    std::vector<HeatToken> tokens;
    for (int i = 0; i < 300; ++i) tokens.push_back(token(QStringLiteral(" word%1").arg(i)));
    text.set_tokens(tokens);
    text.resize(300, 160);
    text.show();
    QSignalSpy chosen(&text, &HeatText::selected_changed);
    QTest::keyClick(&text, Qt::Key_Right);
    QCOMPARE(text.selected(), 0);
    QTest::keyClick(&text, Qt::Key_Down);
    QCOMPARE(text.geometry_of_tokens().line_of(text.selected()), 1);
    QTest::keyClick(&text, Qt::Key_End);
    QCOMPARE(text.selected(), 299);
    QTest::keyClick(&text, Qt::Key_Home);
    QTest::mouseClick(text.viewport(), Qt::LeftButton, {}, QPoint(20, 24));
    QVERIFY(chosen.count() >= 4);
    text.resize(120, 160);  // wraps anew and keeps the choice
    QVERIFY(text.geometry_of_tokens().lines.size() > 100);
  }

  void bins_hold_every_score() {
    const ScoreBins bins(1e-4, 0.5, 6);
    const std::vector<double> scores{0, 5e-5, 1e-4, 2e-3, 0.5, 0.49, 7.0, std::nan(""), INFINITY};
    double sum = 0;
    for (const double share : bins.shares(scores)) sum += share;
    QVERIFY(std::abs(sum - 1) < 1e-12);
    QVERIFY(std::abs(bins.shares(scores).front() - 2.0 / 8) < 1e-12);  // 0 and 5e-5; 1e-4 opens the next bin
    for (int b = 0; b < bins.count(); ++b) QVERIFY(std::abs(bins.position(bins.edge(b)) - b) < 1e-9);
    QCOMPARE(bins.position(0), 0.0);
    QCOMPARE(bins.position(1e9), double(bins.count()));
    for (const double share : ScoreBins(1e-4, 0, 6).shares({})) QCOMPARE(share, 0.0);
  }
  void decimation_keeps_extremes() {
    std::vector<float> values(1'000'000, 0.1F);
    values[123'456] = 9.0F;
    values[777'777] = -3.0F;
    values[5] = std::nanf("");
    const auto kept = min_max_indices(values, 1000);
    QVERIFY(kept.size() <= 2000);
    QVERIFY(std::ranges::is_sorted(kept));
    QVERIFY(std::ranges::binary_search(kept, 123'456U));
    QVERIFY(std::ranges::binary_search(kept, 777'777U));
    QCOMPARE(min_max_indices(std::span(values).first(10), 1000).size(), std::size_t(10));
  }
  void colours_can_be_read() {
    for (const bool dark : {false, true}) {
      const Colours& c = colours(dark);
      for (const QColor& ink : {c.text, c.muted, c.accent, c.pass, c.fail, c.undetermined, c.outside})
        for (const QColor& paper : {c.surface, c.window})
          QVERIFY2(contrast(ink, paper) >= 4.5, qPrintable(ink.name() + " on " + paper.name()));
      // Text over the hottest token.
      const QColor hot = heat(1, dark);
      const auto mix = [&](int over, int under) {
        return static_cast<int>(over * hot.alphaF() + under * (1 - hot.alphaF()));
      };
      const QColor paper(mix(hot.red(), c.surface.red()), mix(hot.green(), c.surface.green()),
                         mix(hot.blue(), c.surface.blue()));
      QVERIFY2(contrast(c.text, paper) >= 4.5, qPrintable(paper.name()));
      QCOMPARE(heat(0, dark).alpha(), 0);
      QCOMPARE(heat(std::nan(""), dark).alpha(), 0);
    }
  }
};

QTEST_MAIN(TestHeat)
#include "test_heat.moc"
