#include "views/theme/style.h"

#include <QAbstractItemView>
#include <QPainter>
#include <QStyleOption>

#include "views/theme/palette.h"

namespace difr::views {

HouseStyle::HouseStyle() : QProxyStyle(QStringLiteral("Fusion")) {}

int HouseStyle::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const {
  switch (metric) {
    case PM_HeaderMargin:
      return 8;
    case PM_FocusFrameHMargin:
      return qobject_cast<const QAbstractItemView*>(widget) ? 7 : QProxyStyle::pixelMetric(metric, option, widget);
    case PM_ToolBarItemSpacing:
      return 4;
    case PM_ToolBarItemMargin:
      return 4;
    case PM_DockWidgetTitleMargin:
      return 7;
    case PM_ScrollBarExtent:
      return 12;
    default:
      return QProxyStyle::pixelMetric(metric, option, widget);
  }
}

int HouseStyle::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                          QStyleHintReturn* data) const {
  if (hint == SH_ToolTip_WakeUpDelay) return 350;
  if (hint == SH_EtchDisabledText) return 0;
  return QProxyStyle::styleHint(hint, option, widget, data);
}

void HouseStyle::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                             const QWidget* widget) const {
  if (element == CE_HeaderSection || element == CE_HeaderEmptyArea) {
    // A flat header: the text and one line below it are enough.
    const Colours& c = colours(option->palette);
    painter->fillRect(option->rect, c.surface);
    painter->setPen(c.border);
    painter->drawLine(option->rect.bottomLeft(), option->rect.bottomRight());
    return;
  }
  if (element == CE_ToolBar) {
    painter->fillRect(option->rect, option->palette.window());
    painter->setPen(colours(option->palette).border);
    painter->drawLine(option->rect.bottomLeft(), option->rect.bottomRight());
    return;
  }
  if (element == CE_MenuBarEmptyArea) {
    painter->fillRect(option->rect, option->palette.window());
    return;
  }
  if (element == CE_MenuBarItem) {
    QProxyStyle::drawControl(element, option, painter, widget);
    if (!(option->state & State_Selected))
      painter->fillRect(QRect(option->rect.left(), option->rect.bottom(), option->rect.width(), 1),
                        option->palette.window());
    return;
  }
  if (element == CE_Splitter) return;  // the gap itself is the handle
  QProxyStyle::drawControl(element, option, painter, widget);
}

void HouseStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                               const QWidget* widget) const {
  if (element == PE_IndicatorDockWidgetResizeHandle || element == PE_FrameStatusBarItem) return;
  if (element == PE_IndicatorCheckBox) {
    const Colours& c = colours(option->palette);
    const bool on = option->state & (State_On | State_NoChange);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRectF box = QRectF(option->rect).adjusted(1.5, 1.5, -1.5, -1.5);
    painter->setPen(QPen(option->state & State_HasFocus || on ? c.accent : c.muted, 1.2));
    painter->setBrush(on ? c.accent : c.surface);
    painter->drawRoundedRect(box, 2.5, 2.5);
    if (on) {
      painter->setPen(QPen(c.on_accent, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
      painter->drawPolyline(QPolygonF{{box.left() + 2.5, box.center().y() + 0.3},
                                      {box.center().x() - 0.8, box.bottom() - 2.8},
                                      {box.right() - 2.2, box.top() + 3}});
    }
    painter->restore();
    return;
  }
  if (element == PE_FrameLineEdit) {
    const Colours& c = colours(option->palette);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setBrush(Qt::NoBrush);
    painter->setPen(
        QPen(option->state & State_HasFocus ? c.accent : c.border, option->state & State_HasFocus ? 1.6 : 1));
    painter->drawRoundedRect(QRectF(option->rect).adjusted(0.8, 0.8, -0.8, -0.8), 3, 3);
    painter->restore();
    return;
  }
  QProxyStyle::drawPrimitive(element, option, painter, widget);
}

}  // namespace difr::views
