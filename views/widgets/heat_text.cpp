#include "views/widgets/heat_text.h"

#include <QAccessible>
#include <QKeyEvent>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <cmath>

#include "views/theme/palette.h"

namespace difr::views {
namespace {
constexpr double padding = 14;
constexpr double leading = 1.62;  // room for underline and selection between lines
}  // namespace

HeatText::HeatText(QWidget* parent) : QAbstractScrollArea(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  viewport()->setCursor(Qt::PointingHandCursor);
  viewport()->setBackgroundRole(QPalette::Base);
  setAccessibleName(tr("Token text with margins as heat"));
  QFont reading = font();
  reading.setPointSizeF(reading.pointSizeF() * 1.12);
  setFont(reading);
}

QSize HeatText::sizeHint() const {
  return {640, 320};
}

void HeatText::set_tokens(std::vector<HeatToken> tokens) {
  tokens_ = std::move(tokens);
  selected_ = hovered_ = -1;
  relayout();
  verticalScrollBar()->setValue(0);
}

void HeatText::relayout() {
  const QFontMetricsF metrics(font());
  const double line = std::ceil(metrics.height() * leading);
  layout_ = layout_tokens(tokens_, viewport()->width() - 2 * padding, line,
                          [&](const QString& text) { return metrics.horizontalAdvance(text); });
  const int content = static_cast<int>(std::ceil(layout_.height + 2 * padding));
  verticalScrollBar()->setPageStep(viewport()->height());
  verticalScrollBar()->setSingleStep(static_cast<int>(line));
  verticalScrollBar()->setRange(0, std::max(0, content - viewport()->height()));
  viewport()->update();
}

QRectF HeatText::on_screen(int token) const {
  return layout_.rects[static_cast<std::size_t>(token)].translated(padding, padding - verticalScrollBar()->value());
}

int HeatText::token_under(const QPoint& at) const {
  return layout_.at(QPointF(at) - QPointF(padding, padding - verticalScrollBar()->value()));
}

void HeatText::select(int token) {
  if (token >= static_cast<int>(tokens_.size())) token = -1;
  if (token == selected_) return;
  selected_ = token;
  if (selected_ >= 0) {
    const QRectF rect = on_screen(selected_);
    if (rect.top() < 0)
      verticalScrollBar()->setValue(verticalScrollBar()->value() + static_cast<int>(rect.top() - padding));
    if (rect.bottom() > viewport()->height())
      verticalScrollBar()->setValue(verticalScrollBar()->value() +
                                    static_cast<int>(rect.bottom() - viewport()->height() + padding));
    setAccessibleDescription(tr("Token %1: %2").arg(selected_).arg(tokens_[static_cast<std::size_t>(selected_)].text));
    QAccessibleEvent event(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&event);
  }
  viewport()->update();
}

void HeatText::choose(int token) {
  if (token < 0 || token >= static_cast<int>(tokens_.size()) || token == selected_) return;
  select(token);
  emit selected_changed(token);
}

void HeatText::paint_token(QPainter& painter, std::size_t i, const QRectF& rect) const {
  const HeatToken& token = tokens_[i];
  const bool blank = layout_.rects[i].left() == 0 && token.text.size() > 1 && token.text.startsWith(QLatin1Char(' '));
  const QString text = blank ? token.text.mid(1) : token.text;
  const Colours& c = colours(palette());
  const bool dark = is_dark(palette());
  const QFontMetricsF metrics(font());
  const double band = metrics.height() * 1.18;
  const QRectF box(rect.left(), rect.center().y() - band / 2, rect.width(), band);
  if (token.outside) {
    QColor ink = c.outside;
    ink.setAlphaF(0.30F);
    painter.fillRect(box, ink);
    painter.fillRect(box, QBrush(c.outside, Qt::BDiagPattern));
  } else if (!token.prompt && token.share > 0) {
    painter.fillRect(box, heat(token.share, dark));
  }
  painter.setPen(token.prompt ? c.muted : c.text);
  const double baseline = box.center().y() + (metrics.ascent() - metrics.descent()) / 2;
  if (metrics.horizontalAdvance(text) > rect.width() + 0.5)
    painter.drawText(QPointF(rect.left(), baseline), metrics.elidedText(text, Qt::ElideRight, rect.width()));
  else
    painter.drawText(QPointF(rect.left(), baseline), text);
  if (token.differs) {
    const double indent = text.startsWith(QLatin1Char(' ')) ? metrics.horizontalAdvance(QLatin1Char(' ')) : 0;
    QPen pen(token.outside ? c.outside : c.fail, 2);
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    painter.drawLine(QPointF(rect.left() + indent, box.bottom() - 0.5), QPointF(rect.right() - 1, box.bottom() - 0.5));
  }
}

void HeatText::paintEvent(QPaintEvent* event) {
  QPainter painter(viewport());
  painter.setFont(font());
  if (layout_.rects.empty()) return;
  const double line_height = layout_.rects.front().height();
  const double top = event->rect().top() - padding + verticalScrollBar()->value();
  const double bottom = event->rect().bottom() - padding + verticalScrollBar()->value();
  const auto first_line =
      static_cast<std::size_t>(std::clamp(top / line_height, 0.0, double(layout_.lines.size() - 1)));
  const auto last_line =
      static_cast<std::size_t>(std::clamp(bottom / line_height, 0.0, double(layout_.lines.size() - 1)));
  const std::size_t begin = layout_.lines[first_line];
  const std::size_t end = last_line + 1 < layout_.lines.size() ? layout_.lines[last_line + 1] : tokens_.size();
  for (std::size_t i = begin; i < end; ++i) paint_token(painter, i, on_screen(static_cast<int>(i)));

  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(Qt::NoBrush);
  const Colours& c = colours(palette());
  if (hovered_ >= 0 && hovered_ != selected_) {
    painter.setPen(QPen(c.muted, 1));
    painter.drawRoundedRect(on_screen(hovered_).adjusted(-1.5, 2.5, 1.5, -2.5), 3, 3);
  }
  if (selected_ >= 0) {
    painter.setPen(QPen(c.accent, hasFocus() ? 2.2 : 1.6));
    painter.drawRoundedRect(on_screen(selected_).adjusted(-1.5, 2, 1.5, -2), 3, 3);
  }
}

void HeatText::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  relayout();
}

void HeatText::mouseMoveEvent(QMouseEvent* event) {
  const int token = token_under(event->pos());
  if (token == hovered_) return;
  hovered_ = token;
  viewport()->update();
  emit hovered(token, event->globalPosition().toPoint());
}

bool HeatText::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave && hovered_ >= 0) {
    hovered_ = -1;
    viewport()->update();
    emit hovered(-1, {});
  }
  return QAbstractScrollArea::viewportEvent(event);
}

void HeatText::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) choose(token_under(event->pos()));
}

void HeatText::keyPressEvent(QKeyEvent* event) {
  const int last = static_cast<int>(tokens_.size()) - 1;
  if (last < 0) return QAbstractScrollArea::keyPressEvent(event);
  const auto vertical = [&](int step) {
    const QRectF from = layout_.rects[static_cast<std::size_t>(std::max(selected_, 0))];
    const double y = from.center().y() + step * from.height();
    if (y < 0 || y >= layout_.height) return selected_;
    for (double x = from.center().x(); x >= 0; x -= 4) {
      const int token = layout_.at({x, y});
      if (token >= 0) return token;
    }
    return layout_.at({0.5, y});
  };
  switch (event->key()) {
    case Qt::Key_Left:
      return choose(std::max(selected_ - 1, 0));
    case Qt::Key_Right:
      return choose(std::min(selected_ + 1, last));
    case Qt::Key_Up:
      return choose(vertical(-1));
    case Qt::Key_Down:
      return choose(vertical(+1));
    case Qt::Key_Home:
      return choose(0);
    case Qt::Key_End:
      return choose(last);
    default:
      QAbstractScrollArea::keyPressEvent(event);
  }
}

void HeatText::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() == QEvent::FontChange) relayout();
}

HeatLegend::HeatLegend(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Legend of the heat"));
  set_clip(0);
}

void HeatLegend::set_clip(double clip) {
  clip_ = clip;
  setToolTip(
      tr("Heat grows with the margin, from 0 to the calibration's clip Δ. Underlined: the reference picks another "
         "token. Hatched: outside the declared filter."));
  updateGeometry();
  update();
}

QString HeatLegend::clip_text() const {
  return clip_ > 0 ? tr("Δ = %1").arg(clip_, 0, 'g', 3) : tr("largest");
}

QSize HeatLegend::sizeHint() const {
  const QFontMetrics m(font());
  return {m.horizontalAdvance(tr("margin 0") + clip_text() + tr("differs") + tr("outside filter")) + 190,
          m.height() + 8};
}

void HeatLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Colours& c = colours(palette());
  const bool dark = is_dark(palette());
  const QFontMetrics m(font());
  double x = 0;
  const double mid = height() / 2.0;
  const auto text = [&](const QString& words) {
    painter.setPen(c.muted);
    painter.drawText(QRectF(x, 0, m.horizontalAdvance(words) + 2, height()), Qt::AlignVCenter, words);
    x += m.horizontalAdvance(words) + 7;
  };
  text(tr("margin 0"));
  const QRectF ramp(x, mid - 6, 72, 12);
  painter.fillRect(ramp, palette().base());
  for (int i = 0; i < 72; ++i) painter.fillRect(QRectF(x + i, mid - 6, 1, 12), heat(i / 71.0, dark));
  painter.setPen(c.border);
  painter.drawRect(ramp);
  x += 79;
  text(clip_text());
  x += 12;
  painter.setPen(QPen(c.fail, 2));
  painter.drawLine(QPointF(x, mid + 5), QPointF(x + 18, mid + 5));
  x += 24;
  text(tr("differs"));
  x += 12;
  painter.fillRect(QRectF(x, mid - 6, 18, 12), QBrush(c.outside, Qt::BDiagPattern));
  x += 24;
  text(tr("outside filter"));
}

}  // namespace difr::views
