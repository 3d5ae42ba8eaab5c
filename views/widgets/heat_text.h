#pragma once
// Token text with margins as heat. Colour is never the only channel: differing tokens are underlined, tokens outside
// the filter hatched.

#include <QAbstractScrollArea>

#include "views/widgets/heat_layout.h"

namespace difr::views {

class HeatText final : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit HeatText(QWidget* parent = nullptr);
  void set_tokens(std::vector<HeatToken> tokens);
  /// -1 selects none. Scrolls there.
  void select(int token);
  [[nodiscard]] int selected() const { return selected_; }
  [[nodiscard]] const HeatLayout& geometry_of_tokens() const { return layout_; }
  [[nodiscard]] QSize sizeHint() const override;

 signals:
  void selected_changed(int token);
  void hovered(int token, const QPoint& global);  ///< -1 when the pointer left

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  void relayout();
  void choose(int token);
  [[nodiscard]] int token_under(const QPoint& at) const;
  [[nodiscard]] QRectF on_screen(int token) const;
  void paint_token(QPainter& painter, std::size_t token, const QRectF& rect) const;

  std::vector<HeatToken> tokens_;
  HeatLayout layout_;
  int selected_ = -1;
  int hovered_ = -1;
};

/// The ramp from no margin to the clip, and what underline and hatching mean.
class HeatLegend final : public QWidget {
  Q_OBJECT
 public:
  explicit HeatLegend(QWidget* parent = nullptr);
  void set_clip(double clip);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  [[nodiscard]] QString clip_text() const;
  double clip_ = 0;
};

}  // namespace difr::views
